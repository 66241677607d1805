"""Claims of the exhibit on the feed-forward network about its runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from core.serving.engine import default
from viz.course.transformer.feed_forward import maths, steps, units
from viz.course.transformer.feed_forward.maths import Inner
from viz.course.transformer.feed_forward.params import MODELS, SENTENCES, Params

Promises = Mapping[str, Callable[[Params, Inner], bool]]


def on(params: Params, data: Inner) -> float:
    """Return the share of units that the chosen word switches on."""
    return float(data.fires[params.at_word(data.tokens)].mean())


def count_changed(params: Params, data: Inner) -> tuple[int, int]:
    """Return how many outputs of network and attention change when one word is negated."""
    found = maths.negate_word(
        default().open(params.model), params.at_layer, data, params.at_word(data.tokens)
    )
    return int((found.network > 0).sum()), int((found.attention > 0).sum())


def speaks(params: Params, data: Inner) -> bool:
    """Return whether the strongest unit of the word writes towards words, more than a random direction does."""
    unit = int(data.act[params.at_word(data.tokens)].argmax())
    found = maths.unit_output(default().open(params.model), params.at_layer, data, unit, lot=params.draw)
    return found.nearest[0][1] > found.chance + 0.05


def counted(params: Params, _: Inner) -> bool:
    """Return whether the formula gives what is counted in the network, and more than half of the layer."""
    model = default().open(params.model)
    parts = maths.n_parameters(model, params.at_layer)
    return parts["network"] == maths.closed_form(model.config.d_model, model.config.d_ff) and parts[
        "network"
    ] > 0.6 * sum(parts.values())


def half(_: Params, __: Inner) -> bool:
    """Return whether a hidden layer as narrow as the words leaves half of the base layer's parameters."""
    wide, narrow = (sum(units.base_layer(d_ff).values()) for d_ff in (2048, 512))
    return abs(narrow / wide - 0.5) < 0.01


def bends(_: Params, __: Inner) -> bool:
    """Return whether relu cuts at 0 and gelu has its lowest point near -0.75."""
    x = np.linspace(-3, 0, 301)
    low = float(x[int(np.argmin([steps.at_point(float(each))["gelu"] for each in x]))])
    return steps.at_point(-1.0)["relu"] == 0 and abs(low + 0.75) < 0.05


TILES: Promises = {
    "a word switches on fewer units than random weights would": lambda params, data: on(params, data) < 0.45,
    "the hidden layer is four times as wide as a word": lambda params, data: (
        data.pre.shape[1] == 4 * data.into.shape[1]
    ),
}
ACTIVATIONS: Promises = {
    "relu cuts at 0, gelu has its lowest point near -0.75": bends,
    "the word has units on both sides of 0": lambda params, data: 0 < on(params, data) < 1,
}
SENTENCE: Promises = {
    "words switch on different shares, and some units stay quiet": lambda params, data: bool(
        np.ptp(data.fires.mean(1)) > 0.001 and 0 < data.dead < data.pre.shape[1]
    ),
}
NEGATED: Promises = {
    "one output of the network changes, and several of the attention": lambda params, data: (
        count_changed(params, data)[0] == 1 and count_changed(params, data)[1] > 1
    ),
}
ONE_UNIT: Promises = {
    "at the opening the strongest unit writes towards words": lambda params, data: (
        (params.model, params.text) != (MODELS[0], SENTENCES[0]) or speaks(params, data)
    ),
}
COUNT: Promises = {
    "the network has more than six tenths of its layer, as the formula says": counted,
    "with 512 hidden units a layer has half of its parameters": half,
}
