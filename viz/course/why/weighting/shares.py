"""The numbers of the first exhibit: scores of words, their weights, and the weights of a picture's patches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.serving.engine import RunRequest, default
from viz.course.shared import weighting
from viz.course.shared.scene import PORTRAIT
from viz.course.why.weighting.params import MODEL, Params
from viz.labels import percent
from viz.languages import _

GRID = (10, 8)


@dataclass(frozen=True)
class Data:
    """Words, scores and weights (n,), bits where a model gave them, indices of the words above the threshold; weights of
    patches (80,), parts."""

    words: tuple[str, ...]
    raw: tuple[float, ...]
    weights: np.ndarray
    bits: np.ndarray | None
    kept_words: tuple[int, ...]
    patches: np.ndarray
    parts: dict[str, float]


def answer_options(data: Data) -> tuple[dict[str, float], str]:
    """Return four shares that the word with the largest score could get, each with its reason, and the right one.

    >>> raw = (0.0, 1.0, 3.0)
    >>> answer_options(Data(("a", "cat", "sat"), raw, weighting.softmax(raw), None, (), np.zeros(80), {}))[1]
    '84%: more than its share of the scores'
    """
    top, n, total = int(np.argmax(data.weights)), len(data.words), sum(data.raw)
    weight, part = float(data.weights[top]), data.raw[top] / total if total else 1 / n
    if weight > part:
        right = _("{share}: more than its share of the scores", share=percent(weight))
    else:
        right = _("{share}: less than its share of the scores", share=percent(weight))
    reasons = {
        _("{share}: as much as every other word", share=percent(1 / n)): 1 / n,
        _("{share}: its share of the scores", share=percent(part)): part,
        right: weight,
        _("{share}: all of it", share=percent(1.0)): 1.0,
    }
    return reasons, list(reasons)[2]


def shared(params: Params) -> Data:
    """Return the weights of words and patches, and the attention on each part of the picture."""
    bits, words = None, weighting.words_of(params.text)
    if params.score_source == "model":
        text = "\n" + params.text
        bits = weighting.word_bits(default().run(RunRequest(MODEL, text, keep=())), words, text)
        raw = weighting.from_bits(bits)
    else:
        raw = {"hand": weighting.BY_HAND, "equal": (1.0,) * len(words), "own": params.slider_scores}[
            params.score_source
        ]
    weights = weighting.softmax(raw)
    patches = weighting.spot(*GRID, params.centre, params.width)
    shares = dict(zip(PORTRAIT.parts, (patches @ PORTRAIT.shares(*GRID)).tolist(), strict=True))
    return Data(
        words, raw, weights, bits, weighting.kept_positions(weights, params.threshold / 100), patches, shares
    )
