"""Figures as they are shown: rounded so that the terms on the page add up to the result after the equals sign.

A result has four significant digits, what is put in has three decimals more. A term is what its *shown* factors give,
and the sum of the *shown* terms rounds to the *shown* result: whoever checks a line with a pocket calculator finds it
right. Where rounding would break that (a result halfway between two), the terms get a decimal more, or the result one
less.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

Array = np.ndarray
Formula = Callable[..., Array]

SIGNIFICANT, MOST, MORE = 4, 10, 3
"""Digits of a result; its largest number of decimals; decimals that a term has more."""
NOT_A_NUMBER = "not a number"


def shown(value: float, decimals: int) -> str:
    """A number with so many decimals and a real minus sign; nothing is "-0".

    >>> shown(-1.25, 1), shown(-0.0001, 2), shown(3, 0), shown(float("-inf"), 4)
    ('−1.2', '0.00', '3', '−∞')
    """
    if not math.isfinite(value):
        return NOT_A_NUMBER if math.isnan(value) else "∞" if value > 0 else "−∞"
    text = f"{value:.{decimals}f}"
    if text[0] != "-":
        return text
    return text[1:] if not text.strip("-0.") else "−" + text[1:]


def read(text: str) -> float:
    """Return the value of a shown number.

    >>> read("−1.25")
    -1.25
    """
    return math.nan if text == NOT_A_NUMBER else float(text.replace("−", "-").replace("∞", "inf"))


def whole(text: str) -> int:
    """A shown number in units of its last decimal.

    >>> whole("−1.25")
    -125
    """
    return int(text.replace("−", "-").replace(".", ""))


def total(texts: Sequence[str]) -> str:
    """The exact sum of shown numbers with equally many decimals.

    >>> total(["0.10", "−0.25", "1.00"])
    '0.85'
    """
    if any("n" in text or "∞" in text for text in texts):
        return NOT_A_NUMBER
    decimals = len(texts[0].partition(".")[2]) if texts else 0
    return written(sum(map(whole, texts)), decimals)


def written(units: int, decimals: int) -> str:
    """So many units of the last decimal as a shown number.

    >>> written(-125, 2), written(5, 3), written(7, 0)
    ('−1.25', '0.005', '7')
    """
    digits = f"{abs(units):0{decimals + 1}d}"
    return ("−" if units < 0 else "") + (f"{digits[:-decimals]}.{digits[-decimals:]}" if decimals else digits)


EXACT = 2.0**52
"""Below so many units a float tells every unit from the next one, and a thousand of them still add up exactly."""


@dataclass(frozen=True, eq=False)
class Figures(Sequence[str]):
    """Shown numbers with equally many decimals: a sequence of texts that are written when somebody reads them.

    `units` counts each in its last decimal (int64). What is not finite, or too large for that, has 0 there and its text in `odd`.
    """

    units: Array
    decimals: int
    odd: Mapping[int, str]

    @classmethod
    def of(cls, values: Array, decimals: int) -> Figures:
        """The numbers rounded as `shown` rounds them, halves and all.

        >>> list(Figures.of(np.array([0.5, -0.25, np.inf]), 1))
        ['0.5', '−0.2', '∞']
        """
        with np.errstate(all="ignore"):
            scaled = values * 10.0**decimals
            plain = np.abs(scaled) < EXACT
        odd = (
            {}
            if plain.all()
            else {i: shown(float(values[i]), decimals) for i in np.flatnonzero(~plain).tolist()}
        )
        scaled = np.where(plain, scaled, 0.0) if odd else scaled
        size, units = np.abs(scaled), np.rint(scaled)
        for i in np.flatnonzero(np.abs(size - np.floor(size) - 0.5) <= size * 2.0**-51).tolist():
            units[i] = whole(
                shown(float(values[i]), decimals)
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
        return self.odd.get(place) or written(int(self.units[place]), self.decimals)

    def __iter__(self) -> Iterator[str]:
        for i, units in enumerate(self.units.tolist()):
            yield self.odd.get(i) or written(units, self.decimals)

    def values(self) -> Array:
        """Return the values of the shown numbers, to the last bit of a float."""
        found = self.units / 10.0**self.decimals
        for i, text in self.odd.items():
            found[i] = read(text)
        return found

    def sum(self, places: Sequence[int] | None = None) -> str:
        """The exact sum of all, or of those at these places, as it would be shown.

        >>> Figures.of(np.array([0.1, -0.25, 1.0]), 2).sum(), Figures.of(np.array([0.1, -0.25, 1.0]), 2).sum([0, 1])
        ('0.85', '−0.15')
        """
        if self.odd:
            return total(list(self) if places is None else [self[i] for i in places])
        units = self.units if places is None else self.units[np.asarray(places, dtype=np.int64)]
        return written(int(units.sum()), self.decimals)

    def order(self) -> Array:
        """The places by size: what is no number first, then the largest, equal ones as they stand."""
        if not self.odd:
            return np.argsort(-np.abs(self.units), kind="stable")
        values = self.values()
        return np.lexsort(
            (-np.abs(np.nan_to_num(values, nan=0.0, posinf=np.inf, neginf=-np.inf)), ~np.isnan(values))
        )


def places(value: float) -> int:
    """How many decimals a result gets.

    >>> places(12.345678), places(0.8134), places(0.0), places(3e-5)
    (2, 4, 4, 8)
    """
    if not math.isfinite(value) or value == 0:
        return SIGNIFICANT
    return min(max(SIGNIFICANT - 1 - math.floor(math.log10(abs(value))), 1), MOST)


@dataclass(frozen=True, eq=False)
class Sum:
    """Shown terms and their shown sum: `factors` holds the figures of each column."""

    factors: tuple[Figures, ...]
    terms: Figures
    result: str


def added(columns: Sequence[Array], formula: Formula, result: float) -> Sum:
    """Return the terms `formula(*factors)` and their sum, rounded so that each line is true in the figures shown.

    Each column holds one factor of every term; `result` is the number that the sum is known to be.

    >>> found = added([np.array([0.5, 0.25]), np.array([2.0, 3.0])], np.multiply, 1.75)
    >>> [list(column) for column in found.factors], list(found.terms), found.result
    ([['0.500000', '0.250000'], ['2.000000', '3.000000']], ['1.000000', '0.750000'], '1.750')
    """
    with np.errstate(all="ignore"):
        columns = [np.asarray(column, dtype=np.float64) for column in columns]
        if not math.isfinite(result) or not all(np.isfinite(column).all() for column in columns):
            return _told(columns, formula, result, SIGNIFICANT + MORE, SIGNIFICANT)
        last = None
        for decimals in range(places(result), -1, -1):
            for finer in (decimals + MORE, decimals + MORE + 2):
                last = _told(columns, formula, result, finer, decimals)
                if _agrees(last, 10 ** (finer - decimals)):
                    return last
    assert last is not None
    return last


def _told(columns: Sequence[Array], formula: Formula, result: float, finer: int, decimals: int) -> Sum:
    factors = tuple(Figures.of(column, finer) for column in columns)
    terms = np.asarray(formula(*(column.values() for column in factors)))
    return Sum(factors, Figures.of(terms, finer), shown(result, decimals))


def _agrees(told: Sum, scale: int) -> bool:
    """Whether the shown terms add up to what rounds to the shown result; terms without end add up to nothing."""
    added = told.terms.sum()
    return added == NOT_A_NUMBER or 2 * abs(whole(added) - whole(told.result) * scale) < scale


def put_in(
    formula: Callable[..., float], values: Sequence[float], result: float
) -> tuple[tuple[str, ...], str]:
    """The numbers put into a formula and what comes out, as texts that agree.

    >>> put_in(lambda a, b: a / b, [17.67216, 5.656854], 3.124027)
    (('17.672160', '5.656854'), '3.124')
    """
    finite = math.isfinite(result) and all(map(math.isfinite, values))
    texts, answer = tuple(shown(value, SIGNIFICANT + MORE) for value in values), shown(result, SIGNIFICANT)
    for decimals in range(places(result), -1, -1) if finite else ():
        for finer in range(decimals + MORE, decimals + MORE + 4):
            texts, answer = tuple(shown(value, finer) for value in values), shown(result, decimals)
            try:
                out = formula(*map(read, texts))
            except ZeroDivisionError:
                continue
            if abs(out - read(answer)) < 0.5 * 10**-decimals:
                return texts, answer
    return texts, answer
