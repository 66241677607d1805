"""The arithmetic of one row of attention, from the tensors of a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.run import Run

Array = np.ndarray


@dataclass(frozen=True)
class Row:
    """One query's row in one head, by key (tokens): dot products, scores, exponentials, weights.

    `dots` = q . k, `scores` = q . k / sqrt(d_head), `exps` = e^(score - largest score) and 0 where forbidden,
    `total` their sum, `weights` = exps / total, which is the recorded pattern (checked by `residue`).
    """

    query: str
    keys: tuple[str, ...]
    d_head: int
    dots: Array
    scores: Array
    allowed: Array
    exps: Array
    total: float
    weights: Array
    residue: float


def row_of(run: Run, kind: str, layer: int, head: int, query: int) -> Row:
    """The row of `query` (a token index) in one head; needs `q k scores allowed pattern` of that layer in the trace.

    scores = q k^T / sqrt(d_head); weights = softmax of the allowed scores (Vaswani et al. 2017, Eq. 1;
    Ghojogh and Ghodsi 2020, Eqs. (8) and (10)).
    """
    found = run.model.spec.kind(kind)
    q, k, scores, allowed, pattern = (run.trace[found.path(layer, leaf)][head] for leaf in ("q", "k", "scores", "allowed", "pattern"))
    keys = run.side if found.keys == "target" or run.source is None else run.source
    queries = run.side if found.queries == "target" or run.source is None else run.source
    dots = k.astype(np.float64) @ q[query].astype(np.float64)
    own = dots / np.sqrt(q.shape[-1])
    may = allowed[query]
    largest = own[may].max() if may.any() else 0.0
    exps = np.where(may, np.exp(np.where(may, own - largest, 0.0)), 0.0)
    total = float(exps.sum())
    weights = exps / total if total else exps
    residue = float(max(np.abs(weights - pattern[query]).max(), np.abs(own - scores[query]).max()))
    return Row(queries.tokens[query], keys.tokens, q.shape[-1], dots, own, may, exps, total, weights, residue)
