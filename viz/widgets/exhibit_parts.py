"""The parts of an exhibit of the course besides its picture: steps, predictions, equations, errata.

    STEPS = (exhibit_parts.Step("Guess", "Which word gets most?"), exhibit_parts.Step("Scores", "Each pair of words gets a score."))
    step = exhibit_parts.steps(STEPS, "weighting.")
    if exhibit_parts.predict("weighting.first", "Which word gets most?", ("Mona", "Lisa"), answer="Lisa", explanation="..."): ...

An exhibit that has `STEPS` and `thumbnail() -> str` (an SVG of `viz.charts.thumbs`, made of numbers it computes) shows both
on the course page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import streamlit as st

from viz.labels import formulas
from viz.languages import _
from viz.shell import present_layout
from viz.shell.state import presenting
from viz.widgets import controls
from viz.widgets.quiz import predict, predict_mark, predict_number, predict_share

T = TypeVar("T")
Gap = Literal["small", "medium", "large"]
__all__ = [
    "Step",
    "by_mode",
    "column_gap",
    "predict",
    "predict_mark",
    "predict_number",
    "predict_share",
    "presenting",
    "steps",
]


@dataclass(frozen=True)
class Step:
    """One step of a build-up as at a blackboard: its name, and the one or two sentences said at it."""

    name: str
    says: str


def steps(STEPS: Sequence[Step], slug: str) -> int:
    """Draw the row of numbered steps and the sentence of the current one; return its index from 0. In the link it is slug + "step", from 1.

    The keys (right, left, space, 1 to 9) press these pills: see stage.js.
    """
    with present_layout.head_area(), st.container(key="exhibit-steps"):
        numbers = range(1, len(STEPS) + 1)
        at = controls.pills(
            _("Step"),
            numbers,
            f"{slug}step",
            1,
            lambda number: f"{number}  {STEPS[number - 1].name}",
            quiet=True,
        )
    with present_layout.head_area(), st.container(key="exhibit-says"):
        st.markdown(formulas(STEPS[at - 1].says))
    return at - 1


def by_mode(page: T, present: T) -> T:
    """Return one of two values, the first on a page, the second in present mode: a height, a number of rows, a word."""
    return present if presenting() else page


def column_gap(page: Gap) -> Gap:
    """Return the gap between columns: as given on a page, small in present mode."""
    return "small" if presenting() else page
