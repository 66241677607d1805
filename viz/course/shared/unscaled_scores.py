"""The same text through a trained model with and without 1 / sqrt(d_head): spread of scores, entropy, surprise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.analysis.attention.measures import entropy
from core.edits import NoScale
from core.maths import log_softmax

Array = NDArray[np.floating[Any]]
KEEP = ("*.scores", "*.pattern", "*.allowed", "logits")


@dataclass(frozen=True)
class UnscaledRun:
    """One run: spread (layer,) is the deviation of the allowed scores, evenness (layer head) the entropy of a row as a
    share of an even look, the mean over the rows that have a choice; `surprise` is nats per token, of each next token."""

    spread: Array
    evenness: Array
    surprise: float


def without_scale(config: Any) -> tuple[NoScale, ...]:
    """Return the edit that removes the division by sqrt(d_head) from every layer.

    >>> from types import SimpleNamespace
    >>> without_scale(SimpleNamespace(d_head=32))
    (NoScale(where='layer.*.self_attn.scores', d_head=32),)
    """
    return (NoScale("layer.*.self_attn.scores", config.d_head),)


def reading(run: Any) -> UnscaledRun:
    """Measure a run of a GPT that recorded `KEEP`."""
    layers = range(run.model.config.n_layers)
    scores, patterns, allowed = (
        [run.trace[f"layer.{i}.self_attn.{leaf}"] for i in layers]
        for leaf in ("scores", "pattern", "allowed")
    )
    return UnscaledRun(
        np.array([s[may].std() for s, may in zip(scores, allowed, strict=True)]),
        np.stack([evenness(p, may) for p, may in zip(patterns, allowed, strict=True)]),
        surprise(run.logits, run.ids),
    )


def evenness(pattern: Array, allowed: Array) -> Array:
    """Return the normalised entropy, that of the pattern over that of uniform attention, mean over the queries with two or more keys:
    (head,).

    Shapes: pattern, allowed (head query key). One word alone has no choice: 0.

    >>> evenness(np.full((1, 2, 2), 0.5), np.ones((1, 2, 2), dtype=bool)).round(6).tolist()
    [1.0]
    """
    count = allowed.sum(-1)
    choice = count > 1
    share = np.where(choice, entropy(pattern) / np.log(np.maximum(count, 2)), 0.0)
    return share.sum(-1) / np.maximum(choice.sum(-1), 1)


def surprise(logits: Array, ids: tuple[int, ...]) -> float:
    """Return the mean surprisal in nats, -ln p(next token), over the tokens that have one before them; 0 for a single token.

    >>> surprise(np.zeros((3, 4)), (1, 2, 3)).round(4).item()
    1.3863
    """
    if len(ids) < 2:
        return 0.0
    logs = log_softmax(logits[: len(ids) - 1].astype(np.float64))
    return -logs[np.arange(len(logs)), list(ids[1:])].mean()
