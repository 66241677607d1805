"""All score functions of the sources on the same few vectors, and which do not depend on query or keys.

The functions are those of `core.layers.scores`, in float64, with numbers chosen once: a model would learn
them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from core.layers.scores import SCORES, Cosine
from viz.languages import mark

Array = NDArray[np.float64]
Pair = tuple[float, float]
SAME = 1e-9
"""Weights that differ by less are equal."""

W_GENERAL = ((0.0, 1.0), (-1.0, 0.0))  # turns a key a quarter to the right before it is compared
W_QUERY, W_KEY = (1.0, 0.5), (0.5, 1.0)
W_ADDITIVE = (
    (1.0, 0.0, 1.0, 0.0),
    (0.0, 1.0, 0.0, 1.0),
    (1.0, -1.0, -1.0, 1.0),
)  # [W_1 W_2]: three hidden units
V_ADDITIVE = (1.5, 1.0, -1.0)
W_LOCATION = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0), (0.7, 0.7), (-0.7, 0.7))  # a row a position
MOST_KEYS = len(W_LOCATION)


@dataclass(frozen=True)
class Function:
    """One score function: its name, its English title, its paper, its kind in `core.layers.scores`, its parameters.

    `sharpness` multiplies the score. `numbers` are parameters by the names that
    `viz.course.look_up.retrieval.look_up` has for them.
    """

    name: str
    title: str
    paper: str
    kind: str
    sharpness: float = 1.0
    numbers: Mapping[str, Any] = field(default_factory=dict)

    def scores(self, query: Sequence[float], keys: Sequence[Sequence[float]]) -> Array:
        """Return the scores of query (2,) with keys (key, 2) -> (key,), by the layer that the models use."""
        layer = _layer(self)
        q, k = (
            torch.tensor([rows], dtype=torch.float64) for rows in ([list(query)], [list(key) for key in keys])
        )
        with torch.no_grad():
            return layer(q, k)[0, 0].numpy()

    def weights(self, query: Sequence[float], keys: Sequence[Sequence[float]]) -> Array:
        """Return the softmax of the scores, (key,)."""
        raised = np.exp((s := self.scores(query, keys)) - s.max())
        return raised / raised.sum()


def _layer(function: Function) -> torch.nn.Module:
    """Return the layer with the function's parameters."""
    if function.kind == "cosine":
        return Cosine(2, 2, sharpness=function.sharpness)
    layer: Any = SCORES[function.kind](2, 2, len(W_ADDITIVE), MOST_KEYS).double()
    given = {name: torch.tensor(value, dtype=torch.float64) for name, value in function.numbers.items()}
    with torch.no_grad():
        if function.kind == "general":
            layer.to_key.weight.copy_(given["w"])
        elif function.kind == "linear":
            layer.query.copy_(given["q"])
            layer.key.copy_(given["k"])
        elif function.kind == "concat":
            layer.from_query.weight.copy_(given["w"][:, :2])
            layer.from_key.weight.copy_(given["w"][:, 2:])
            layer.v.copy_(given["v"])
        elif function.kind == "location":
            layer.to_position.weight.copy_(given["w"])
    return layer


def eight(beta: float = 5.0) -> tuple[Function, ...]:
    """Return all of them, in the order of the sources; `beta` is the inverse temperature of the last.

    >>> [f.name for f in eight()]
    ['dot', 'scaled', 'general', 'linear', 'tanh', 'location', 'cosine', 'sharp']
    """
    luong, graves = "Luong et al. 2015", "Graves et al. 2014"
    linear, tanh = {"q": W_QUERY, "k": W_KEY}, {"w": W_ADDITIVE, "v": V_ADDITIVE}
    return (
        Function("dot", mark("dot"), luong, "dot"),
        Function("scaled", mark("scaled dot"), "Vaswani et al. 2017", "scaled"),
        Function("general", mark("general"), luong, "general", numbers={"w": W_GENERAL}),
        Function("linear", mark("additive, linear"), "Ghojogh and Ghodsi 2020", "linear", numbers=linear),
        Function("tanh", mark("additive, tanh"), "Bahdanau et al. 2015", "concat", numbers=tanh),
        Function("location", mark("location"), luong, "location", numbers={"w": W_LOCATION}),
        Function("cosine", mark("cosine"), graves, "cosine"),
        Function("sharp", mark("β · cosine"), graves, "cosine", sharpness=beta),
    )


@dataclass(frozen=True)
class PlaneExample:
    """A query and keys in the plane."""

    query: Pair
    keys: tuple[Pair, ...]


@dataclass(frozen=True)
class Scored:
    """Scores and weights (key,) of each rule by name, and the rules themselves."""

    functions: tuple[Function, ...]
    scores: dict[str, Array]
    weights: dict[str, Array]

    def rule(self, name: str) -> Function:
        """Return the rule of this name."""
        return next(function for function in self.functions if function.name == name)


def scored(place: PlaneExample, beta: float = 5.0) -> Scored:
    """Return scores and weights of all eight rules on these vectors."""
    functions, at = eight(beta), (place.query, place.keys)
    return Scored(
        functions, {f.name: f.scores(*at) for f in functions}, {f.name: f.weights(*at) for f in functions}
    )


def turned(vector: Pair, degrees: float) -> Pair:
    """Return the vector rotated counterclockwise.

    >>> tuple(round(x, 6) for x in turned((1.0, 0.0), 90))
    (0.0, 1.0)
    """
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return c * vector[0] - s * vector[1], s * vector[0] + c * vector[1]


EXPERIMENTS: dict[str, str] = {
    "turn": mark("Turn the query by 90°"),
    "longer": mark("Make the query 3 times as long"),
    "keys": mark("Turn the keys by 90°"),
}


def after(place: PlaneExample, experiment: str) -> PlaneExample:
    """Return the vectors after one of EXPERIMENTS.

    >>> after(PlaneExample((1.0, 2.0), ((1.0, 0.0),)), "longer").query
    (3.0, 6.0)
    """
    if experiment == "turn":
        return replace(place, query=turned(place.query, 90))
    if experiment == "longer":
        return replace(place, query=(3 * place.query[0], 3 * place.query[1]))
    return replace(place, keys=tuple(turned(key, 90) for key in place.keys))


def weight_changes(place: PlaneExample, experiment: str, beta: float = 5.0) -> dict[str, Array]:
    """Return the change of each function's weights (key,), by name."""
    then = after(place, experiment)
    return {
        f.name: f.weights(then.query, then.keys) - f.weights(place.query, place.keys) for f in eight(beta)
    }


def unchanged(place: PlaneExample, experiment: str, beta: float = 5.0) -> tuple[str, ...]:
    """Return the names of the functions whose weights stay the same.

    >>> unchanged(PlaneExample((1.0, 0.6), ((0.7, 0.5), (-0.6, 1.4))), "turn")
    ('linear',)
    """
    return tuple(
        name
        for name, change in weight_changes(place, experiment, beta).items()
        if float(np.abs(change).max()) < SAME
    )
