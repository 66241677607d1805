"""Why scores are divided by sqrt(d_k), on drawn vectors and on a trained model; and why softmax subtracts the maximum."""

from __future__ import annotations

import numpy as np

from viz.charts import thumbs
from viz.course.exhibit import Exhibit, Step
from viz.course.look_up.scaling import maths, steps
from viz.course.look_up.scaling.overflow import overflow, three
from viz.course.look_up.scaling.params import SENTENCES, Params
from viz.course.shared.masks import softmax


def compute(params: Params) -> maths.Sample:
    """Draw queries and keys of the chosen width, and measure their dot products."""
    return maths.measured_sample(params.d_k, params.draw)


def thumbnail() -> str:
    """Draw the entropy over the width, unscaled and scaled."""
    found = maths.by_width(maths.WIDTHS[::2])
    return thumbs.curves([np.array([m.entropy for m in found[name]]) for name in ("scaled", "raw")])


def _variance(params: Params, data: maths.Sample) -> bool:
    """Check that the variance of the dot products is d, and 1 after the division, both within a fifth."""
    return abs(data.raw.variance / params.d_k - 1) < 0.2 and abs(data.scaled.variance - 1) < 0.2


def _winner(params: Params, data: maths.Sample) -> bool:
    """Check that from d = 64 on the best key takes four fifths unscaled, and less than a third scaled."""
    scores = data.scores.raw[data.typical], data.scores.scaled[data.typical]
    raw, scaled = (float(softmax(values[None])[0].max()) for values in scores)
    return params.d_k < 64 or (raw > 0.8 and scaled < 1 / 3)


def _saturates(params: Params, _: maths.Sample) -> bool:
    """Check that at the largest width the gradient is below 0.1 unscaled, and above 0.9 scaled."""
    found = maths.by_width(seed=params.draw)
    return found["raw"][-1].slope < 0.1 < 0.9 < found["scaled"][-1].slope


def _trained(params: Params, _: maths.Sample) -> bool:
    """Check that the trained model's heads lose half of their entropy without the division, and that its loss grows."""
    found = steps.readings(params.text)
    return bool(
        found["raw"].evenness.mean() < found["scaled"].evenness.mean() / 2
        and found["raw"].surprise > found["scaled"].surprise
    )


def _overflows(params: Params, _: maths.Sample) -> bool:
    """Check that the plain softmax overflows, and that the one with the largest score subtracted does not."""
    plain, safe = (maths.in_float32(three(params.score), safe=way) for way in (False, True))
    return plain.broken and not safe.broken


EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(
            steps.spread, ("d_k", "draw"), promises={"the variance is d, and 1 after the division": _variance}
        ),
        Step(steps.one_row, ("d_k", "draw"), promises={"unscaled, one key takes nearly all": _winner}),
        Step(steps.widths, ("d_k", "draw"), promises={"unscaled, the gradient is lost": _saturates}),
        Step(
            steps.real,
            ("text",),
            promises={"the trained model's heads get sharper, its loss larger": _trained},
        ),
        Step(
            overflow,
            ("safe", "score"),
            promises={"the plain softmax overflows, the safe one does not": _overflows},
        ),
    ),
    presets=({"d_k": 4}, {"d_k": 1024}, *({"text": text} for text in SENTENCES[1:])),
    compute_fields=("d_k", "draw"),
    cost=40,
)
