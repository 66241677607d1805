"""Settings of the exhibit on score functions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from viz.course.look_up import vectors_link
from viz.course.look_up.score_functions import maths
from viz.course.look_up.vectors_link import LIMIT
from viz.languages import _
from viz.shell import state
from viz.widgets.knobs import Knobs, knob, pills, segmented, slider, url_only

SLUG = "score_functions"
NAMES = ("A", "B", "C", "D")
TITLES = {function.name: function.title for function in maths.eight()}
RULES = tuple(TITLES)


def title(rule: str) -> str:
    """Return the title of a rule, in the visitor's language."""
    return _(TITLES[rule])


def experiment_title(experiment: str) -> str:
    """Return what an experiment does, in the visitor's language."""
    return _(maths.EXPERIMENTS[experiment])


def places(text: str) -> tuple[maths.Pair, ...]:
    """Parse query and keys of a link, "1,0.6;0.7,0.5;..": five pairs of numbers, clipped to the board.

    >>> places("1,0.6;0.7,0.5;1.7,-0.2;-0.6,1.4;-1.2,-9")[-1]
    (-1.2, -2.0)
    """
    rule = _("It must be {n} pairs of numbers from −{limit:g} to {limit:g}.", n=len(NAMES) + 1, limit=LIMIT)
    found = vectors_link.vectors(text, math.inf, rule)
    if np.shape(found) != (len(NAMES) + 1, 2):
        raise state.Unusable(rule)
    return tuple((x, y) for x, y in np.clip(found, -LIMIT, LIMIT).tolist())


def pack(pairs: Any) -> str:
    """Return the points as text for the link.

    >>> pack([(1, 0.6), (0.123, 0)])
    '1,0.6;0.12,0'
    """
    return vectors_link.pack(np.round(pairs, 2).tolist())


def on_board(text: str) -> str:
    """Check the points of a link and return them as text."""
    return pack(places(text))


@dataclass(frozen=True)
class Params(Knobs):
    """`at`: query and keys as text."""

    at: str = knob("1,0.6;0.7,0.5;1.7,-0.2;-0.6,1.4;-1.2,-0.9", url_only(on_board))
    beta: float = knob(5.0, slider("β, the inverse temperature of the last cosine", 0.0, 20.0, 0.5))
    experiment: str = knob(
        "turn",
        segmented("What is changed", tuple(maths.EXPERIMENTS), experiment_title, quiet=True),
    )
    rule: str = knob("linear", pills("Rule", RULES, title, quiet=True))

    @property
    def query(self) -> maths.Pair:
        return places(self.at)[0]

    @property
    def keys(self) -> tuple[maths.Pair, ...]:
        return places(self.at)[1:]

    @property
    def place(self) -> maths.PlaneExample:
        return maths.PlaneExample(self.query, self.keys)
