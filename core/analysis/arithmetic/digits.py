"""Numbers rounded for display so that the terms on the page add up to the result after the equals sign.

A result has four significant digits, what is put in has three decimals more. A term is what its *shown* factors give,
and the sum of the *shown* terms rounds to the *shown* result: whoever checks a line with a pocket calculator finds it
right. Where rounding would break that (a result halfway between two), the terms get a decimal more, or the result one
less.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Float, Int


Array = np.ndarray
Formula = Callable[..., Array]

SIGNIFICANT, MAX_DECIMALS, EXTRA_DECIMALS = 4, 10, 3
"""Digits of a result; its largest number of decimals; decimals that a term has more."""
NOT_A_NUMBER = "not a number"


def format_number(value: float, decimals: int) -> str:
    """Return a number as text with so many decimals and a real minus sign; zero is never "-0".

    >>> format_number(-1.25, 1), format_number(-0.0001, 2), format_number(3, 0), format_number(float("-inf"), 4)
    ('−1.2', '0.00', '3', '−∞')
    """
    if not math.isfinite(value):
        return NOT_A_NUMBER if math.isnan(value) else "∞" if value > 0 else "−∞"
    text = f"{value:.{decimals}f}"
    if text[0] != "-":
        return text
    return text[1:] if not text.strip("-0.") else "−" + text[1:]


def parse_number(text: str) -> float:
    """Return the value of a displayed number.

    >>> parse_number("−1.25")
    -1.25
    """
    return math.nan if text == NOT_A_NUMBER else float(text.replace("−", "-").replace("∞", "inf"))


def parse_units(text: str) -> int:
    """Return a displayed number as a count of units of its last decimal.

    >>> parse_units("−1.25")
    -125
    """
    return int(text.replace("−", "-").replace(".", ""))


def exact_sum(texts: Sequence[str]) -> str:
    """Return the exact sum of displayed numbers with equally many decimals, as it would be displayed.

    >>> exact_sum(["0.10", "−0.25", "1.00"])
    '0.85'
    """
    if any("n" in text or "∞" in text for text in texts):
        return NOT_A_NUMBER
    decimals = len(texts[0].partition(".")[2]) if texts else 0
    return format_units(sum(map(parse_units, texts)), decimals)


def format_units(units: int, decimals: int) -> str:
    """Return so many units of the last decimal as a displayed number.

    >>> format_units(-125, 2), format_units(5, 3), format_units(7, 0)
    ('−1.25', '0.005', '7')
    """
    digits = f"{abs(units):0{decimals + 1}d}"
    return ("−" if units < 0 else "") + (f"{digits[:-decimals]}.{digits[-decimals:]}" if decimals else digits)


EXACT = 2.0**52
"""Below so many units a float tells every unit from the next one, and a thousand of them still add up exactly."""


@dataclass(frozen=True, eq=False)
class RoundedNumbers(Sequence[str]):
    """Displayed numbers with equally many decimals: a sequence of texts that are formatted when they are read.

    `units` counts each in its last decimal (int64). What is not finite, or too large for that, has 0 there and its text in `odd`.
    """

    units: Array
    decimals: int
    odd: Mapping[int, str]

    @classmethod
    def from_values(cls, values: Float[Array, "*shape"], decimals: int) -> RoundedNumbers:
        """Round the values as `format_number` does, halves included.

        >>> list(RoundedNumbers.from_values(np.array([0.5, -0.25, np.inf]), 1))
        ['0.5', '−0.2', '∞']
        """
        with np.errstate(all="ignore"):
            scaled = values * 10.0**decimals
            plain = np.abs(scaled) < EXACT
        odd = (
            {}
            if plain.all()
            else {i: format_number(float(values[i]), decimals) for i in np.flatnonzero(~plain).tolist()}
        )
        scaled = np.where(plain, scaled, 0.0) if odd else scaled
        size, units = np.abs(scaled), np.rint(scaled)
        for i in np.flatnonzero(np.abs(size - np.floor(size) - 0.5) <= size * 2.0**-51).tolist():
            units[i] = parse_units(
                format_number(float(values[i]), decimals)
            )  # so near to a half that the product's own rounding could decide
        return cls(units.astype(np.int64), decimals, odd)

    def __len__(self) -> int:
        return len(self.units)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(self)[index]
        place = range(len(self.units))[index]
        return self.odd.get(place) or format_units(int(self.units[place]), self.decimals)

    def __iter__(self) -> Iterator[str]:
        for i, units in enumerate(self.units.tolist()):
            yield self.odd.get(i) or format_units(units, self.decimals)

    def values(self) -> Float[Array, "*shape"]:
        """Return the values of the displayed numbers, (n,) float64, to the last bit of a float."""
        found = self.units / 10.0**self.decimals
        for i, text in self.odd.items():
            found[i] = parse_number(text)
        return found

    def sum(self, places: Sequence[int] | None = None) -> str:
        """Return the exact sum of all numbers, or of those at these indices, as it would be displayed.

        >>> RoundedNumbers.from_values(np.array([0.1, -0.25, 1.0]), 2).sum(), RoundedNumbers.from_values(np.array([0.1, -0.25, 1.0]), 2).sum([0, 1])
        ('0.85', '−0.15')
        """
        if self.odd:
            return exact_sum(list(self) if places is None else [self[i] for i in places])
        units = self.units if places is None else self.units[np.asarray(places, dtype=np.int64)]
        return format_units(int(units.sum()), self.decimals)

    def order(self) -> Int[Array, " item"]:
        """Return the indices by size: NaN first, then the largest; equal ones keep their order."""
        if not self.odd:
            return np.argsort(-np.abs(self.units), kind="stable")
        values = self.values()
        return np.lexsort(
            (-np.abs(np.nan_to_num(values, nan=0.0, posinf=np.inf, neginf=-np.inf)), ~np.isnan(values))
        )


def result_decimals(value: float) -> int:
    """Return how many decimals a result is displayed with.

    >>> result_decimals(12.345678), result_decimals(0.8134), result_decimals(0.0), result_decimals(3e-5)
    (2, 4, 4, 8)
    """
    if not math.isfinite(value) or value == 0:
        return SIGNIFICANT
    return min(max(SIGNIFICANT - 1 - math.floor(math.log10(abs(value))), 1), MAX_DECIMALS)


@dataclass(frozen=True, eq=False)
class RoundedSum:
    """Displayed terms and their displayed sum: `factors` holds the numbers of each column."""

    factors: tuple[RoundedNumbers, ...]
    terms: RoundedNumbers
    result: str


def round_sum(columns: Sequence[Float[Array, " item"]], formula: Formula, result: float) -> RoundedSum:
    """Return the terms `formula(*factors)` and their sum, rounded so that each line is true for the displayed numbers.

    Each column holds one factor of every term; `result` is the number that the sum is known to be.

    >>> found = round_sum([np.array([0.5, 0.25]), np.array([2.0, 3.0])], np.multiply, 1.75)
    >>> [list(column) for column in found.factors], list(found.terms), found.result
    ([['0.500000', '0.250000'], ['2.000000', '3.000000']], ['1.000000', '0.750000'], '1.750')
    """
    with np.errstate(all="ignore"):
        columns = [np.asarray(column, dtype=np.float64) for column in columns]
        if not math.isfinite(result) or not all(np.isfinite(column).all() for column in columns):
            return _round_terms(columns, formula, result, SIGNIFICANT + EXTRA_DECIMALS, SIGNIFICANT)
        last = None
        for decimals in range(result_decimals(result), -1, -1):
            for finer in (decimals + EXTRA_DECIMALS, decimals + EXTRA_DECIMALS + 2):
                last = _round_terms(columns, formula, result, finer, decimals)
                if _agrees(last, 10 ** (finer - decimals)):
                    return last
    assert last is not None
    return last


def _round_terms(
    columns: Sequence[Array], formula: Formula, result: float, finer: int, decimals: int
) -> RoundedSum:
    factors = tuple(RoundedNumbers.from_values(column, finer) for column in columns)
    terms = np.asarray(formula(*(column.values() for column in factors)))
    return RoundedSum(factors, RoundedNumbers.from_values(terms, finer), format_number(result, decimals))


def _agrees(candidate: RoundedSum, scale: int) -> bool:
    """Return whether the displayed terms add up to what rounds to the displayed result; NaN agrees with anything."""
    added = candidate.terms.sum()
    return (
        added == NOT_A_NUMBER or 2 * abs(parse_units(added) - parse_units(candidate.result) * scale) < scale
    )


def round_expression(
    formula: Callable[..., float], values: Sequence[float], result: float
) -> tuple[tuple[str, ...], str]:
    """Return the values put into a formula and its result, as texts that agree with each other.

    >>> round_expression(lambda a, b: a / b, [17.67216, 5.656854], 3.124027)
    (('17.672160', '5.656854'), '3.124')
    """
    finite = math.isfinite(result) and all(map(math.isfinite, values))
    texts, answer = (
        tuple(format_number(value, SIGNIFICANT + EXTRA_DECIMALS) for value in values),
        format_number(result, SIGNIFICANT),
    )
    for decimals in range(result_decimals(result), -1, -1) if finite else ():
        for finer in range(decimals + EXTRA_DECIMALS, decimals + EXTRA_DECIMALS + 4):
            texts, answer = (
                tuple(format_number(value, finer) for value in values),
                format_number(result, decimals),
            )
            try:
                out = formula(*map(parse_number, texts))
            except ZeroDivisionError:
                continue
            if abs(out - parse_number(answer)) < 0.5 * 10**-decimals:
                return texts, answer
    return texts, answer
