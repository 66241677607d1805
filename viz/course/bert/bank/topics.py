"""Vectors of whole sentences: by cosine alone, and behind a linear classifier that is trained on them.

The classifier is ridge regression onto one-hot labels: which of our short stories is a sentence from? It learns from the
beginnings of the stories and is measured on their ends.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.serving.engine import default
from viz.course.bert import contextual_vectors, senses
from viz.course.bert.bank.params import MODEL
from viz.course.bert.stories import GAP, stories
from viz.course.shared.wilson_interval import wilson
from viz.memo import remembered

RIDGE = 100.0


@dataclass(frozen=True)
class Classified:
    """How many of `n` held-out sentences were classified correctly, and the 95% interval of their share."""

    right: int
    n: int

    @property
    def low(self) -> float:
        return wilson(self.right / self.n, self.n)[0]

    @property
    def high(self) -> float:
        return wilson(self.right / self.n, self.n)[1]


def chance() -> float:
    """Return the share that guessing one of the stories would get."""
    return 1 / len(stories())


def classified(how: str) -> Classified:
    """Train the classifier on sentence vectors made in one of `contextual_vectors.HOWS`, and measure it."""
    rows = [
        (text, label, at < len(story) - GAP)
        for label, story in enumerate(stories().values())
        for at, text in enumerate(story)
    ]
    texts, labels, train = (np.array(column) for column in zip(*rows, strict=True))
    vectors = _in_all_ways(tuple(texts.tolist()))[how]
    vectors = (vectors - vectors[train].mean(0)) / (vectors[train].std(0) + 1e-6)
    one_hot = np.eye(labels.max() + 1)[labels[train]]
    seen = vectors[train]
    weights = np.linalg.solve(
        seen.T @ seen + RIDGE * np.eye(seen.shape[1]), seen.T @ (one_hot - one_hot.mean(0))
    )
    best = (vectors[~train] @ weights).argmax(1)
    return Classified(int((best == labels[~train]).sum()), int((~train).sum()))


def _in_all_ways(texts: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Return the vectors of our sentences, computed once for all HOWS."""
    model = default().open(MODEL)
    return remembered(model, texts, lambda: contextual_vectors.in_all_ways(model, texts))


def cosines(how: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the cosine of each sentence with the one that means the same, and with the one that looks alike."""
    texts = [text for row in senses.TRIPLES for text in (row.text, row.same, row.lookalike)]
    rows = _in_all_ways(tuple(texts))[how].reshape(len(senses.TRIPLES), 3, -1)
    found = np.array([contextual_vectors.cosines(three)[0, 1:] for three in rows])
    return found[:, 0], found[:, 1]


def won(how: str) -> int:
    """Return how many sentences are nearer to the one of the same meaning."""
    same, alike = cosines(how)
    return int((same > alike).sum())
