"""Eight score functions on vectors of the plane: against numpy, against the plane's arithmetic, and what each does not see."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from viz.course.look_up.retrieval import look_up
from viz.course.look_up.score_functions import maths

Q, KEYS = (1.0, 0.6), ((0.7, 0.5), (1.7, -0.2), (-0.6, 1.4), (-1.2, -0.9))
PLACE = maths.PlaneExample(Q, KEYS)
RULES = {"concat": "additive"}
number = some.floats(-2, 2).map(lambda x: round(x, 3))
pair = some.tuples(number, number)


@given(pair, some.lists(pair, min_size=1, max_size=4))
def test_every_function_is_the_planes_rule(query, keys):
    """C017: the layer that models use and the arithmetic of the plane agree."""
    for f in maths.eight():
        found = look_up.look_up(
            query, keys, keys, rule=RULES.get(f.kind, f.kind), sharpness=f.sharpness, **f.numbers
        )
        np.testing.assert_allclose(f.weights(query, keys), found.weights, atol=1e-9)
        np.testing.assert_allclose(f.scores(query, keys), f.sharpness * found.scores, atol=1e-9)


def test_by_hand():
    """C017."""
    by_name = {f.name: f.scores((1.0, 2.0), ((3.0, 4.0), (2.0, -1.0))) for f in maths.eight(beta=10)}
    assert by_name["dot"].tolist() == [11.0, 0.0]
    np.testing.assert_allclose(by_name["scaled"], [11 / math.sqrt(2), 0.0])
    np.testing.assert_allclose(by_name["cosine"], [11 / (5 * math.sqrt(5)), 0.0], atol=1e-12)
    np.testing.assert_allclose(by_name["sharp"], 10 * by_name["cosine"])
    assert by_name["general"].tolist() == [1 * 4 + 2 * -3, 1 * -1 + 2 * -2]
    assert by_name["linear"].tolist() == [2 + 1.5 + 4, 2 + 1 - 1]
    assert by_name["location"].tolist() == [1.0, 2.0]


def test_who_does_not_see_what():
    """C018: the linear one ignores the query, the location one the keys, cosines the length."""
    assert maths.unchanged(PLACE, "turn") == ("linear",)
    assert maths.unchanged(PLACE, "keys") == ("location",)
    assert maths.unchanged(PLACE, "longer") == ("linear", "cosine", "sharp")


@given(pair, pair, some.lists(pair, min_size=2, max_size=4))
def test_under_the_linear_score_no_query_moves_anything(one, other, keys):
    """C018, E8."""
    linear = next(f for f in maths.eight() if f.name == "linear")
    np.testing.assert_allclose(linear.weights(one, keys), linear.weights(other, keys), atol=1e-12)


