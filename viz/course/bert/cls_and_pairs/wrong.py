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
from viz.course.bert import tuning_live as live
from viz.course.bert.cls_and_pairs import maths as first_token
from viz.course.bert.cls_and_pairs.link import PAIRED, SAYS, SINGLE, SLUG, tall
from viz.course.shared.shown import Shown, later
from viz.labels import literal, percent
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

NAMES = {"opinions": SINGLE, "pairs": PAIRED}
MOST = 6
KINDS: dict[str, Callable[[Any], str]] = {
    "opinions": lambda item: "said outright" if plain(item) else "turned round",
    "pairs": lambda item: subject(item),
}
TOLD = {"opinions": "“Said outright”: every judging word is of the label. “Turned round”: “not awful”, “dull at first, but”.", "pairs": "The four things that pairs are about."}


def subject(item: grammar.Pair) -> str:
    """What a pair of the grammar is about.

    >>> subject(grammar.Pair("Tom has exactly five eggs.", "Tom has more than two eggs.", "entailment"))
    'how many'
    """
    if "exactly" in item.first:
        return "how many"
    if re.search(r"\bthan\b", item.first):
        return "who is taller"
    return "what came first" if re.search(r"\b(before|after) (he|she)\b", item.first) else "dogs and small dogs"


def trained(params: Any) -> Shown:
    """The run and the button; then where its errors are."""
    goal = controls.segmented("What it learns", list(NAMES), SLUG + "goal", "opinions", lambda name: {"opinions": "one sentence", "pairs": "a pair"}[name], quiet=True)
    name = NAMES[goal]
    used = live.using(name, SLUG)
    live.panel(name, SLUG)
    job = used.tuning.recorded if used.whose == "recorded" else used.tuning
    looking = (f"{GOALS[goal].says} It learns from {job.n_texts:,} labelled texts of our own small grammar, {job.n_rows} a step, and is measured on {tuning.CHECKED} others that it never reads. "
               f"The dashed line is the baseline by chance. Trained here it ends after {tuning.LONGEST:.0f} seconds, finished or not: on a slow machine it learns less. A text of the grammar is simple: of other English these numbers say little.")  # fmt: skip
    if used.model is None:
        return Shown({"bert.class": {}}, (), looking, later, {}, f"from core.training.finetune import tuning\n\nprint(tuning.TUNINGS[{name!r}])")
    model, seed = used.model, used.seed
    found = ask.submit(("cls_and_pairs.checked", model, seed), lambda: first_token.checked(default().open(model), GOALS[goal], tuning.CHECKED, seed), 20_000)
    by = found.by(KINDS[goal])
    rates = {kind: right / of for kind, (right, of) in by.items()}
    worst = min(rates, key=rates.__getitem__)
    told = lesson.predict(SLUG + "worst." + goal, f"It was asked {tuning.CHECKED} texts that it never read. Of which kind does it get the largest share wrong?", {kind: 1 - rate for kind, rate in rates.items()}, worst,
                          "; ".join(f"{kind}: {right} of {of} right" for kind, (right, of) in by.items()) + ".")  # fmt: skip
    errors = found.errors()
    wrong = _frame(goal, found, errors[: tall(MOST, 1)])
    parts.numbers(f"{int(found.right.sum())} of {len(errors) + int(found.right.sum())} right, {len(errors)} wrong." + (f" {TOLD[goal]}" if told else ""))
    with st.container():
        if told:
            st.table(wrong.map(lambda value: literal(str(value))))
        else:
            st.text("Its surest errors stand here after your guess.")
    return Shown(
        {"bert.class": {}}, (), looking, lambda: _frame(goal, found, errors) if told else later(),
        {"chances": found.chances, "wanted": found.wanted} if told else {},
        f"{live.opening(used)}\nfrom viz.course.bert.cls_and_pairs import maths as first_token\nfrom core.training.finetune.finetune_tasks import GOALS\n\nfound = first_token.checked(model, GOALS[{goal!r}], {tuning.CHECKED}, {seed})\n"
        "print(found.right.sum())\nfor at in found.errors():\n    print(found.items[at], found.chances[at].round(3))",
    )  # fmt: skip


def _frame(goal: str, found: first_token.Checked, places: list[int]) -> pd.DataFrame:
    """Errors: the text, what it said and how surely, what is right."""
    labels = [SAYS.get(label, label) for label in GOALS[goal].labels]
    said = found.chances.argmax(-1)
    return pd.DataFrame({
        "text": [" / ".join(found.items[at][:-1]) for at in places],
        "it says": [f"{labels[said[at]]}, {percent(found.chances[at].max())}" for at in places],
        "right": [labels[found.wanted[at]] for at in places],
    }, index=np.arange(1, len(places) + 1))  # fmt: skip
