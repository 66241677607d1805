"""The most probable next tokens."""

from __future__ import annotations

import numpy as np

from core.maths import softmax
from core.run import Run


def top_predictions(run: Run, position: int, n: int = 5) -> list[tuple[str, float]]:
    """Return the `n` most probable tokens of a row of logits, best first, with their probabilities.

    Of a masked language model it is the word at `position`, of a decoder the one that follows it. Equal ones stand in
    the order of their ids.
    """
    chances = softmax(run.logits[position])
    best = np.argsort(-chances, kind="stable")[:n]
    return [(run.model.tokenizer.token(int(index)), float(chances[index])) for index in best]
