"""What the parts of the exhibit on [CLS] share: names, the models of its two tunings, and what stands where no run is recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import streamlit as st

from core.errors import InputError
from core.run import Run
from core.serving.engine import default
from core.training.finetune.finetune_tasks import GOALS
from viz.course.bert import tuning_live as live
from viz.course.bert.cls_and_pairs import maths as first_token
from viz.course.shared.shown import Shown
from viz.widgets import lesson, parts

SLUG = "cls_and_pairs."
SINGLE, PAIRED = "opinions-full", "pairs-full"
CLASSES = GOALS["opinions"].labels
SAYS = {"entailment": "follows", "contradiction": "contradicts", "neutral": "neither"}
"""What the second sentence does, in the order of the bars; by the labels of the task."""
LONGEST = 40
MARKS = ("[CLS]", "[SEP]")


def ran(model: str, text: str, pair: str | None = None, **options: Any) -> Run:
    """A run with all that this page asks for. Errors: InputError for no word, or more pieces than can be drawn."""
    found = default().open(model)
    n = sum(len(found.tokenizer.encode(side).ids) for side in (text, pair or ""))
    if n > LONGEST:
        raise InputError(f"The text has {n} tokens.", f"This page draws up to {LONGEST}.", "Shorten it, or take an example.")
    return found.run(text, pair=pair or None, keep=first_token.KEEP, **options)


def missing(name: str) -> Shown:
    """Where there is neither a recorded run nor one's own: what it would be, and the way to it."""
    live.panel(name, SLUG)
    return Shown({"bert.class": {}}, (), live.MISSING, lambda: pd.DataFrame({"": [live.MISSING]}), {}, f"from core.training.finetune import tuning\n\nprint(tuning.TUNINGS[{name!r}])")


def covered(name: str, height: int) -> None:
    """A place that waits for the guess."""
    with st.container(border=True, height=height, vertical_alignment="center", horizontal_alignment="center"):
        st.markdown(f"**{name}**  \n:gray[Guess first, then it is drawn.]", text_alignment="center")


def tall(page: int, before_a_room: int) -> int:
    """A height, or a number of rows: on the page, and in Present."""
    return before_a_room if lesson.presenting() else page


def told_beside(text: str, control: Callable[[], object]) -> None:
    """The sentence of numbers and the one control: below it, and beside it before a room, where height is scarce."""
    if not lesson.presenting():
        parts.numbers(text)
        control()
        return
    left, right = st.columns([2, 1], vertical_alignment="top", gap="medium")
    with left:
        parts.numbers(text)
    with right:
        control()
