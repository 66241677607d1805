"""The last step on [CLS]: train it, and what it gets wrong of texts that it never read."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.data import grammar
from core.serving.engine import default
from core.training.finetune import tuning
from core.training.finetune.finetune_tasks import GOALS, plain
from viz.course.bert import tuning_live
from viz.course.bert.cls_and_pairs import maths
from viz.course.bert.cls_and_pairs.params import SAYS, SLUG, TUNED, Models, Params
from viz.course.bert.cls_and_pairs.steps import tall
from viz.course.lesson import Folds
from viz.labels import literal, percent
from viz.widgets import compute, lesson, parts

MOST = 6
KINDS: dict[str, Callable[[Any], str]] = {
    "opinions": lambda item: "said outright" if plain(item) else "turned round",
    "pairs": lambda item: subject(item),
}
TOLD = {
    "opinions": "“Said outright”: every judging word is of the label. "
    "“Turned round”: “not awful”, “dull at first, but”.",
    "pairs": "The four things that pairs are about.",
}


def trained(params: Params, models: Models) -> Folds:
    """The run and the button; then where its errors are."""
    goal = params.goal
    name, used = TUNED[goal], models[goal]
    params.show(SLUG.rstrip("."), "goal")  # above the training that it chooses
    tuning_live.panel(name, SLUG)
    job = used.tuning.recorded if used.whose == "recorded" else used.tuning
    look = (
        f"{GOALS[goal].says} It learns from {job.n_texts:,} labelled texts of our own small grammar, "
        f"{job.n_rows} a step, and is measured on {tuning.CHECKED} others that it never reads. The dashed "
        "line is the "
        f"baseline by chance. Trained here it ends after {tuning.LONGEST:.0f} seconds, finished or not: on a "
        "slow "
        "machine it learns less. A text of the grammar is simple: of other English these numbers say little."
    )
    if used.model is None:
        return Folds(
            lambda: pd.DataFrame({"": [tuning_live.MISSING]}),
            lambda: {},
            f"from core.training.finetune import tuning\n\nprint(tuning.TUNINGS[{name!r}])",
            equations={"bert.class": {}},
            look=look,
        )
    model, seed, n = used.model, used.seed, tuning.CHECKED
    found = compute.submit(
        ("cls_and_pairs.checked", model, seed),
        lambda: maths.checked(default().open(model), GOALS[goal], n, seed),
        20_000,
    )
    by = found.by(KINDS[goal])
    wrong = {kind: 1 - right / of for kind, (right, of) in by.items()}
    told = lesson.predict(
        SLUG + "worst." + goal,
        f"It was asked {n} texts that it never read. Of which kind does it get the largest share wrong?",
        wrong,
        max(wrong, key=wrong.__getitem__),
        "; ".join(f"{kind}: {right} of {of} right" for kind, (right, of) in by.items()) + ".",
    )
    errors, right = found.errors(), int(found.right.sum())
    parts.numbers(
        f"{right} of {len(errors) + right} right, {len(errors)} wrong." + (f" {TOLD[goal]}" if told else "")
    )
    with st.container():
        if told:
            shown = _frame(goal, found, errors[: tall(MOST, 1)])
            st.table(shown.map(lambda value: literal(str(value))))
        else:
            st.text("Its surest errors stand here after your guess.")
    return Folds(
        lambda: _frame(goal, found, errors),
        lambda: {"chances": found.chances, "wanted": found.wanted},
        f"{tuning_live.opening(used)}\nfrom viz.course.bert.cls_and_pairs import maths as first_token\n"
        f"from core.training.finetune.finetune_tasks import GOALS\n\nfound = first_token.checked(model, GOALS[{goal!r}], {n}, "
        f"{seed})\n"
        "print(found.right.sum())\nfor at in found.errors():\n"
        "    print(found.items[at], found.chances[at].round(3))",
        told,
        {"bert.class": {}},
        look=look,
    )


def subject(item: grammar.Pair) -> str:
    """What a pair of the grammar is about.

    >>> subject(grammar.Pair("Tom has exactly five eggs.", "Tom has more than two eggs.", "entailment"))
    'how many'
    """
    if "exactly" in item.first:
        return "how many"
    if re.search(r"\bthan\b", item.first):
        return "who is taller"
    ordered = re.search(r"\b(before|after) (he|she)\b", item.first)
    return "what came first" if ordered else "dogs and small dogs"


def _frame(goal: str, found: maths.Checked, places: list[int]) -> pd.DataFrame:
    """Errors: the text, what it said and how surely, what is right."""
    labels = [SAYS.get(label, label) for label in GOALS[goal].labels]
    said = found.chances.argmax(-1)
    return pd.DataFrame(
        {
            "text": [" / ".join(found.items[at][:-1]) for at in places],
            "it says": [f"{labels[said[at]]}, {percent(found.chances[at].max())}" for at in places],
            "right": [labels[found.wanted[at]] for at in places],
        },
        index=np.arange(1, len(places) + 1),
    )
