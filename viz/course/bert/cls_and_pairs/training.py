"""Steps on [CLS] about training: the gradient by position; the training itself, and its remaining errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.data import grammar
from core.training.finetune import tuning
from core.training.finetune.finetune_tasks import GOALS, is_plain
from viz.course.bert import tuning_live
from viz.course.bert.cls_and_pairs import maths, read
from viz.course.bert.cls_and_pairs.params import CLASSES, SAYS, SLUG, TUNED, Models, Params
from viz.course.bert.cls_and_pairs.steps import covered, told_beside
from viz.course.bert.tuning_live import Using
from viz.course.exhibit import Folds
from viz.course.shared.wilson_interval import wilson
from viz.instruments import heatmap
from viz.instruments.kit import origin
from viz.labels import distinct, literal, percent, visible
from viz.widgets import controls, engine_client, exhibit_parts, page_parts

MOST = 6
KINDS: dict[str, Callable[[Any], str]] = {
    "opinions": lambda item: "plain" if is_plain(item) else "negated or contrasted",
    "pairs": lambda item: subject(item),
}
KIND_NOTES = {
    "opinions": "Plain: every judging word has the label's opinion. "
    "Negated or contrasted: “not awful”, “dull at first, but”.",
    "pairs": "The four things that pairs are about.",
}


@tuning_live.needs("opinions", SLUG, "bert.class")
def gradient(params: Params, used: Using) -> Folds:
    """Ask how many vectors get a gradient, then draw the share of each position, layer by layer."""
    origin.tell(model=used.model or "", text=params.text)
    data, model = read.read_sentence(params, used), used.model or ""
    unsaid = 1 - data.classification.best
    label = params.label if 0 <= params.label < len(CLASSES) else unsaid
    found = engine_client.submit(
        ("cls_and_pairs.arrives", params.text, model, label),
        lambda: maths.arrives(read.ran(model, params.text), label),
        120 * max(1, len(params.text)),
    )
    n_layers, n = len(found) - 1, found.shape[1]
    count, below = int((found[-1] > 0).sum()), int((found[-2] > 0).sum())
    told = exhibit_parts.predict(
        SLUG + "arrives",
        f"In training the gradient of the loss goes back through the network. The last layer outputs {n} vectors: how many of them get a gradient other than 0?",
        [str(k) for k in sorted({0, 1, n - 1, n, count})],
        str(count),
        f"{count}: the head reads no other vector. One layer below, {below} of {n} get one, through the attention of [CLS].",
    )
    rows = [f"into layer {i}" for i in range(n_layers)] + ["out of the last"]
    share = found / np.maximum(found.sum(1, keepdims=True), 1e-30)
    names = distinct(data.tokens)
    if told:
        heatmap(
            share[::-1],
            rows[::-1],
            names,
            key=SLUG + "arrives.map",
            allowed=found[::-1] > 0,
            axis=("where", "token"),
            title="Share of the gradient; hatched: exactly 0",
            height=exhibit_parts.by_mode(300, 260),
        )
    else:
        covered("The gradient, layer by layer", exhibit_parts.by_mode(300, 380))
    top = int(found[0].argmax())
    told_beside(
        f"Out of the last layer: {count} of {n} positions. Into it: {below} of {n}, "
        f"[CLS] has {percent(share[-2, 0])} of it. "
        f"At the input “{visible(names[top])}” gets most, {percent(share[0, top])}."
        if told
        else f"The loss is that of “{CLASSES[label]}”, whose probability is "
        f"{percent(data.classification.chances[label], 2)}.",
        lambda: controls.segmented(
            "The right class is", range(len(CLASSES)), SLUG + "label", unsaid, CLASSES.__getitem__
        ),
    )
    return Folds(
        lambda: pd.DataFrame(found, index=rows, columns=names),
        {"arrives": found},
        {"model": tuning_live.opening(used), "label": label},
        told,
        {"bert.class": {}},
        (
            r"\frac{\partial L}{\partial h_i} = 0 \text{ for } i \neq \text{cls}, "
            r"\quad \frac{\partial L}{\partial h_{cls}} = W^\top (p - y)",
            rf"\lVert \partial L / \partial h_{{cls}} \rVert = {found[-1, 0]:.6g}",
        ),
    )


def trained(params: Params, models: Models) -> Folds:
    """Draw the run and the button, ask for the accuracy, then list the errors."""
    goal = params.goal
    name, used = TUNED[goal], models[goal]
    params.show(SLUG.rstrip("."), "goal")  # above the training that it chooses
    tuning_live.panel(name, SLUG)
    job = used.tuning.as_recorded if used.whose == "recorded" else used.tuning
    look = {
        "says": GOALS[goal].says,
        "job": job,
        "checked": tuning.CHECKED,
        "longest": tuning.LONGEST,
    }
    if used.model is None:
        return Folds(
            {"": [tuning_live.MISSING]},
            {},
            f"from core.training.finetune import tuning\n\nprint(tuning.TUNINGS[{name!r}])",
            equations={"bert.class": {}},
            look=look,
        )
    model, seed, n = used.model, used.seed, tuning.CHECKED
    found = engine_client.submit(
        ("cls_and_pairs.checked", model, seed),
        lambda: maths.checked(engine_client.open(model), GOALS[goal], n, seed),
        20_000,
    )
    by = found.by(KINDS[goal])
    errors, right = found.errors(), int(found.right.sum())
    low, high = wilson(right / n, n)
    told = exhibit_parts.predict_number(
        SLUG + "right." + goal,
        f"{n} synthetic texts that were not in its training, {len(GOALS[goal].labels)} classes (by chance: "
        f"{n / len(GOALS[goal].labels):.0f}). How many does it classify correctly?",
        0.0,
        float(n),
        float(right),
        f"{right} of {n}, 95% interval {percent(low)} to {percent(high)} of such texts. "
        + "; ".join(f"{kind}: {well} of {of}" for kind, (well, of) in by.items())
        + ".",
        5.0,
    )
    page_parts.summary(
        f"{right} of {n} synthetic texts right, {len(errors)} wrong. {KIND_NOTES[goal]}"
        if told
        else "These are texts of our own small grammar: the number says little about other English."
    )
    with st.container():
        if told:
            shown = _frame(goal, found, errors[: exhibit_parts.by_mode(MOST, 1)])
            st.table(shown.map(lambda value: literal(str(value))))
        else:
            st.text("The errors with the highest probability are shown here after your guess.")
    return Folds(
        lambda: _frame(goal, found, errors),
        {"chances": found.chances, "wanted": found.targets},
        {"model": tuning_live.opening(used), "n": n, "seed": seed},
        told,
        {"bert.class": {}},
        look=look,
    )


def subject(item: grammar.Pair) -> str:
    """Return the subject of a pair of the grammar.

    >>> subject(grammar.Pair("Tom has exactly five eggs.", "Tom has more than two eggs.", "entailment"))
    'how many'
    """
    if "exactly" in item.first:
        return "how many"
    if re.search(r"\bthan\b", item.first):
        return "who is taller"
    ordered = re.search(r"\b(before|after) (he|she)\b", item.first)
    return "what came first" if ordered else "dogs and small dogs"


def _frame(goal: str, checked: maths.Checked, places: list[int]) -> pd.DataFrame:
    """Return the errors as a table: the text, the prediction with its probability, the right class."""
    labels = [SAYS.get(label, label) for label in GOALS[goal].labels]
    said = checked.chances.argmax(-1)
    return pd.DataFrame(
        {
            "text": [" / ".join(checked.items[at][:-1]) for at in places],
            "predicted": [f"{labels[said[at]]}, {percent(checked.chances[at].max())}" for at in places],
            "right": [labels[checked.targets[at]] for at in places],
        },
        index=np.arange(1, len(places) + 1),
    )
