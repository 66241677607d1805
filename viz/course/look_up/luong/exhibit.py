"""Luong's global and local attention: the whole source for every word, or a window; on a trained model."""

from __future__ import annotations

import numpy as np

from viz.charts import thumbs
from viz.course.exhibit import Exhibit, Step
from viz.course.look_up.luong import maths, steps
from viz.course.look_up.luong.params import SENTENCES, Params
from viz.course.shared import luong
from viz.instruments.kit import origin


def compute(params: Params) -> maths.Data:
    """Return the model's run: words of both sides, scores and weights (query key) under the chosen score."""
    return maths.read(params.text, params.score)


def thumbnail() -> str:
    """Draw the Gaussian, the softmax inside the window and their product, over nine words with equal scores."""
    row = luong.local(np.zeros(9), 4.5, 2)
    return thumbs.curves([row.gaussian, row.align, row.product])


def _clear(_: Params, data: maths.Data) -> bool:
    """Check that the largest weight of the row in question is at least 1.2 times the second."""
    first, second = np.sort(data.weights[luong.crossing(data.weights)])[::-1][:2]
    return bool(first >= 1.2 * second)


def _cut_off(params: Params, data: maths.Data) -> bool:
    """Check that windows along the diagonal cut off a part of concat's weight, and nearly none of general's."""
    n_target, n_source = data.weights.shape
    centres = [luong.monotonic(t, n_source) for t in range(n_target)]
    share = luong.inside_share(data.weights, luong.windows(centres, 2, n_source))
    return {"concat": 0.5 < share < 0.95, "general": share > 0.9}.get(params.score, True)


def _less_than_one(params: Params, data: maths.Data) -> bool:
    """Check that the products of a row of concat sum to less than 0.97."""
    t = luong.crossing(data.weights)
    row = luong.local(data.scores[t], steps.middles(params, data)[t], 2)
    return params.score != "concat" or row.total < 0.97


def _cost(params: Params, data: maths.Data) -> bool:
    """Check that a window of one word raises the loss of a model trained without one, and that BLEU with trained windows is no
    lower."""
    found = maths.cost(params.text, data, steps.middles(params, data), 1)
    costs = params.score != "concat" or found.loss[0] > data.loss + 0.02
    return costs and maths.recorded(maths.PREDICTIVE) >= maths.recorded(maths.GENERAL)


EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(
            steps.everywhere,
            ("score", "text"),
            promises={"one source word has clearly the most weight": _clear},
        ),
        Step(
            steps.a_centre,
            ("centre", "window", "text"),
            promises={"windows cut off a part of concat's weight, hardly any of general's": _cut_off},
        ),
        Step(
            steps.window_and_bell,
            ("text",),
            promises={"the products sum to less than 1": _less_than_one},
        ),
        Step(
            steps.savings,
            ("centre", "text"),
            promises={
                "a window costs the loss of a model trained without one, not BLEU of one trained with it": _cost
            },
        ),
    ),
    presets=(
        *({"text": text} for text in SENTENCES[1:]),
        {"score": "general"},
        {"centre": "monotonic"},
        {"centre": "predictive"},
    ),
    compute_fields=("text", "score", "model"),
    cost=lambda params: 30 * max(1, len(params.text)),
    tells=lambda params, data: origin.tell(
        model=data.model, text=params.text, second_text=data.target, kind="alignment"
    ),
)
