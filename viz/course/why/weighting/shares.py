"""What the first exhibit shows: importances of words, their weights, and weights of a picture's patches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.serving.engine import RunRequest, default
from viz.course.shared.maths import weighting
from viz.course.shared.maths.scene import PORTRAIT
from viz.course.why.weighting.params import MODEL, Params

GRID = (10, 8)


@dataclass(frozen=True)
class Data:
    """Words, importances and weights (n,), bits where a model gave them; weights of patches (80,), parts."""

    words: tuple[str, ...]
    raw: tuple[float, ...]
    weights: np.ndarray
    bits: np.ndarray | None
    kept: tuple[int, ...]
    patches: np.ndarray
    parts: dict[str, float]


def shared(params: Params) -> Data:
    """Weights from importances, of words and of patches; the attention that each part of the picture
    holds."""
    bits, words = None, weighting.words_of(params.text)
    if params.chosen == "model":
        text = "\n" + params.text
        bits = weighting.word_bits(default().run(RunRequest(MODEL, text, keep=())), words, text)
        raw = weighting.from_bits(bits)
    else:
        raw = {"hand": weighting.BY_HAND, "equal": (1.0,) * len(words), "own": params.own}[params.chosen]
    weights = weighting.softmax(raw)
    patches = weighting.spot(*GRID, params.at, params.width)
    shares = dict(zip(PORTRAIT.parts, (patches @ PORTRAIT.shares(*GRID)).tolist(), strict=True))
    return Data(words, raw, weights, bits, weighting.kept(weights, params.threshold / 100), patches, shares)
