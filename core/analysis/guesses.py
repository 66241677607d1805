"""Scores as probabilities, and the words a model expects at a place."""

from __future__ import annotations

import numpy as np

from core.run import Run

Array = np.ndarray


def probabilities(scores: Array) -> Array:
    """softmax over the last axis, in float64.

    >>> probabilities(np.array([0.0, 0.0])).tolist()
    [0.5, 0.5]
    """
    powers = np.exp(scores.astype(np.float64) - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def guesses(run: Run, position: int, n: int = 5) -> list[tuple[str, float]]:
    """The `n` most probable tokens of a row of logits, best first, with their probabilities.

    Of a masked language model it is the word at `position`, of a decoder the one that follows it. Equal ones stand in
    the order of their ids.
    """
    chances = probabilities(run.logits[position])
    best = np.argsort(-chances, kind="stable")[:n]
    return [(run.model.tokenizer.token(int(index)), float(chances[index])) for index in best]
