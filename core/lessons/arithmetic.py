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
    In the alignment of a recurrent decoder a small network compares: `dots` is None and `scores` are those of the run.
    Local attention multiplies the weights by `gaussian`.
    """

    query: str
    keys: tuple[str, ...]
    d_head: int
    dots: Array | None
    scores: Array
    allowed: Array
    exps: Array
    total: float
    gaussian: Array | None
    weights: Array
    residue: float


def needed(run: Run, kind: str, layer: int) -> tuple[str, ...]:
    """The paths that `row_of` reads."""
    found = run.model.spec.kind(kind)
    leaves = ["scores", "allowed", "pattern"]
    if found.layered:
        leaves = ["q", "k", *leaves]
    elif getattr(run.model.config, "attention", "") == "luong-local-p":
        leaves.append("gaussian")
    return tuple(found.path(layer, leaf) for leaf in leaves)


def row_of(run: Run, kind: str, layer: int, head: int, query: int) -> Row:
    """The row of `query` (a token index) in one head; needs the paths of `needed` in the trace.

    scores = q k^T / sqrt(d_head); weights = softmax of the allowed scores (Vaswani et al. 2017, Eq. 1;
    Ghojogh and Ghodsi 2020, Eqs. (8) and (10)).
    """
    found = run.model.spec.kind(kind)
    row = {path.rpartition(".")[2]: run.trace[path][head] for path in needed(run, kind, layer)}
    keys = run.side if found.keys == "target" or run.source is None else run.source
    queries = run.side if found.queries == "target" or run.source is None else run.source
    recorded = row["scores"][query].astype(np.float64)
    dots = row["k"].astype(np.float64) @ row["q"][query].astype(np.float64) if "q" in row else None
    own = recorded if dots is None else dots / np.sqrt(row["q"].shape[-1])
    may = row["allowed"][query]
    largest = own[may].max() if may.any() else 0.0
    exps = np.where(may, np.exp(np.where(may, own - largest, 0.0)), 0.0)
    total = float(exps.sum())
    gaussian = row["gaussian"][query].astype(np.float64) if "gaussian" in row else None
    weights = (exps / total if total else exps) * (1.0 if gaussian is None else gaussian)
    residue = float(max(np.abs(weights - row["pattern"][query]).max(), np.abs(own - recorded).max()))
    return Row(queries.tokens[query], keys.tokens, run.model.config.d_head, dots, own, may, exps, total, gaussian, weights, residue)
