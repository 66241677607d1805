"""How alike a sentence embedder finds texts: the cosine of their vectors, and which pairs of tokens carry it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.errors import InputError
from core.model import Model
from core.run import Run

Array = np.ndarray
MOST = 10
"""Texts that are compared with each other at once."""
KEEP = ("*resid_out",)


def cosine(one: Array, other: Array) -> Array:
    """Return the cosines of the rows of two matrices, in float64.

    >>> cosine(np.array([[3.0, 0.0]]), np.array([[4.0, 3.0], [0.0, 1.0]])).tolist()
    [[0.8, 0.0]]
    """
    a, b = (rows.astype(np.float64) for rows in (one, other))
    a, b = (rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12) for rows in (a, b))
    return a @ b.T


def alike(model: Model, texts: Sequence[str]) -> Array:
    """Return the cosine of each text with each: (text, text). Raises InputError for fewer than two or more than `MOST`, and for a model that is no embedder."""
    if not model.can("embed_texts"):
        lack = model.lacks("embed_texts")
        raise InputError(
            f"{model.name} cannot compare sentences.",
            f"{lack[:1].upper()}{lack[1:]}",
            "Choose a sentence embedder.",
        )
    if not 2 <= len(texts) <= MOST:
        rule = f"From two to {MOST} texts are compared."
        raise InputError(f"There are {len(texts)} texts.", rule, "Give that many.")
    vectors = np.stack([run.embedding for run in model.run_many(texts, keep=())])
    return cosine(vectors, vectors)


@dataclass(frozen=True)
class TokenPairs:
    """Two texts by tokens: the cosine of every two token vectors, and, where the mean is pooled, the share of the texts' cosine that each pair carries.

    `shares` add up to `whole`; None where one token alone is pooled, or the largest values.
    """

    one: tuple[str, ...]
    other: tuple[str, ...]
    cosines: Array
    shares: Array | None
    whole: float


def token_pairs(one: Run, other: Run) -> TokenPairs:
    """Return how the tokens of two runs of one embedder compare.

    The mean of the tokens' vectors is (1/n) sum_i h_i, so the cosine of two means is the sum over all pairs of
    h_i . g_j / (n m |mean h| |mean g|): every pair's part of it. Linear maps behind the mean map each token's vector as well.
    """
    model, sides = one.model, (one.side, other.side)
    vectors = [run.outputs.hidden[0, : run.side.n_real].double().numpy() for run in (one, other)]
    whole = float(cosine(one.embedding[None], other.embedding[None])[0, 0])
    shares = None
    if model.pooling.adds_up:
        if model.pooling.maps:
            mapped = model.network.pooled_maps
            vectors = [
                mapped(run.outputs.hidden[0, : run.side.n_real]).double().numpy() for run in (one, other)
            ]
        lengths = [np.linalg.norm(rows.mean(0)) * len(rows) for rows in vectors]
        shares = vectors[0] @ vectors[1].T / max(lengths[0] * lengths[1], 1e-12)
    names = [side.tokens[: side.n_real] for side in sides]
    return TokenPairs(names[0], names[1], cosine(*vectors), shares, whole)
