"""Errata on self-attention as printed: a missing transpose, sizes that do not fit, indices that are one too few.

All draws follow Ghojogh's notation, columns are words: X (6, 4), W_Q and W_K (6, 3), W_V (6, 5).
"""

from __future__ import annotations

import math

import numpy as np
import torch
import torch.nn.functional as F

from core import masks
from viz.course.errata._draws import gap, normal
from viz.course.errata.entry import Array, Evidence, Panel, erratum
from viz.course.shared.mask_evidence import printed_order, toy
from viz.course.shared.masks import filled, softmax
from viz.number_text import in_brackets, number, small_difference

WORDS = ("word 1", "word 2", "word 3", "word 4")


def _summed(title: str, weights: Array) -> Panel:
    """Return a panel of the weights: column i is the total that reaches word i, with its sum below."""
    names = (f"{word}\nsum {total:.2f}" for word, total in zip(WORDS, weights.sum(0), strict=True))
    return Panel(title, weights, (f"from {word}" for word in WORDS), names, "weights")


def attention(q: Array, k: Array, v: Array) -> Array:
    """Compute torch's scaled_dot_product_attention, words in columns: q, k (p, n), v (r, n) -> (r, n)."""
    query, key, value = (torch.from_numpy(np.ascontiguousarray(m.T))[None] for m in (q, k, v))
    return F.scaled_dot_product_attention(query, key, value)[0].numpy().T


@erratum("E1")
def transpose() -> Evidence:
    data = toy()
    weights, right = softmax(data.scores), attention(data.q, data.k, data.v)
    by_column = data.v @ softmax(data.scores.T).T
    numbers = {
        "printed": gap(data.v @ weights, right),
        "right": gap(data.v @ weights.T, right),
        "columns": gap(by_column, right),
        "exchanged": gap(by_column, attention(data.k, data.q, data.v)),
    } | {f"sum_{i}": float(total) for i, total in enumerate(weights.sum(0), start=1)}
    p, n = data.q.shape
    sentence = (
        f"{n} words drawn once (p = {p}, r = {len(data.v)}): as printed the result is {numbers['printed']:.2f} away from "
        f"torch's attention, with the transpose {small_difference(numbers['right'])}. As printed the weights that reach the {n} words "
        f"sum to {in_brackets(weights.sum(0), 3)}. With softmax over columns the result is {numbers['columns']:.2f} away, and "
        f"{small_difference(numbers['exchanged'])} from attention in which queries and keys have changed places."
    )
    return Evidence(
        numbers,
        sentence,
        (
            _summed("As printed: what reaches each word", weights),
            _summed("Right: the transpose", weights.T),
        ),
    )


@erratum("E2")
def looks_ahead() -> Evidence:
    data = toy()
    found = printed_order(data)
    p = 64
    wide = np.random.default_rng(0).standard_normal((2, p, 4))
    scores, causal, fill = wide[0].T @ wide[1] / math.sqrt(p), masks.causal(4).numpy(), -10.0
    inside, outside = (filled(scores, causal, fill, p=p, inside=where).worst[1] for where in (True, False))
    numbers = {
        "printed": found.gap_printed,
        "right": found.gap_right,
        "own": found.last_own_weight,
        "inside": inside,
        "outside": outside,
    } | {f"first_{i}": float(w) for i, w in enumerate(found.first, start=1)}
    n = len(found.first)
    sentence = (
        f"With the transpose {small_difference(found.gap_right)} from torch's is_causal=True, as printed {found.gap_printed:.2f}. As "
        f"printed the first of {n} words is made of all {n} with weights {in_brackets(found.first, 3)}: it sees the future, "
        f"and the last word keeps only {found.last_own_weight:.3f} of itself. Softmax over columns is no cure: {in_brackets(found.by_column, 3)}. "
        f"M under the 1/√p is harmless for −∞; {number(fill, 0, grouped=True)} with p = {p} leaks {inside:.3f} there, {small_difference(outside)} beside it."
    )
    return Evidence(
        numbers,
        sentence,
        (
            _summed("As printed: what reaches each word", found.weights),
            _summed("Right: the transpose", found.weights.T),
        ),
    )


