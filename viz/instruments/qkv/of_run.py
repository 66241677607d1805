"""The sequence of one row of attention in a run, for the page and for notebooks."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.analysis.arithmetic.cell import attention_row
from core.errors import InputError
from core.layers.score_terms import in_short, steps
from core.run import Run
from viz.instruments.kit.picture import CROSSING, lines, shown_attention
from viz.instruments.qkv.qkv import QkvSequence
from viz.labels import bare_token


def has_queries_and_keys(run: Run, kind: str) -> bool:
    """Return whether this attention compares queries with keys by a product (a recurrent aligner or a learned query does not)."""
    return run.model.spec.kind(kind).layered


def sequence_of(run: Run, kind: str, layer: int, head: int, query: int, **options: Any) -> QkvSequence:
    """Return the sequence of a query (a token's index) in one head; `options` as of `QkvSequence`.

    Raises InputError for an attention without queries and keys.
    """
    if not has_queries_and_keys(run, kind):
        raise InputError(
            f"The {kind} attention of {run.model.name} has no queries and keys.",
            "The sequence shows attention by products of queries and keys.",
            "Choose a Transformer, such as translator-en-es or gpt-mini.",
        )
    row, found = attention_row(run, kind, layer, head, query), run.model.spec.kind(kind)
    q, k, v = (run.trace[found.path(layer, leaf)][head] for leaf in "qkv")
    allowed = np.flatnonzero(row.allowed)
    writing = kind in CROSSING
    return QkvSequence(
        bare_token(shown_attention(run, kind, "token").queries[query] if writing else row.query),
        [bare_token(row.keys[position]) for position in allowed],
        q=q[query],
        k=k[allowed],
        v=v[allowed],
        scores=row.scores[allowed],
        weights=row.weights[allowed],
        width=run.model.config.d_model,
        formula=in_short(row.terms),
        steps=[term.title for term in steps(row.terms)[1:]],
        sunk=row.sink_weight,
        writing=writing,
        python=lines(run, "qkv", layer=layer, head=head, query=query, kind=kind),
        **options,
    )
