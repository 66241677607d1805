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
from viz.languages import _
from viz.number_text import in_brackets, number, small_difference

N_WORDS = 4


def _words() -> tuple[str, ...]:
    return tuple(_("word {i}", i=i + 1) for i in range(N_WORDS))


def _summed(title: str, weights: Array) -> Panel:
    """Return a panel of the weights: column i is the total that reaches word i, with its sum below."""
    names = (
        _("{word}\nsum {total:.2f}", word=word, total=total)
        for word, total in zip(_words(), weights.sum(0), strict=True)
    )
    return Panel(title, weights, (_("from {word}", word=word) for word in _words()), names, "weights")


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
    sentence = _(
        "{n} words drawn once (p = {p}, r = {n_v}): as printed the result is {printed:.2f} away from torch's attention, with the transpose {right}. As printed the weights that reach the {n} words sum to {sums}. With softmax over columns the result is {columns:.2f} away, and {exchanged} from attention in which queries and keys have changed places.",
        n=n,
        p=p,
        n_v=len(data.v),
        printed=numbers["printed"],
        right=small_difference(numbers["right"]),
        sums=in_brackets(weights.sum(0), 3),
        columns=numbers["columns"],
        exchanged=small_difference(numbers["exchanged"]),
    )
    return Evidence(
        numbers,
        sentence,
        (
            _summed(_("As printed: what reaches each word"), weights),
            _summed(_("Right: the transpose"), weights.T),
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
    sentence = _(
        "With the transpose {gap_right} from torch's is_causal=True, as printed {gap_printed:.2f}. As printed the first of {n} words is made of all {n} with weights {first}: it sees the future, and the last word keeps only {last_own_weight:.3f} of itself. Softmax over columns is no cure: {by_column}. M under the 1/√p is harmless for −∞; {fill} with p = {p} leaks {inside:.3f} there, {outside} beside it.",
        gap_right=small_difference(found.gap_right),
        gap_printed=found.gap_printed,
        n=n,
        first=in_brackets(found.first, 3),
        last_own_weight=found.last_own_weight,
        by_column=in_brackets(found.by_column, 3),
        fill=number(fill, 0, grouped=True),
        p=p,
        inside=inside,
        outside=small_difference(outside),
    )
    return Evidence(
        numbers,
        sentence,
        (
            _summed(_("As printed: what reaches each word"), found.weights),
            _summed(_("Right: the transpose"), found.weights.T),
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
    sentence = _(
        "With d_k = {rows} and {columns} words Q is {rows} × {columns}, so QKᵀ is {printed_rows} × {printed_columns}, a weight for every pair of features, not {columns} × {columns}. The result is {gap:.2f} away from attention. Writing the words in reverse order changes these weights by {moved}: they do not depend on which word is which.",
        rows=len(q),
        columns=q.shape[1],
        printed_rows=printed.shape[0],
        printed_columns=printed.shape[1],
        gap=numbers["gap"],
        moved=small_difference(moved),
    )
    features = tuple(_("feature {i}", i=i + 1) for i in range(len(q)))
    return Evidence(
        numbers,
        sentence,
        (
            Panel(_("As printed: features attend to features"), printed, features, features, "weights"),
            Panel(_("Right: words attend to words"), softmax(data.scores), _words(), _words(), "weights"),
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
    sentence = _(
        "With p = {p} and r = {r}, a key of the printed size: QᵀK {printed}, {p} numbers cannot be multiplied with {r}. With a key of size p it {right}.",
        p=p,
        r=r,
        printed=_("stops with an error") if stopped else _("runs"),
        right=_("stops") if numbers["right_stops"] else _("runs"),
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
    sentence = _(
        "For {n} words one index names {count} of the {total} scores, the diagonal.",
        n=len(scores),
        count=count,
        total=total,
    )
    return Evidence(
        numbers,
        sentence,
        (
            Panel(_("The scores that one index names"), printed, _words(), _words(), "table", 2),
            Panel(_("All scores"), scores, _words(), _words(), "table", 2),
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
    sentence = _(
        "Weights drawn once: two cells that mirror each other differ by up to {apart:.1f}, and {negative} of {size} eigenvalues of the symmetric part are negative, the least {least}. With W_K equal to W_Q they differ by {apart_equal} and the least eigenvalue is {least_equal}: a kernel. With W_K equal to W_Q S, S drawn symmetric and positive, by {apart_positive}, and the least is {least_positive}: a kernel too.",
        apart=asymmetry[0],
        negative=negative,
        size=len(w_q),
        least=number(eigenvalues[0].min(), 1, grouped=True),
        apart_equal=small_difference(asymmetry[1]),
        least_equal=number(eigenvalues[1].min(), 2, grouped=True),
        apart_positive=small_difference(asymmetry[2]),
        least_positive=number(eigenvalues[2].min(), 2, grouped=True),
    )
    names = tuple(_("eigenvalue {i}", i=i + 1) for i in range(len(w_q)))
    return Evidence(
        numbers, sentence, (Panel(_("Eigenvalues"), np.array(eigenvalues).T, names, matrices, "bars", 2),)
    )
