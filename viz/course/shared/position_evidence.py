"""Printed claims of the sources about position vectors, and the recomputed numbers that contradict them.

The entries of `viz.course.errata` on positions are made from these. Positions and dimensions count from 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from viz.course.shared.positions import Formula, distance_profile
from viz.number_text import number

PRINTED_D512: tuple[tuple[int, str], ...] = (
    (0, "0.8414"),
    (1, "0.5403"),
    (2, "0.8218"),
    (510, "0.0001"),
    (511, "0.9999"),
)
"""PE(1) for d = 512 as Beigy 2024 prints it: (dimension, digits)."""


@dataclass(frozen=True)
class Entry:
    """One number of a position vector: what it is, its value, and its digits rounded, cut and as printed."""

    dimension: int
    formula: str
    value: float
    rounded: str
    cut: str
    printed: str | None = None


def entry(formula: Formula, position: int, dimension: int, printed: str | None = None) -> Entry:
    """Compute one number of PE(position).

    >>> entry(Formula(512), 1, 2, "0.8218").rounded
    '0.8219'
    """
    value = float(formula.vectors_at(np.array([float(position)]))[0, dimension])
    cut = math.trunc(value * 10**4) / 10**4
    return Entry(dimension, formula.name_of(dimension), value, number(value, 4), number(cut, 4), printed)


def worked_d4(position: int = 1) -> tuple[Entry, ...]:
    """Compute the worked example of the slides: [sin pos, cos pos, sin pos/100, cos pos/100]."""
    return tuple(entry(Formula(4), position, i) for i in range(4))


def worked_d512() -> tuple[Entry, ...]:
    """Compute PE(1) for d = 512 at the five dimensions that the slides print."""
    return tuple(entry(Formula(512), 1, i, printed) for i, printed in PRINTED_D512)


def five_steps(
    d_model: int, n_positions: int
) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Return the distance of two vectors five positions apart as (mean, least, largest): exponent 2 floor(i/2)/d, then i/d.

    >>> [tuple(round(v, 3) for v in part) for part in five_steps(128, 200)]
    [(5.799, 5.799, 5.799), (5.763, 4.787, 6.678)]
    """
    right, printed = Formula(d_model), Formula(d_model, variant="unpaired")
    return distance_profile(right, n_positions, 6).at_offset(5), distance_profile(
        printed, n_positions, 6
    ).at_offset(5)
