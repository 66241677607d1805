"""Soft look-up against torch: scores, weights, mix, and the hull that a mix never leaves."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as some
from scipy.optimize import linprog

from core.layers import scores as layers
from viz.course.look_up.retrieval.look_up import RULES, look_up, scores, softmax

P, N, R = 3, 7, 5


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape)


def test_dot_and_scaled_equal_torch():
    query, keys, values = random(P), random(N, P), random(N, R)
    for rule, scale in (("dot", 1.0), ("scaled", P**-0.5)):
        want = F.scaled_dot_product_attention(
            *(torch.from_numpy(a)[None, None] for a in (query[None], keys, values)), scale=scale
        )
        np.testing.assert_allclose(look_up(query, keys, values, rule).mix, want[0, 0, 0], rtol=1e-12)


def test_every_rule_equals_the_layer_of_the_models():
    query, keys, w, joined, v, position = (
        random(P),
        random(N, P),
        random(P, P),
        random(11, 2 * P),
        random(11),
        random(N, P),
    )
    general, linear, additive, location = (
        layers.General(P, P),
        layers.LinearAdditive(P, P),
        layers.Additive(P, P, d_ff=11),
        layers.Location(P, P, n_ctx=N),
    )
    own = {
        "dot": (layers.Dot(P, P), {}),
        "scaled": (layers.ScaledDot(P, P), {}),
        "cosine": (layers.Cosine(P, P), {}),
        "general": (general, {"w": w}),
        "linear": (linear, {"q": v[:P], "k": v[P : 2 * P]}),
        "additive": (additive, {"w": joined, "v": v}),
        "location": (location, {"w": position}),
    }
    for tensor, number in (
        (general.to_key.weight, w),
        (linear.query, v[:P]),
        (linear.key, v[P : 2 * P]),
        (additive.from_query.weight, joined[:, :P]),
        (additive.from_key.weight, joined[:, P:]),
        (additive.v, v),
        (location.to_position.weight, position),
    ):
        tensor.data = torch.from_numpy(np.ascontiguousarray(number)).float()
    assert set(own) == set(RULES)
    for rule, (layer, parameters) in own.items():
        want = layer(torch.from_numpy(query)[None, None].float(), torch.from_numpy(keys)[None].float())[
            0, 0
        ].detach()
        np.testing.assert_allclose(
            scores(query, keys, rule, **parameters), want, rtol=1e-4, atol=1e-5, err_msg=rule
        )


def test_from_uniform_to_one_hot():
    assert np.allclose(softmax([1, 2, 3], 0), 1 / 3)
    assert softmax([1, 2, 3], 5).round(4).tolist() == [0.0, 0.0067, 0.9933]
    assert softmax([1, 2, 3], 50).round(9).tolist() == [0, 0, 1]
    assert np.isfinite(softmax([1000.0, -1000.0], 50)).all()


@given(
    some.lists(some.tuples(some.floats(-2, 2), some.floats(-2, 2)), min_size=1, max_size=6),
    some.floats(0, 20),
)
def test_the_mix_lies_in_the_hull_of_the_values(values, sharpness):
    found = look_up([0.7, -0.3], [(x + 1, -y) for x, y in values], values, sharpness=sharpness)
    equal = np.vstack([np.array(values).T, np.ones(len(values))])
    assert linprog(np.zeros(len(values)), A_eq=equal, b_eq=[*found.mix, 1], bounds=(0, 1)).success
    assert found.weights.sum() == pytest.approx(1)
