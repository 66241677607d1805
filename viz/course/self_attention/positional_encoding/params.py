"""Settings of the exhibit on positional encoding."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from viz.widgets.knobs import Knobs, knob, segmented, select, slider

SLUG = "positional_encoding"
CURVES, MATRIX, PRODUCTS, DISTANCE = VIEWS = ("Curves", "Matrix", "Dot products", "Distance")
LEARNED = "learned"
FORMULAS = {
    "paired": "2⌊i/2⌋/d, as in the original paper",
    "over_p": "2j/p, as the survey of 2020 prints it",
    "unpaired": "i/d also for odd i, as the slides of 2021 and 2024 print it",
    "inclusive": "j up to ⌊d/2⌋ inclusive, one pair too many",
    LEARNED: "no formula: learned by gpt-mini",
}
BASES = (10, 100, 1_000, 10_000, 100_000)
DIMENSION_CHOICES = ("first", "spread", "last")


@dataclass(frozen=True)
class Params(Knobs):
    """`position` is the one in view; `short` and `long` are the sentences of the criteria."""

    view: str = knob(CURVES, segmented("View", VIEWS, quiet=True))
    formula: str = knob("paired", select("Exponent of the base", tuple(FORMULAS), FORMULAS.__getitem__))
    d: int = knob(4, slider("Dimensions d", 2, 512))
    length: int = knob(50, slider("Positions (length)", 2, 256))
    base: int = knob(10_000, segmented("Base", BASES, "{:,}".format))
    p: int = knob(100, slider("p (the size of a key)", 1, 512))
    dims: int = knob(4, slider("Curves drawn", 1, 8))
    which: str = knob("first", segmented("Which dimensions", DIMENSION_CHOICES))
    position: int = knob(1, slider("Chosen position", 0, 255))
    short: int = knob(5, slider("A short sentence, words", 3, 10, width="stretch"))
    long: int = knob(20, slider("A long sentence, words", 11, 100, width="stretch"))

    def clamped(self) -> Self:
        """Return the same settings with a position inside the length."""
        return replace(self, position=min(self.position, self.length - 1))


PRESETS = {
    "d = 4": Params(),
    "d = 512": Params(d=512, length=128, dims=6, which="spread"),
    "Fig. 10: n 10, d 60, p 100": Params(view=MATRIX, formula="over_p", d=60, length=10, dims=6),
    "gpt-mini's learned": Params(formula=LEARNED, length=64, dims=6, which="spread"),
}
OF_A_PRESET = ("view", "formula", "d", "length", "base", "p", "dims", "which", "position")
"""The fields that a preset sets."""
