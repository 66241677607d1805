"""Figures as they are shown: rounded so that what stands on the page adds up to what stands behind the equals sign.

A result has four significant digits, what is put in has three decimals more. A term is what its *shown* factors give,
and the sum of the *shown* terms rounds to the *shown* result: whoever checks a line with a pocket calculator finds it
right. Where rounding would break that (a result halfway between two), the terms get a decimal more, or the result one
less.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

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
    """What a shown number says.

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
    units = sum(map(whole, texts))
    digits = f"{abs(units):0{decimals + 1}d}"
    return ("−" if units < 0 else "") + (f"{digits[:-decimals]}.{digits[-decimals:]}" if decimals else digits)


def places(value: float) -> int:
    """How many decimals a result gets.

    >>> places(12.345678), places(0.8134), places(0.0), places(3e-5)
    (2, 4, 4, 8)
    """
    if not math.isfinite(value) or value == 0:
        return SIGNIFICANT
    return min(max(SIGNIFICANT - 1 - math.floor(math.log10(abs(value))), 1), MOST)


@dataclass(frozen=True)
class Sum:
    """Shown terms and their shown sum: `factors` one tuple a column, `terms` and `result` as texts."""

    factors: tuple[tuple[str, ...], ...]
    terms: tuple[str, ...]
    result: str


def added(columns: Sequence[Array], formula: Formula, result: float) -> Sum:
    """Terms `formula(*factors)` and their sum, shown so that each line of it is true as it stands.

    Each column holds one factor of every term; `result` is the number that the sum is known to be.

    >>> added([np.array([0.5, 0.25]), np.array([2.0, 3.0])], np.multiply, 1.75)
    Sum(factors=(('0.500000', '0.250000'), ('2.000000', '3.000000')), terms=('1.000000', '0.750000'), result='1.750')
    """
    lists = [np.asarray(column, dtype=np.float64).tolist() for column in columns]
    if not math.isfinite(result) or not all(math.isfinite(x) for column in lists for x in column):
        return _told(lists, formula, result, SIGNIFICANT + MORE, SIGNIFICANT)
    last = None
    for decimals in range(places(result), -1, -1):
        for finer in (decimals + MORE, decimals + MORE + 2):
            last = _told(lists, formula, result, finer, decimals)
            scale = 10 ** (finer - decimals)
            if 2 * abs(sum(map(whole, last.terms)) - whole(last.result) * scale) < scale:
                return last
    assert last is not None
    return last


def _told(lists: list[list[float]], formula: Formula, result: float, finer: int, decimals: int) -> Sum:
    factors = tuple(tuple(shown(value, finer) for value in column) for column in lists)
    with np.errstate(all="ignore"):
        values = np.asarray(formula(*(np.array([read(text) for text in column]) for column in factors)))
    return Sum(factors, tuple(shown(value, finer) for value in values.tolist()), shown(result, decimals))


def put_in(formula: Callable[..., float], values: Sequence[float], result: float) -> tuple[tuple[str, ...], str]:
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
