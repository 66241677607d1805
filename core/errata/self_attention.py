"""Self-attention as printed: a transpose that is missing, sizes that do not fit, indices that are one too few.

All draws follow Ghojogh's notation, columns are words: X (6, 4), W_Q and W_K (6, 3), W_V (6, 5).
"""

from __future__ import annotations

import math

import numpy as np
import torch
import torch.nn.functional as F

from core import masks
from core.errata.entry import Array, Evidence, Panel, Where, erratum, listed, shown, tiny
from core.lessons.mask_evidence import printed_order, toy
from core.lessons.masks import filled, softmax

WORDS = ("word 1", "word 2", "word 3", "word 4")


def attention(q: Array, k: Array, v: Array) -> Array:
    """torch's scaled_dot_product_attention, words in columns: q, k (p, n), v (r, n) -> (r, n)."""
    rows = (torch.from_numpy(np.ascontiguousarray(m.T))[None] for m in (q, k, v))
    return F.scaled_dot_product_attention(*rows)[0].numpy().T


def _gap(one: Array, other: Array) -> float:
    return float(np.abs(one - other).max())



@erratum(
    "E1", "W", "Z = V softmax(QᵀK / √p) lacks a transpose: the weights that reach a word do not sum to 1.",
    (Where("ghojogh2023", "attention formulation", "Eq. (16)"), Where("ghojogh2020", "2.4.3", "Eq. (16)"),
     Where("beigy2021", "self-attention, matrices"), Where("beigy2024", "transformers", "first formula")),
    says="Z = V softmax(QᵀK / √p), the softmax taken over every row, then V times it.",
    right="Z = V softmax(QᵀK / √p)ᵀ: rows sum to 1, so they must become columns before V multiplies from the left.",
    note="Softmax over the columns is no cure: it exchanges queries and keys.",
)  # fmt: skip
def transpose() -> Evidence:
    data = toy()
    weights, right = softmax(data.scores), attention(data.q, data.k, data.v)
    by_column = data.v @ softmax(data.scores.T).T
    numbers = {
        "printed": _gap(data.v @ weights, right),
        "right": _gap(data.v @ weights.T, right),
        "columns": _gap(by_column, right),
        "exchanged": _gap(by_column, attention(data.k, data.q, data.v)),
    } | {f"sum_{i}": float(total) for i, total in enumerate(weights.sum(0), start=1)}
    p, n = data.q.shape
    sentence = (
        f"{n} words drawn once (p = {p}, r = {len(data.v)}): as printed the result is {numbers['printed']:.2f} away from "
        f"torch's attention, with the transpose {tiny(numbers['right'])}. As printed the weights that reach the {n} words "
        f"sum to {listed(weights.sum(0))}. With softmax over columns the result is {numbers['columns']:.2f} away, and "
        f"{tiny(numbers['exchanged'])} from attention in which queries and keys have changed places."
    )
    return Evidence(numbers, sentence, (
        Panel("As printed: what reaches a word (its column)", weights, WORDS, WORDS, "weights"),
        Panel("Right: the transpose, each column sums to 1", weights.T, WORDS, WORDS, "weights"),
    ))  # fmt: skip


@erratum(
    "E2", "W", "The same slip makes the causal mask look forward.",
    (Where("ghojogh2023", "decoder, masked attention", "Eqs. (27), (28)"), Where("ghojogh2020", "3.3.1", "Eqs. (28), (29)")),
    says="Zₘ = V softmax((QᵀK + M) / √p) with M(i, j) = −∞ for j > i.",
    right="V softmax(·)ᵀ: the mask is right for rows that are queries, so the rows must become columns. And M belongs "
          "beside the division, not under it.",
    note="The printed order shows the future to the first word.",
)  # fmt: skip
def looks_ahead() -> Evidence:
    data = toy()
    found = printed_order(data)
    p = 64
    wide = np.random.default_rng(0).standard_normal((2, p, 4))
    scores, causal, fill = wide[0].T @ wide[1] / math.sqrt(p), masks.causal(4).numpy(), -10.0
    inside, outside = (filled(scores, causal, fill, p=p, inside=where).worst[1] for where in (True, False))
    numbers = {
        "printed": found.gap_printed, "right": found.gap_right, "own": found.own, "inside": inside, "outside": outside,
    } | {f"first_{i}": float(w) for i, w in enumerate(found.first, start=1)}  # fmt: skip
    n = len(found.first)
    sentence = (
        f"With the transpose {tiny(found.gap_right)} from torch's is_causal=True, as printed {found.gap_printed:.2f}. As "
        f"printed the first of {n} words is made of all {n} with weights {listed(found.first)}: it sees the future, "
        f"and the last word keeps only {found.own:.3f} of itself. Softmax over columns is no cure: {listed(found.by_column)}. "
        f"M under the 1/√p is harmless for −∞; {shown(fill, 0)} with p = {p} leaks {inside:.3f} there, {tiny(outside)} beside it."
    )
    return Evidence(numbers, sentence, (
        Panel("As printed: what reaches a word (its column)", found.weights, WORDS, WORDS, "weights"),
        Panel("Right: the transpose", found.weights.T, WORDS, WORDS, "weights"),
    ))  # fmt: skip
