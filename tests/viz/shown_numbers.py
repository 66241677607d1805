"""The numbers of a text, and whether a table, arrays or settings hold them: as they are, rounded, in percent, or summed up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

NUMBER = re.compile(
    r"(?<![\w.,])([−-]?\d[\d,]*(?:\.\d*)?(?:e[-+]?\d+)?)(?:\s?·\s?10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))?(\s?%)?(?!\w)"
)
RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
FEW = 12
"""Numbers of an array up to which a sentence may state what two of them add up to, and by how much they differ."""


@dataclass(frozen=True)
class Shown:
    """A number as a text shows it: half a unit of its last digit is how far it may be from the true one."""

    text: str
    value: float
    half: float

    @property
    def measured(self) -> bool:
        """Return whether it has a fraction, a power of ten or a percent sign: a count has none."""
        return bool(re.search(r"\.\d|[·e%]", self.text))


def numbers(text: str) -> Iterator[Shown]:
    """Yield the numbers of a text.

    >>> [(round(each.value, 9), each.measured) for each in numbers("−1,280.5 of 3 tokens, 2 · 10⁻³, 94%.")]
    [(-1280.5, True), (3.0, False), (0.002, True), (0.94, True)]
    """
    for match in NUMBER.finditer(text):
        plain, raised, percent = match.groups()
        mantissa, _, power = plain.replace(",", "").replace("−", "-").rstrip(".").partition("e")
        if mantissa.strip("-"):
            unit = 10.0 ** (int(power or 0) + int((raised or "0").translate(RAISED))) * (
                0.01 if percent else 1
            )
            digits = len(mantissa.partition(".")[2])
            yield Shown(match[0], float(mantissa) * unit, 0.51 * 10.0**-digits * unit)


def collect_numbers(
    table: pd.DataFrame, arrays: Iterable[np.ndarray], settings: Iterable[object]
) -> np.ndarray:
    """Return all numbers of a table, of arrays and of settings, and what a sentence may say of them: sums, means, the rest to 1."""
    words = [*map(str, table.columns), *map(str, table.index), *map(str, settings)]
    parts = [np.array([each.value for word in words for each in numbers(word)])]
    columns = [table.iloc[:, place] for place in range(table.shape[1])]
    for values in (
        *(column.to_numpy() for column in columns),
        table.select_dtypes("number").to_numpy(),
        *arrays,
    ):
        if values.dtype.kind in "biuf":
            parts.append(values.astype(float))
        else:
            parts.append(
                np.array([each.value for word in map(str, values.ravel()) for each in numbers(word)])
            )
    found = []
    for values in (part for part in parts if part.size):
        flat = values.ravel()
        found += [flat, 1 - flat]
        for axis in (None, *range(values.ndim)):
            total = np.nansum(values, axis)
            found += [np.ravel(total), np.ravel(total / np.maximum(1, np.isfinite(values).sum(axis)))]
        if flat.size <= FEW:
            with np.errstate(divide="ignore", invalid="ignore"):
                found += [np.ravel(pairs.outer(flat, flat)) for pairs in (np.add, np.subtract, np.divide)]
    every = np.concatenate(found)
    return every[np.isfinite(every)]


def holds(known: np.ndarray, number: Shown) -> bool:
    """Return whether a number, whatever its sign, is one of those known, or a hundredth of it.

    >>> known = collect_numbers(pd.DataFrame({"share": [0.25, 0.4]}), [], [])
    >>> [holds(known, each) for each in numbers("25%, 0.65, 0.15, 60%; 0.30, 31%")]
    [True, True, True, True, False, False]
    """
    return bool((np.abs(np.abs(known) * np.array([[1], [0.01]]) - abs(number.value)) <= number.half).any())
