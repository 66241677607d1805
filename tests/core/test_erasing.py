"""Deletion curves and input gradients of a small model, recomputed by hand."""

from __future__ import annotations

import numpy as np
import pytest
from test_run import build

from core.analysis.attribution import erasing
from core.analysis.attribution.ablation_sweep import ModelInput
from core.analysis.attribution.target_token import OutputTarget
from core.analysis.attribution.token_importance import input_gradient, key_mask
from core.maths import sigmoid

ITEM = ModelInput("the old cat")


@pytest.mark.parametrize(
    ("target", "shown"),
    [
        (OutputTarget(2, 7), np.exp),
        (OutputTarget(2, 7, against=9), lambda value: sigmoid(np.array(value))),
        (OutputTarget(2, 7, activation="none"), lambda value: value),
    ],
    ids=["one token", "two tokens", "a score"],
)
def test_a_curve_is_the_output_without_the_keys_of_the_largest_values(target, shown):
    model = build("gpt")
    kind = ITEM.run(model).kinds[0]
    values = np.array([0.1, 0.7, 0.2])
    curve = erasing.deletion_curve(model, ITEM, target, kind, values, [0, 1, 2])
    for n, value in enumerate(curve):
        edits = tuple(key_mask(model, kind, key) for key in (1, 2)[:n])
        assert value == pytest.approx(
            float(shown(target.value(ITEM.run(model, edits=edits).scores))), rel=1e-5
        )


def test_gradient_times_input_is_a_share_of_each_token():
    model, target = build("gpt"), OutputTarget(2, 7)
    shares = input_gradient(model, ITEM, target)
    assert shares.shape == (len(ITEM.run(model).tokens),) and shares.sum() == pytest.approx(1)
