"""Measures of attention patterns: pure functions of weights.

Each measure is one number per head, most of them in [0, 1]: the mean over the rows it applies to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from core.data.texts import Links

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


Array = np.ndarray

CHUNK_SIZE = 2**20
"""Numbers above which a measure goes head by head, so that its intermediate values stay in the processor's cache."""


def entropy(weights: Float[Array, "*batch key"]) -> Float[Array, "*batch"]:
    """Compute -sum w ln w over the keys, in nats. A row of zeros has entropy 0.

    >>> float(np.round(entropy(np.array([0.5, 0.5])), 4))
    0.6931
    """
    if weights.ndim > 2 and weights.size > CHUNK_SIZE:
        return np.stack([entropy(part) for part in weights])
    logs = np.log(np.maximum(weights, np.finfo(np.result_type(weights, np.float32)).tiny))  # 0 ln 0 is 0
    logs *= weights
    return -logs.sum(-1)


def normalised_entropy(
    weights: Float[Array, "*batch query key"], allowed: Bool[Array, "*#batch query key"]
) -> Float[Array, "*batch"]:
    """Compute the mean entropy of the rows divided by that of uniform attention over the allowed keys: 0 to 1. Rows with fewer than two allowed keys are left out."""
    count = allowed.sum(-1)
    rows = count > 1
    share = entropy(weights) / np.log(np.maximum(count, 2))
    return _mean(share, rows)


def offset_weight(weights: Float[Array, "*batch query key"], offset: int) -> Float[Array, "*batch"]:
    """Compute the mean weight on the key `offset` positions after the query (previous word -1, itself 0, next 1).

    Over the rows from the third on: under a causal mask the first two have nowhere else to look.
    """
    n_queries, n_keys = weights.shape[-2:]
    queries = np.arange(min(2, n_queries - 1), n_queries)
    queries = queries[(queries + offset >= 0) & (queries + offset < n_keys)]
    return weights[..., queries, queries + offset].mean(-1) if queries.size else np.zeros(weights.shape[:2])


def first_key_weight(weights: Float[Array, "*batch query key"]) -> Float[Array, "*batch"]:
    """Compute the mean weight on the first key, over the rows from the third on, where the first is neither itself nor the previous."""
    return weights[..., 2:, 0].mean(-1) if weights.shape[-2] > 2 else np.zeros(weights.shape[:2])


def key_set_weight(
    weights: Float[Array, "*batch query key"], key_mask: Bool[Array, " key"]
) -> Float[Array, "*batch"]:
    """Compute the mean weight on a set of keys; `key_mask` is True for these."""
    return weights[..., key_mask].sum(-1).mean(-1)


def alignment(weights: Float[Array, "*batch query key"], links: Links) -> Float[Array, "*batch"]:
    """Compute the mean weight of a target word on the source words it translates, over the words that have a translation.

    `links` are (source word, written word), set by hand.
    """
    return np.mean(
        [weights[..., written, sources].sum(-1) for written, sources in _sources(links).items()], axis=0
    )


def alignment_control(
    weights: Float[Array, "*batch query key"], allowed: Bool[Array, "*#batch query key"], links: Links
) -> Float[Array, "*batch"]:
    """Compute the control of `alignment`: the weight that the linked keys get from the other words of the text.

    A head that attends to the first word reaches the subject, the question word and the opening quote from every query. Of the
    other words those count that may attend there, without the linked word itself.
    """
    means = []
    for looking, sources in _sources(links).items():
        others = allowed[..., sources].copy()
        others[..., looking, :] = False
        others[..., sources, range(len(sources))] = False
        means.append(((weights[..., sources] * others).sum(-2) / np.maximum(others.sum(-2), 1)).sum(-1))
    return np.mean(means, axis=0)


def _sources(links: Links) -> dict[int, list[int]]:
    """Return the linked source words by the word that looks at them."""
    sources_by_query: dict[int, list[int]] = {}
    for source, looking in links:
        sources_by_query.setdefault(looking, []).append(source)
    return sources_by_query


def induction(weights: Float[Array, "*batch query key"], tokens: Sequence[object]) -> Float[Array, "*batch"]:
    """Compute the mean weight on what followed the same token before: in `A B .. A` the second A attends to B (Olsson et al. 2022).

    Over the rows that have such a key; where there are several, their weight is added up. NaN where no row has one.
    """
    return _earlier_weight(weights, np.roll(earlier_duplicates(tokens), 1, axis=1))


def duplicate(weights: Float[Array, "*batch query key"], tokens: Sequence[object]) -> Float[Array, "*batch"]:
    """Compute the mean weight on earlier positions of the same token (duplicate-token heads, Wang et al. 2022), as `induction`."""
    return _earlier_weight(weights, earlier_duplicates(tokens))


def earlier_duplicates(tokens: Sequence[object]) -> Bool[Array, "query key"]:
    """Return a mask that is True where the key is an earlier occurrence of the query's token."""
    number = {token: i for i, token in enumerate(dict.fromkeys(tokens))}
    ids = np.array([number[token] for token in tokens])
    return np.tril(ids[:, None] == ids[None, :], k=-1)


def _earlier_weight(weights: Array, cells: Array) -> Array:
    cells = np.tril(cells, k=-1)
    rows = cells.any(1)
    return (
        (weights * cells)[..., rows, :].sum(-1).mean(-1)
        if rows.any()
        else np.full(weights.shape[:-2], np.nan)
    )


def mean_distance(weights: Float[Array, "*batch query key"]) -> Float[Array, "*batch"]:
    """Compute the mean |query - key| in positions, weighted by attention."""
    queries, keys = np.arange(weights.shape[-2])[:, None], np.arange(weights.shape[-1])[None, :]
    return (weights * np.abs(queries - keys)).sum((-2, -1)) / weights.shape[-2]


def contributions(
    weights: Float[Array, "head query key"],
    values: Float[Array, "head key d_head"],
    to_out: Float[Array, "head d_head d_model"],
) -> Float[Array, "head query key"]:
    """Compute the length of the vector that each key adds to each query: a_ij ||v_j W_O|| (Kobayashi et al. 2020, Eq. 6).

    A large weight on a value near zero changes nothing. Of one layer, in the units of the residual stream.

    >>> contributions(np.array([[[0.5, 0.5]]]), np.array([[[3.0], [0.0]]]), np.array([[[2.0]]])).tolist()
    [[[3.0, 0.0]]]
    """
    sizes = np.linalg.norm(np.einsum("hkd,hdm->hkm", values, to_out), axis=-1)
    return weights * sizes[:, None, :]


def _mean(values: Array, rows: Array) -> Array:
    total = np.maximum(rows.sum(-1), 1)
    return (values * rows).sum(-1) / total
