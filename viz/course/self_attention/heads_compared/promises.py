"""Claims of the exhibit on the heads of a trained model, each a condition on its runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np

from core.serving.engine import default
from viz.course.self_attention.heads_compared.maths import Layer, favourites, removal
from viz.course.self_attention.heads_compared.params import Params

Promises = Mapping[str, Callable[[Params, Layer], bool]]


def here_and_there(data: Layer) -> tuple[float, float]:
    """Return the pointing head's largest weight from the word, and its mean weight from pronouns to what they mean."""
    assert data.heads is not None
    return (
        float(data.weights[data.pointing, data.row].max()),
        float(data.heads.scores["coreference"][data.layer][data.pointing]),
    )


@cache
def factors(model: str, text: str, kind: str, layer: int) -> np.ndarray:
    """Return the factors of the probability without each head of the layer, then without all."""
    return removal(default().open(model), text, kind).factors(layer)


ONE_WORD: Promises = {
    "the heads of a layer attend most to two words and more": lambda params, data: (
        len(set(favourites(data.weights, data.row).tolist())) >= 2
    ),
}
ALL_HEADS: Promises = {
    "two heads have less than half of their attention in common": lambda params, data: bool(
        data.divergences().max() >= 0.5
    ),
}
TWO_HEADS: Promises = {
    "the two most different heads differ by half and more at one pair of words": lambda params, data: bool(
        np.abs(
            data.weights[data.pointing] - data.weights[int(data.divergences()[data.pointing].argmax())]
        ).max()
        >= 0.5
    ),
    "the mean of all heads is none of them, by a tenth and more": lambda params, data: bool(
        np.abs(data.weights - data.weights.mean(0)).max((1, 2)).min() >= 0.1
    ),
}
KINDS: Promises = {
    "over many sentences the head does less often what it does here": lambda params, data: (
        here_and_there(data)[0] - here_and_there(data)[1] >= 0.1
    ),
}
ABLATION: Promises = {
    "without one head, half of the heads and more leave more than half of the probability": lambda params, data: (
        bool(np.median(factors(data.model, params.text, data.kind, data.layer)[:-1]) > 0.5)
    ),
}
