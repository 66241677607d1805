"""Many heads as one picture: the mean or the largest weight of a layer's heads, and attention rollout."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from core.errors import InputError
from core.run import Attention, Run

if TYPE_CHECKING:
    from jaxtyping import Float


Array = np.ndarray
How = Literal["mean", "largest", "rollout"]


def aggregate_heads(run: Run, kind: str, how: str, by: str = "token", *, writing: bool = False) -> Attention:
    """Join the heads of each layer into one: weights (layer, 1, query, key), labels as `run.attention` gives them.

    - "mean": the mean over the heads of a layer; rows still sum to 1, and it may resemble no head.
    - "largest": the largest weight that any head of the layer gives; rows do not sum to 1.
    - "rollout": see `rollout`; layer l holds what has come up to the output of layer l.

    Raises InputError for rollout where queries and keys are different texts, or for a name that is none of these.
    """
    if how not in get_args(How):
        raise InputError(
            "how={how!r} is unknown.",
            "Heads are joined by {names}.",
            "Choose one of them.",
            how=how,
            names=", ".join(get_args(How)),
        )
    found = run.model.spec.kind(kind)
    if how != "rollout":
        attention = run.attention(kind, by=by, writing=writing)
        join = np.mean if how == "mean" else np.max
        joined = np.asarray(join(attention.weights, axis=1, keepdims=True), dtype=np.float32)
        return replace(attention, weights=joined, allowed=np.any(attention.allowed, axis=1, keepdims=True))
    if found.queries != found.keys:
        raise InputError(
            "Rollout is not defined for {kind} attention.",
            "It follows a text through its own layers.",
            "Choose attention inside one text.",
            kind=kind,
        )
    attention = run.attention(kind)
    rolled = replace(
        attention,
        weights=rollout(attention.weights)[:, None],
        allowed=np.any(attention.allowed, axis=1, keepdims=True),
    )
    if by == "token":
        return rolled
    run.attention(kind, by=by)  # refuses an unknown `by`
    side = run.source if found.queries == "source" and run.source is not None else run.side
    return rolled.join_words(side.words, side.words)


def rollout(weights: Float[Array, "layer head pos pos"]) -> Float[Array, "layer pos pos"]:
    """Compute how much of each input token is left at each position after each layer, if only attention mixed them.

        R_l = M_l R_(l-1),   M_l = (mean over heads A_l + I) / 2 with rows made to sum to 1,   R_0 = I

    (Abnar and Zuidema 2020, section 3; the residual connection is the I.) Values, feed-forward layers and the sizes of
    the vectors are left out, so this is a picture of paths and no measure of influence.
    The weights are those of one text to itself; rows of the result sum to 1.

    >>> previous = np.array([[1.0, 0.0], [1.0, 0.0]])
    >>> rollout(np.stack([[previous], [previous]]))[1].tolist()
    [[1.0, 0.0], [0.75, 0.25]]
    """
    n = weights.shape[-1]
    now, found = np.eye(n), []
    for layer in weights.astype(np.float64).mean(axis=1):
        mixed = (layer + np.eye(n)) / 2
        now = mixed / mixed.sum(axis=1, keepdims=True) @ now
        found.append(now)
    return np.stack(found).astype(np.float32)
