"""What the documents print about position vectors, and the numbers that show where they slip, recomputed.

Numbers of the errata (E3, E4, ..) are those of the course's list. Positions and dimensions count from 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.lessons.positions import Formula, distance_profile, share_of_variance

PRINTED_D512: tuple[tuple[int, str], ...] = (
    (0, "0.8414"), (1, "0.5403"), (2, "0.8218"), (510, "0.0001"), (511, "0.9999"),
)  # fmt: skip
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


def digits(value: float, places: int = 4, cut: bool = False) -> str:
    """A number to `places` digits, rounded, or cut off as the slides do.

    >>> digits(0.841471), digits(0.841471, cut=True)
    ('0.8415', '0.8414')
    """
    if cut:
        value = math.trunc(value * 10**places) / 10**places
    text = f"{value:.{places}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def entry(formula: Formula, position: int, dimension: int, printed: str | None = None) -> Entry:
    """One number of PE(position).

    >>> entry(Formula(512), 1, 2, "0.8218").rounded
    '0.8219'
    """
    value = float(formula.at(np.array([float(position)]))[0, dimension])
    return Entry(dimension, formula.name_of(dimension), value, digits(value), digits(value, cut=True), printed)


def worked_d4(position: int = 1) -> tuple[Entry, ...]:
    """The worked example of the slides: [sin pos, cos pos, sin pos/100, cos pos/100]."""
    return tuple(entry(Formula(4), position, i) for i in range(4))


def worked_d512() -> tuple[Entry, ...]:
    """PE(1) for d = 512 at the five places that the slides print."""
    return tuple(entry(Formula(512), 1, i, printed) for i, printed in PRINTED_D512)


@dataclass(frozen=True)
class Erratum:
    """What a document says, what is right, and the evidence, with numbers computed on the spot."""

    number: str
    says: str
    right: str
    evidence: str


def over_d_or_p() -> Erratum:
    """E3: exponent 2j/p or 2j/d, at n = 10, d = 60, p = 100 of Fig. 10."""
    right, printed = Formula(60), Formula(60, variant="over_p", p=100)
    gap = np.abs(right.table(10) - printed.table(10))
    position, dimension = np.unravel_index(gap.argmax(), gap.shape)
    return Erratum(
        "E3",
        "Eq. (17) has the exponent 2j/p in Ghojogh and Ghodsi 2020 and 2j/d in Ghojogh's slides of 2023: "
        "the slides and the paper differ here.",
        "2j/d, as in Vaswani et al. 2017.",
        f"For Fig. 10 (n = 10, d = 60, p = 100) the two differ by up to {gap.max():.3f} (position {position}, "
        f"dimension {dimension}); the longest wave has {right.wavelengths()[-1]:,.0f} positions with d and "
        f"{printed.wavelengths()[-1]:,.0f} with p. The claim that the first dimensions differ most holds for both: "
        f"the first half has {share_of_variance(right.table(10)):.5f} of the variance with d, "
        f"{share_of_variance(printed.table(10)):.5f} with p.",
    )


def five_steps(d_model: int, n_positions: int) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Distance of two vectors five positions apart as (mean, least, largest): exponent 2 floor(i/2)/d, then i/d.

    >>> [tuple(round(v, 3) for v in part) for part in five_steps(128, 200)]
    [(5.799, 5.799, 5.799), (5.763, 4.787, 6.678)]
    """
    right, printed = Formula(d_model), Formula(d_model, variant="unpaired")
    return distance_profile(right, n_positions, 6).at(5), distance_profile(printed, n_positions, 6).at(5)


def paired_or_not() -> Erratum:
    """E4: i/d for odd i as well."""
    four, wide = Formula(4, variant="unpaired"), Formula(512, variant="unpaired")
    literal = ", ".join(digits(v) for v in four.table(2)[1])
    example = ", ".join(e.rounded for e in worked_d4())
    right, printed = five_steps(128, 200)
    return Erratum(
        "E4",
        "Beigy 2021 and 2024 print PE(pos, i) with the exponent i/d for even and odd i.",
        "2⌊i/2⌋/d: a sine and a cosine share each frequency. Their own examples use it.",
        f"For d = 4, position 1 the formula as printed gives ({literal}), the example on the next slide ({example}); "
        f"for d = 512 its second entry is {digits(wide.table(2)[1, 1])}, and {worked_d512()[1].printed} is printed. "
        f"As printed it also breaks the slides' wish that equal steps be equally far apart: for d = 128 the distance "
        f"of 5 steps runs from {printed[1]:.3f} to {printed[2]:.3f}, with the right exponent it is "
        f"{right[0]:.3f} everywhere.",
    )


def cut_not_rounded() -> Erratum:
    """E33: the digits and labels of PE(0) and PE(1)."""
    wrong = [e for e in worked_d512() if e.printed == e.cut != e.rounded]
    printed = ", ".join(f"{e.printed} for {e.value:.9f}" for e in wrong)
    shifted = ", ".join(f"{v:.0f}" for v in (math.cos(0), math.sin(0)))
    return Erratum(
        "E33",
        "Beigy 2024 labels the vectors of positions 0 and 1 PE(0, 0) and PE(0, 1), "
        "lets i run from 1 to d, and prints " + printed + ".",
        "PE(0) and PE(1), i from 0, and " + ", ".join(e.rounded for e in wrong) + ".",
        f"All {len(wrong)} numbers are cut after four digits, not rounded. With i from 1 each pair would begin with "
        f"the cosine, and PE(0) would be ({shifted}, {shifted}, ..), not the (0, 1, 0, .., 0, 1) that is printed.",
    )


def one_pair_too_many() -> Erratum:
    """E34: j from 0 to floor(d/2) inclusive."""
    entries = Formula(60, cut=False).table(1).shape[1]
    return Erratum(
        "E34",
        "Eq. (17) lets j run from 0 to ⌊d/2⌋, and counts elements from 0 where words count from 1.",
        "j ≤ ⌈d/2⌉ − 1; the last cosine falls away when d is odd.",
        f"d = 60 yields {entries} entries as printed.",
    )


def once_below_the_blocks(learned: NDArray[np.float64] | None) -> Erratum:
    """E43: where GPT gets its positions."""
    seen = (
        "GPT-1 and BERT have one table of 512 rows, GPT-2 one of 1024; gpt-mini's is not on this machine."
        if learned is None
        else f"gpt-mini has one table of {learned.shape[0]} rows and {learned.shape[1]} columns, trained with the rest."
    )
    return Erratum(
        "E43",
        "Both texts by Ghojogh say that the decoder blocks of GPT have positional encoding.",
        "It is added once, below the first block, and GPT and BERT learn it.",
        seen,
    )


def errata(learned: NDArray[np.float64] | None = None) -> tuple[Erratum, ...]:
    """All five, in the order of the course's list."""
    return (over_d_or_p(), paired_or_not(), cut_not_rounded(), one_pair_too_many(), once_below_the_blocks(learned))
