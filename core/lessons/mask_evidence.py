"""What the documents print about masks, and the numbers that show where they slip, recomputed from fixed draws.

Numbers of the errata (E2, E17, ..) are those of the course's list.
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
from core.lessons.masks import filled, softmax
from core.lessons.position_evidence import Erratum

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Toy:
    """Four words in the notation of Ghojogh: columns are words. d = 6, n = 4, p = 3, r = 5, all entries drawn."""

    q: Array
    k: Array
    v: Array

    @property
    def scores(self) -> Array:
        """Q^T K / sqrt(p), row i the query of word i (query key)."""
        return self.q.T @ self.k / math.sqrt(len(self.q))

    def reference(self) -> Array:
        """torch's scaled_dot_product_attention(is_causal=True), in columns again (r, word)."""
        q, k, v = (torch.from_numpy(np.ascontiguousarray(m.T))[None] for m in (self.q, self.k, self.v))
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)[0].numpy().T


def toy(seed: int = 0) -> Toy:
    """The draw behind the evidence: X (6, 4), W_Q and W_K (6, 3), W_V (6, 5) standard normal, in this order."""
    draw = np.random.default_rng(seed).standard_normal
    x, w_q, w_k, w_v = draw((6, 4)), draw((6, 3)), draw((6, 3)), draw((6, 5))
    return Toy(w_q.T @ x, w_k.T @ x, w_v.T @ x)


@dataclass(frozen=True)
class Printed:
    """Eq. (28) of Ghojogh and Ghodsi 2020 as printed, V softmax(.) without the transpose, against the right order.

    `weights` is the masked pattern (query key). As printed, word j is built from column j: `first` is what reaches the
    first word from each word, `own` what the last word keeps of itself. `by_column` is `first` if softmax
    ran over columns instead. The gaps are the largest differences from torch's causal attention.
    """

    weights: Array
    first: Array
    own: float
    by_column: Array
    gap_printed: float
    gap_right: float


def printed_order(data: Toy | None = None) -> Printed:
    """The product as printed and with the transpose (E2).

    >>> printed_order().first.round(3).tolist()
    [1.0, 0.899, 0.082, 0.005]
    """
    data = toy() if data is None else data
    scores = np.where(masks.causal(data.q.shape[1]).numpy(), data.scores, -math.inf)
    weights, reference = softmax(scores), data.reference()
    return Printed(
        weights=weights,
        first=weights[:, 0],
        own=float(weights[-1, -1]),
        by_column=softmax(scores.T).T[:, 0],
        gap_printed=float(np.abs(data.v @ weights - reference).max()),
        gap_right=float(np.abs(data.v @ weights.T - reference).max()),
    )


def looks_ahead() -> Erratum:
    """E2: the order printed shows the future."""
    found = printed_order()
    wide = np.random.default_rng(0).standard_normal((2, 64, 4))
    scores, causal = wide[0].T @ wide[1] / math.sqrt(64), masks.causal(4).numpy()
    inside, outside = (filled(scores, causal, -10, p=64, inside=where).worst[1] for where in (True, False))
    shown = ", ".join(f"{w:.3f}" for w in found.first)
    column = ", ".join(f"{w:.3f}" for w in found.by_column)
    return Erratum(
        "E2",
        "Ghojogh 2023, Eq. (27), and Ghojogh and Ghodsi 2020, Eq. (28), write V softmax((QᵀK + M) / √p) "
        "with M = −∞ for j > i.",
        "V softmax(·)ᵀ: the mask is right for rows that are queries, so the rows must become columns before V "
        "multiplies from the left.",
        f"Four words drawn once (d = 6, p = 3, r = 5): with the transpose {found.gap_right:.1e} from torch's "
        f"is_causal=True, as printed {found.gap_printed:.2f}. As printed the first word is made of the words 1 to 4 with "
        f"weights ({shown}): it sees the future; the last word gets only {found.own:.3f} of itself. Softmax over "
        f"columns is no cure: ({column}). And M stands under the 1/√p: harmless for −∞, but −10 with p = 64 "
        f"leaks {inside:.3f} there and {outside:.0e} beside it (four words, entries drawn once).",
    )


def strict_first_row(n: int = 4, seed: int = 0) -> tuple[Array, Array]:
    """The first row of softmax under the strict mask: with -inf filled in (NaN), and in this house (zeros).

    >>> [row.tolist() for row in strict_first_row(2)]
    [[nan, nan], [0.0, 0.0]]
    """
    scores = np.random.default_rng(seed).standard_normal((n, n))
    allowed = masks.strict(n)
    elsewhere = softmax(np.where(allowed.numpy(), scores, -math.inf))
    ours = masked_softmax(torch.from_numpy(scores), allowed).numpy()
    return elsewhere[0], ours[0]


def leaves_itself_out() -> Erratum:
    """E17: the examples have j < i, the equation j <= i."""
    elsewhere, ours = strict_first_row()
    return Erratum(
        "E17",
        "The example “I am a student” weighs I, am and a (0.7, 0.2, 0.1) and leaves the word itself out; Eq. (16) and "
        "the mask j <= i include it.",
        "Both are possible; models include the word itself. The pill “strict” above leaves it out.",
        f"Without the word itself nothing is left for the first word: softmax of a row of −∞ is "
        f"{'NaN' if np.isnan(elsewhere).all() else elsewhere.tolist()}, and here, by decision, {ours[0]:.0f} everywhere.",
    )


def padded_source(seed: int = 0) -> tuple[float, float]:
    """How far 4 target words move when 2 of 6 source positions, the padded ones, get other content.

    Returns the largest change of the output without and with the padding mask.

    >>> padded_source()[1]
    0.0
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


def masks_the_source() -> Erratum:
    """E32: which padding cross-attention hides."""
    without, with_mask = padded_source()
    return Erratum(
        "E32",
        "Beigy 2021 and 2024: in encoder-decoder attention “the Masking masks out the Padding words in the target "
        "sequence”.",
        "Its keys are source words, so the padding of the source is masked; padding of the target is left out of the "
        "loss.",
        f"4 target words, 6 source positions of which 2 are padding: other content there moves the output by "
        f"{without:.3f} without a mask over the source, {with_mask:.1f} with it. A mask over keys has 6 entries, one a "
        f"source position, not 4.",
    )


def prefix_gap(n: int = 4, seed: int = 0) -> float:
    """Largest difference of the prefix form (a softmax over the first i scores) and the mask form, in weights."""
    scores = np.random.default_rng(seed).standard_normal((n, n))
    masked = masked_softmax(torch.from_numpy(scores), masks.causal(n)).numpy()
    return max(float(np.abs(masked[i, : i + 1] - softmax(scores[i, : i + 1])).max()) for i in range(n))


def strictly_above() -> Erratum:
    """E48: the diagonal stays."""
    elsewhere, _ = strict_first_row()
    return Erratum(
        "E48",
        "lifei.tech 2022: “the elements in the upper-triangular portion of the comparisons matrix are set to −∞”.",
        "Only those strictly above the diagonal: a word may look at itself, as the sum up to i on the same page does.",
        f"With the diagonal the first row is {'NaN' if np.isnan(elsewhere).all() else elsewhere.tolist()}. Without it "
        f"the sums over j <= i and the mask agree to {prefix_gap():.0e}.",
    )


def errata() -> tuple[Erratum, ...]:
    """All four, in the order of the course's list."""
    return (looks_ahead(), leaves_itself_out(), masks_the_source(), strictly_above())