@erratum("E5")
def convention() -> Evidence:
    data = toy()
    q, k, v = data.q, data.k, data.v[: len(data.q)]
    printed = softmax(q @ k.T / math.sqrt(len(q)))
    other = list(reversed(range(q.shape[1])))
    moved = gap(softmax(q[:, other] @ k[:, other].T / math.sqrt(len(q))), printed)
    found, right = printed @ v, attention(q, k, v)
    numbers = {
        "rows": float(printed.shape[0]),
        "columns": float(printed.shape[1]),
        "words": float(q.shape[1]),
        "d_k": float(len(q)),
        "gap": gap(found, right),
        "order": moved,
    }
    sentence = (
        f"With d_k = {len(q)} and {q.shape[1]} words Q is {q.shape[0]} × {q.shape[1]}, so QKᵀ is "
        f"{printed.shape[0]} × {printed.shape[1]}, a weight for every pair of features, not {q.shape[1]} × {q.shape[1]}. "
        f"The result is {numbers['gap']:.2f} away from attention. Writing the words in reverse order changes these weights "
        f"by {small_difference(moved)}: they do not depend on which word is which."
    )
    features = tuple(f"feature {i + 1}" for i in range(len(q)))
    return Evidence(
        numbers,
        sentence,
        (
            Panel("As printed: features attend to features", printed, features, features, "weights"),
            Panel("Right: words attend to words", softmax(data.scores), WORDS, WORDS, "weights"),
        ),
    )


@erratum("E7")
def sizes_exchanged() -> Evidence:
    data = toy()
    p, r = len(data.q), len(data.v)
    stopped = _stops(data.q, data.v)
    numbers = {
        "p": float(p),
        "r": float(r),
        "printed_stops": float(stopped),
        "right_stops": float(_stops(data.q, data.k)),
    }
    sentence = (
        f"With p = {p} and r = {r}, a key of the printed size: QᵀK {'stops with an error' if stopped else 'runs'}, {p} "
        f"numbers cannot be multiplied with {r}. With a key of size p it {'stops' if numbers['right_stops'] else 'runs'}."
    )
    return Evidence(numbers, sentence)


def _stops(q: Array, k: Array) -> bool:
    try:
        np.matmul(q.T, k)
    except ValueError:
        return True
    return False


@erratum("E13")
def one_index() -> Evidence:
    scores = toy().scores
    printed = np.where(np.eye(len(scores), dtype=bool), scores, np.nan)
    count, total = int(np.isfinite(printed).sum()), scores.size
    numbers = {"printed": float(count), "right": float(total)}
    sentence = f"For {len(scores)} words one index names {count} of the {total} scores, the diagonal."
    return Evidence(
        numbers,
        sentence,
        (
            Panel("The scores that one index names", printed, WORDS, WORDS, "table", 2),
            Panel("All scores", scores, WORDS, WORDS, "table", 2),
        ),
    )


@erratum("E14")
def like_a_kernel() -> Evidence:
    w_q, w_k = normal(2, 6, 6)
    positive = w_k.T @ w_k
    matrices = {"W_Q W_Kᵀ": w_q @ w_k.T, "W_K := W_Q": w_q @ w_q.T, "W_K := W_Q S": w_q @ (w_q @ positive).T}
    asymmetry = [gap(m, m.T) for m in matrices.values()]
    eigenvalues = [np.linalg.eigvalsh((m + m.T) / 2) for m in matrices.values()]
    numbers = {
        "asymmetry": asymmetry[0],
        "asymmetry_equal": asymmetry[1],
        "least": float(eigenvalues[0].min()),
        "least_equal": float(eigenvalues[1].min()),
        "asymmetry_positive": asymmetry[2],
        "least_positive": float(eigenvalues[2].min()),
    }
    negative = int((eigenvalues[0] < 0).sum())
    sentence = (
        f"Weights drawn once: two cells that mirror each other differ by up to {asymmetry[0]:.1f}, and {negative} of "
        f"{len(w_q)} eigenvalues of the symmetric part are negative, the least {number(eigenvalues[0].min(), 1, grouped=True)}. With W_K "
        f"equal to W_Q they differ by {small_difference(asymmetry[1])} and the least eigenvalue is {number(eigenvalues[1].min(), 2, grouped=True)}: a "
        f"kernel. With W_K equal to W_Q S, S drawn symmetric and positive, by {small_difference(asymmetry[2])}, and the least is {number(eigenvalues[2].min(), 2, grouped=True)}: a kernel too."
    )
    names = tuple(f"eigenvalue {i + 1}" for i in range(len(w_q)))
    return Evidence(
        numbers, sentence, (Panel("Eigenvalues", np.array(eigenvalues).T, names, matrices, "bars", 2),)
    )
