"""Soft and hard attention: mix all patches of a picture by their weights, or sample one; how each can learn."""

from __future__ import annotations

import numpy as np

from viz.charts import thumbs
from viz.course.exhibit import Exhibit, Step
from viz.course.look_up.soft_and_hard import maths, steps
from viz.course.look_up.soft_and_hard.params import REWARDS, Params
from viz.course.shared.scene import HARBOUR

SIDE = 30


def compute(params: Params) -> maths.Data:
    """Return scores by colour, weights, samples, the distance of their mean, and the gradient exactly and by REINFORCE."""
    patches, wanted = HARBOUR.patches(*steps.GRID, SIDE), np.array(REWARDS[params.wanted]) / 3
    return maths.both(patches, params.asks, params.beta, params.draws, params.draw, wanted)


def thumbnail() -> str:
    """Draw the patches with the largest weights, the first sampled one in ink."""
    data = compute(Params())
    best, first = np.argsort(-data.weights, kind="stable")[:6].tolist(), int(data.samples[0])
    marked = best.index(first) if first in best else -1
    return thumbs.bars(data.weights[best], [steps.NAMES[i] for i in best], marked=marked)


def _mean_nears_the_mix(params: Params, data: maths.Data) -> bool:
    """Check that the mean of 5,000 samples is three times nearer to the soft mix than to the heaviest patch or the plain mean."""
    mean = data.values[maths.draw(data.weights, 5000, params.draw)].mean(0)
    others = data.values[int(data.weights.argmax())], data.values.mean(0)
    near = np.linalg.norm(mean - maths.soft_read(data.weights, data.values))
    return bool(min(np.linalg.norm(mean - other) for other in others) > 3 * near)


def _nowhere(_: Params, data: maths.Data) -> bool:
    """Check that the blend has the colour of no patch."""
    away = np.linalg.norm(data.values - maths.soft_read(data.weights, data.values), axis=1)
    return bool(away.min() >= 0.02)


def _differ(_: Params, data: maths.Data) -> bool:
    """Check that the sampled patch is not the heaviest, and its colour at least 0.1 from the soft read."""
    place = int(data.samples[0])
    away = np.linalg.norm(data.values[place] - maths.soft_read(data.weights, data.values))
    return place != int(data.weights.argmax()) and bool(away >= 0.1)


def _no_path(_: Params, data: maths.Data) -> bool:
    """Check that the soft read has a gradient, that the largest score has none, and that the baseline lowers the variance."""
    assert data.automatic is not None
    return data.argmax is None and np.abs(data.automatic).max() > 1e-3 and data.learning.saved > 1


EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(
            steps.guess,
            ("beta",),
            promises={"the mean of many draws is nearest to the soft mix": _mean_nears_the_mix},
        ),
        Step(steps.soft, ("beta",), promises={"the blend is nowhere in the picture": _nowhere}),
        Step(steps.hard, ("beta",), promises={"soft and hard reads differ": _differ}),
        Step(
            steps.many,
            ("draws", "draw", "beta"),
            promises={
                "the mean is within twice the expected distance": lambda params, data: (
                    data.near.distance[-1] < 2 * data.near.expect[-1]
                )
            },
        ),
        Step(
            steps.learning,
            ("draws", "wanted", "draw", "beta"),
            promises={"the largest score has no gradient, the soft read has one": _no_path},
        ),
    ),
    presets=tuple({"wanted": wanted} for wanted in REWARDS if wanted != "brighter"),
    cost=lambda params: 20 + params.draws // 100,
)
