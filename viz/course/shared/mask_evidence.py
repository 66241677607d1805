"""Printed claims of the sources about masks, and the recomputed numbers that contradict them.

The entries of `viz.course.errata` on masks are made from these.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from core import masks
from core.layers.attention import masked_softmax
from core.maths import max_difference, softmax

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Toy:
    """Random example of four words in the notation of Ghojogh: columns are words. d = 6, n = 4, p = 3, r = 5."""

    q: Array
    k: Array
    v: Array

    @property
    def scores(self) -> Array:
        """Return Q^T K / sqrt(p), row i the query of word i (query key)."""
        return self.q.T @ self.k / math.sqrt(len(self.q))

    def reference(self) -> Array:
        """Compute torch's scaled_dot_product_attention(is_causal=True), in columns again (r, word)."""
        q, k, v = (torch.from_numpy(np.ascontiguousarray(m.T))[None] for m in (self.q, self.k, self.v))
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)[0].numpy().T


def toy(seed: int = 0) -> Toy:
    """Sample the example: X (6, 4), W_Q and W_K (6, 3), W_V (6, 5) standard normal, in this order."""
    draw = np.random.default_rng(seed).standard_normal
    x, w_q, w_k, w_v = draw((6, 4)), draw((6, 3)), draw((6, 3)), draw((6, 5))
    return Toy(w_q.T @ x, w_k.T @ x, w_v.T @ x)


@dataclass(frozen=True)
class Printed:
    """Eq. (28) of Ghojogh and Ghodsi 2020 as printed, V softmax(.) without the transpose, against the right order.

    `weights` is the masked pattern (query key). As printed, word j is built from column j: `first` is what reaches the
    first word from each word, `last_own_weight` the weight of the last word on itself. `by_column` is `first` if softmax
    ran over columns instead. The gaps are the largest differences from torch's causal attention.
    """

    weights: Array
    first: Array
    last_own_weight: float
    by_column: Array
    gap_printed: float
    gap_right: float


def printed_order(data: Toy | None = None) -> Printed:
    """Compute the product as printed and with the transpose (erratum E2).

    >>> printed_order().first.round(3).tolist()
    [1.0, 0.899, 0.082, 0.005]
    """
    data = toy() if data is None else data
    scores = np.where(masks.causal(data.q.shape[1]).numpy(), data.scores, -math.inf)
    weights, reference = softmax(scores), data.reference()
    return Printed(
        weights=weights,
        first=weights[:, 0],
        last_own_weight=float(weights[-1, -1]),
        by_column=softmax(scores.T).T[:, 0],
        gap_printed=max_difference(data.v @ weights, reference),
        gap_right=max_difference(data.v @ weights.T, reference),
    )


def strict_first_row(n: int = 4, seed: int = 0) -> tuple[Array, Array]:
    """Return the first row of softmax under the strict mask: with -inf filled in (NaN), and with our `masked_softmax` (zeros).

    >>> [row.tolist() for row in strict_first_row(2)]
    [[nan, nan], [0.0, 0.0]]
    """
    scores = np.random.default_rng(seed).standard_normal((n, n))
    allowed = masks.strict(n)
    elsewhere = softmax(np.where(allowed.numpy(), scores, -math.inf))
    ours = masked_softmax(torch.from_numpy(scores), allowed).numpy()
    return elsewhere[0], ours[0]


def padded_source(seed: int = 0) -> tuple[float, float]:
    """Measure how much 4 target words change when 2 of 6 source positions, the padded ones, get other content.

    Returns the largest change of the output without and with the padding mask.

    >>> [round(change, 3) for change in padded_source()]
    [0.58, 0.0]
    """
    draw = np.random.default_rng(seed).standard_normal
    q, k, v, other_k, other_v = (torch.from_numpy(draw((n, 3))) for n in (4, 6, 6, 6, 6))
    real = torch.arange(6)[None] < 4

    def output(content_k: torch.Tensor, content_v: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
        keys, values = (torch.where(real[0][:, None], a, b) for a, b in ((k, content_k), (v, content_v)))
        return masked_softmax(q @ keys.T / math.sqrt(3), allowed) @ values

    without, with_mask = (
        (output(k, v, mask) - output(other_k, other_v, mask)).abs().max().item()
        for mask in (masks.full(4, 6), masks.not_padding(real)[0, 0])
    )
    return without, with_mask


def prefix_gap(n: int = 4, seed: int = 0) -> float:
    """Return the largest difference in weights between the prefix form (softmax over the first i scores) and the mask form."""
    scores = np.random.default_rng(seed).standard_normal((n, n))
    masked = masked_softmax(torch.from_numpy(scores), masks.causal(n)).numpy()
    return max(max_difference(masked[i, : i + 1], softmax(scores[i, : i + 1])) for i in range(n))
