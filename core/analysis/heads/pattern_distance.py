"""Distances of two attention patterns over one text: the Jensen-Shannon divergence of their rows, and their correlation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.analysis.one_line import OneLine
from core.maths import cosine

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Real


Array = np.ndarray


def jensen_shannon(a: Float[Array, "*#batch key"], b: Float[Array, "*#batch key"]) -> Float[Array, "*batch"]:
    """Compute the Jensen-Shannon divergence of two rows, in bits: 0 for equal rows, 1 for rows that share no key.

    JSD = H((a + b) / 2) - (H(a) + H(b)) / 2 with the entropy H in bits (Lin 1991). Over the last axis.

    >>> jensen_shannon(np.array([1.0, 0.0]), np.array([0.0, 1.0])).item()
    1.0
    """
    return np.maximum(_bits((a + b) / 2) - (_bits(a) + _bits(b)) / 2, 0.0)


def _bits(p: Array) -> Array:
    p = np.asarray(p, dtype=np.float64)
    return -np.sum(p * np.log2(np.where(p > 0, p, 1.0)), axis=-1)


@dataclass(frozen=True, repr=False)
class PatternComparison(OneLine):
    """The measures by which two patterns are compared.

    `rows` are Jensen-Shannon divergences in bits, NaN in rows that one of them lacks, `bits` is their mean. `correlation` and
    `cosine` are over all cells that are compared, NaN where a pattern is the same everywhere, or zero. `largest` is the
    largest difference of a cell.
    """

    rows: Float[Array, " query"]
    bits: float
    correlation: float
    cosine: float
    largest: float


def compare_patterns(
    a: Real[Array, "query key"], b: Real[Array, "query key"], allowed: Bool[Array, "query key"] | None = None
) -> PatternComparison:
    """Compare two patterns over one text.

    `allowed` is where at least one of them may attend: other cells are left out, since a zero of a mask says nothing about
    a head. Rows without an allowed cell, or without weight in one of the two, are left out;
    a row that does not sum to 1 is divided by its sum for the divergence.

        correlation = cov(a, b) / (sd(a) sd(b))        cosine = sum a b / (|a| |b|)

    >>> found = compare_patterns(np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([[0.0, 1.0], [0.5, 0.5]]))
    >>> found.rows.tolist(), found.bits, found.largest
    ([1.0, 0.0], 0.5, 1.0)
    """
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if a.shape != b.shape:
        raise ValueError(
            f"patterns of shapes {a.shape} and {b.shape}; align them first (core.analysis.attention.align)"
        )
    cells = np.ones(a.shape, dtype=bool) if allowed is None else np.array(allowed, dtype=bool)
    a, b = np.where(cells, a, 0.0), np.where(cells, b, 0.0)
    sums = [pattern.sum(-1) for pattern in (a, b)]
    there = cells.any(-1) & (sums[0] > 0) & (sums[1] > 0)
    rows = np.full(len(a), np.nan)
    shares = [pattern[there] / total[there, None] for pattern, total in zip((a, b), sums, strict=True)]
    rows[there] = jensen_shannon(*shares)
    cells[~there] = False
    one, other = a[cells], b[cells]
    return PatternComparison(
        rows,
        float(rows[there].mean()) if there.any() else np.nan,
        cosine(one - one.mean(), other - other.mean()) if one.size else np.nan,
        cosine(one, other),
        float(np.abs(one - other).max()) if one.size else np.nan,
    )
