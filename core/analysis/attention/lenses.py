"""Other values for a heatmap of one head than its weights: scores, and the length of each key's value vector."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.layers.score_terms import columns, compose, leaves
from core.run import Run, TokenSequence

if TYPE_CHECKING:
    from jaxtyping import Float


Array = np.ndarray


def has_scores(run: Run, kind: str, by: str = "token", *, writing: bool = False) -> bool:
    """Return whether `scores_and_norms` has values: not for recurrent alignments, nor by word where a word has several tokens."""
    queries, keys = _sides(run, kind)
    words = (queries.next_tokens() if writing else queries).words, keys.words
    single = by == "token" or all(len(word.pieces) == 1 for side in words for word in side)
    return run.model.spec.kind(kind).layered and single


def _sides(run: Run, kind: str) -> tuple[TokenSequence, TokenSequence]:
    """Return the tokens of the queries and those of the keys."""
    found = run.model.spec.kind(kind)
    return run.axis(found.queries), run.axis(found.keys)


def _cells(run: Run, kind: str, by: str, writing: bool) -> tuple[list[int], list[int]]:
    """Return the index of the token of each row and of each column."""
    queries, keys = _sides(run, kind)
    if by == "token":
        return list(range(len(queries.ids))), list(range(len(keys.ids)))
    words = (queries.next_tokens() if writing else queries).words, keys.words
    return [word.pieces[0] for word in words[0]], [word.pieces[0] for word in words[1]]


def scores_and_norms(
    run: Run, kind: str, layer: int, head: int, by: str = "token", *, writing: bool = False
) -> tuple[Float[Array, "query key"] | None, Float[Array, " key"] | None]:
    """Return the scores before mask and softmax, and ||v_j W_O||, the length of each key's value after W_O.

    The second times a weight is how long the vector is that the key adds to the residual stream (Kobayashi et al. 2020,
    Eq. 6). None for what the run did not record, for recurrent alignments, and by word where a word has several
    pieces: neither scores nor sizes add up over pieces.
    """
    if not has_scores(run, kind, by, writing=writing):
        return None, None
    found, (rows, columns) = run.model.spec.kind(kind), _cells(run, kind, by, writing)
    scores, values = (
        run.trace[path][head] if path in run.trace else None
        for path in (found.path(layer, leaf) for leaf in ("scores", "v"))
    )
    if values is not None:
        to_out, width = (
            found.module(run.model.network, layer).to_out.weight.detach().cpu().numpy(),
            values.shape[1],
        )
        values = np.linalg.norm(values @ to_out[:, head * width : (head + 1) * width].T, axis=1)[columns]
    return None if scores is None else scores[np.ix_(rows, columns)], values


def log_denominators(
    run: Run, kind: str, layer: int, head: int, by: str = "token", *, writing: bool = False
) -> Float[Array, " query"] | None:
    """Return ln of the softmax's denominator of each query: a score before the softmax is ln(weight) + this.

    Computed from queries and keys by the score terms of the layer. None where `scores_and_norms`
    has no scores, where the run did not record what they are made of, and where the weights are not the softmax of these
    scores (an edit).
    """
    found = run.model.spec.kind(kind)
    if not has_scores(run, kind, by, writing=writing):
        return None
    terms = found.terms(run.model.network, layer)
    read = {leaf: found.path(layer, leaf) for leaf in ("q", "k", *leaves(terms), "pattern")}
    if any(path not in run.trace for path in read.values()):
        return None
    parts = {leaf: run.trace[path][head] for leaf, path in read.items()}
    scores, pattern = compose(terms, parts["q"] @ parts["k"].T, parts), parts["pattern"]
    looked = np.where(pattern > 0, scores, -np.inf)
    looked = np.concatenate([looked, *(parts[term.leaf] for term in columns(terms))], axis=1)
    most = looked.max(1, keepdims=True)
    sums = most + np.log(np.exp(looked - most).sum(1, keepdims=True))
    if not np.allclose(np.exp(looked - sums)[:, : pattern.shape[1]], pattern, atol=1e-4):
        return None
    return sums[_cells(run, kind, by, writing)[0], 0]
