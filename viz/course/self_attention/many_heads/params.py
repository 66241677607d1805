"""Settings of the exhibit on many heads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from viz.course.self_attention.many_heads.maths import Sizes
from viz.shell import state
from viz.widgets import controls, exhibit_parts
from viz.widgets.knobs import Control, Knobs, knob, seed_input, segmented, toggle, url_only

SLUG = "many_heads"
WORDS = ("we", "saw", "her", "big", "red", "cat")
PART_COUNTS = (2, 3, 4, 6)
CHOICES = {
    "b": ("Sentences, B", 1, 4),
    "n": ("Words, n", 2, len(WORDS)),
    "d": ("Numbers per word, d", 2, 16),
    "h": ("Heads, h", 1, 8),
}
ROOM = {"b": 216, "n": 188, "d": 204, "h": 188}
"""Width of each control with its name in present mode, in pixels; below 184 its buttons disappear."""


def _row(_name: str, _opening: int, params: Params, names: Callable[[str], str]) -> None:
    """Draw B, n, d, h and the seed; in present mode in one row, their names beside them."""
    room, gap = exhibit_parts.presenting(), "xsmall" if exhibit_parts.presenting() else "small"
    with st.container(horizontal=True, gap=gap, vertical_alignment="bottom", key="many-heads-sizes"):
        for field, (label, low, high) in CHOICES.items():
            with st.container(width=ROOM[field] if room else 165):
                said = label.replace(" per word", "") if room else label
                controls.number(said, low, high, names(field), getattr(type(params), field))
        controls.seed_input(names("draw"), 0, 99, next_label="Again" if room else "Draw again")


def _among(field: str) -> Callable[[str], int]:
    _, low, high = CHOICES[field]
    return state.whole_number(low, high)


@dataclass(frozen=True)
class Params(Knobs):
    """The row of the sizes is drawn with the first of them; `wanted`: the number of words that one word is computed from."""

    b: int = knob(1, Control(_row, lambda _: _among("b")))
    n: int = knob(3, url_only(_among("n")))
    d: int = knob(8, url_only(_among("d")))
    h: int = knob(2, url_only(_among("h")))
    redrawn: int = knob(
        1, seed_input(99, first=1, label="Draw, head 1", next_label="Re-initialise head 1", strong=True)
    )
    draw: int = knob(0, url_only(state.whole_number(0, 99)))
    forgot: bool = knob(False, toggle("Forget the transpose"))
    wanted: int = knob(4, segmented("Words that one word is computed from, k", PART_COUNTS))

    @property
    def sizes(self) -> Sizes:
        """Return the numbers of sentences, words, numbers per word and heads."""
        return Sizes(self.b, self.n, self.d, self.h)
