"""Similarity of texts by a sentence embedder: the cosine of their vectors, and the pairs of tokens that carry it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.errors import InputError
from core.maths import cosines
from core.model import Model
from core.run import Run

if TYPE_CHECKING:
    from jaxtyping import Float


Array = np.ndarray
MAX_TEXTS = 10
"""Texts that are compared with each other at once."""
KEEP = ("*resid_out",)


def text_similarities(model: Model, texts: Sequence[str]) -> Float[Array, "text text"]:
    """Compute the cosine of each text with each. Raises InputError for fewer than two or more than
    `MAX_TEXTS`, and for a model that is no embedder.
    """
    if not model.can("embed_texts"):
        raise InputError(
            "{name} cannot compare sentences.",
            "It does not make one vector of a text.",
            "Choose a sentence embedder.",
            name=model.name,
        )
    if not 2 <= len(texts) <= MAX_TEXTS:
        raise InputError(
            "There are {n} texts.",
            "From two to {most} texts are compared.",
            "Give that many.",
            n=len(texts),
            most=MAX_TEXTS,
        )
    vectors = np.stack([run.embedding for run in model.run_many(texts, keep=())]).astype(np.float64)
    return cosines(vectors, vectors)


@dataclass(frozen=True)
class TokenPairs:
    """Two texts by tokens: the cosine of every two token vectors, and, where the mean is pooled, the share of the texts' cosine that each pair carries.

    `shares` add up to `total`; None where one token alone is pooled, or the largest values.
    """

    one: tuple[str, ...]
    other: tuple[str, ...]
    cosines: Float[Array, "query key"]
    shares: Float[Array, "query key"] | None
    total: float


def token_pairs(one: Run, other: Run) -> TokenPairs:
    """Compare the tokens of two runs of one embedder.

    The mean of the tokens' vectors is (1/n) sum_i h_i, so the cosine of two means is the sum over all pairs of
    h_i . g_j / (n m |mean h| |mean g|), the share of each pair. Linear maps after the mean are applied to each token's vector too.
    """
    model, sides = one.model, (one.side, other.side)
    vectors = [run.outputs.hidden[0, : run.side.n_real].double().numpy() for run in (one, other)]
    whole = float(cosines(one.embedding.astype(np.float64), other.embedding.astype(np.float64)))
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
    return TokenPairs(names[0], names[1], cosines(*vectors), shares, whole)
