"""Eight score functions of query and key, on the same vectors; and which do not depend on query or keys."""

from __future__ import annotations

import numpy as np

from viz.charts import thumbs
from viz.course.exhibit import Exhibit, Step
from viz.course.look_up.score_functions import maths, steps
from viz.course.look_up.score_functions.params import Params


def compute(params: Params) -> maths.Scored:
    """Return scores and weights of all eight rules on the visitor's vectors."""
    return maths.scored(params.place, params.beta)


def thumbnail() -> str:
    """Draw the weights of four keys (rows) under the eight rules, on the opening vectors."""
    return thumbs.cells(np.array(list(compute(Params()).weights.values())).T)


def _still(params: Params, _: maths.Scored) -> bool:
    """Check that the weights of exactly those rules stay the same that do not depend on the change."""
    expected = {"turn": {"linear"}, "longer": {"linear", "cosine", "sharp"}, "keys": {"location"}}
    return set(maths.unchanged(params.place, params.experiment, params.beta)) == expected[params.experiment]


def _long_key(_: Params, data: maths.Scored) -> bool:
    """Check that dot product and cosine choose different keys."""
    return bool(data.weights["dot"].argmax() != data.weights["cosine"].argmax())


def _disagree(_: Params, data: maths.Scored) -> bool:
    """Check that eight rules choose at least three keys, and that β multiplies the largest weight of the cosine."""
    chosen = {int(weights.argmax()) for weights in data.weights.values()}
    return len(chosen) >= 3 and data.weights["sharp"].max() > 1.5 * data.weights["cosine"].max()


def _blind(params: Params, _: maths.Scored) -> bool:
    """Check that the rule of the last step, at its opening, does not depend on the query."""
    return params.rule != "linear" or "linear" in maths.unchanged(params.place, "turn", params.beta)


EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(steps.two_rules, promises={"dot product and cosine choose different keys": _long_key}),
        Step(steps.all_eight, ("beta",), promises={"the rules disagree": _disagree}),
        Step(
            steps.ignores,
            ("experiment",),
            promises={"only rules that do not depend on the change stay as they are": _still},
        ),
        Step(steps.one, promises={"the linear additive rule does not depend on the query": _blind}),
    ),
    presets=({"experiment": "longer"}, {"experiment": "keys"}),
)
