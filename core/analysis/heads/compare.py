"""Divergence of two attention patterns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Float


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
