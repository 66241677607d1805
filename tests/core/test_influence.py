"""Who moves whom: by moving each input, by the masks, and by autograd; two chains as ELMo joins them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import core
from core.analysis.residual.ripple import reach
from tests.bert_helpers import build as build_bert
from tests.core.test_run import build
from viz.course.gpt.families import two_chains
from viz.course.gpt.families.influence import influence

TEXT = "She has a white car."


@pytest.mark.parametrize("make", [build_bert, lambda: build("gpt")])
def test_what_moves_is_what_the_masks_allow(make):
    model = make()
    run, found = model.run(TEXT), influence(model, TEXT)
    n = len(run.tokens)
    assert found.shape == (n, model.config.n_layers + 1, n)
    np.testing.assert_array_equal(found[:, -1].T > 0, reach(run))
    np.testing.assert_array_equal(found[:, 0] > 0, np.eye(n, dtype=bool))


def test_a_translator_by_source_and_by_target():
    model = build("transformer")
    run = model.run(TEXT, target="Ella tiene.")
    for of in ("source", "target"):
        np.testing.assert_array_equal(influence(model, TEXT, of, "Ella tiene.")[:, -1].T > 0, reach(run, of))
    with pytest.raises(core.InputError, match="source"):
        influence(build("gpt"), TEXT, "source")


def test_two_chains_are_one_way_each_and_the_jacobian_says_so():
    n = 5
    found = two_chains.influence(n)
    after, before = np.tril(np.ones((n, n))), np.triu(np.ones((n, n)))
    for name, pattern in zip(two_chains.SIDES, (after, before, np.ones((n, n))), strict=True):
        np.testing.assert_array_equal(found[name] > 0, pattern)
    x = torch.randn(1, n, two_chains.WIDTH)
    slope = torch.autograd.functional.jacobian(
        lambda x: two_chains.top_states(two_chains.chain(backward=False), x, backward=False), x
    )
    np.testing.assert_array_equal(slope[:, :, 0].abs().sum((1, 3)).numpy() > 0, after)  # pyright: ignore[reportCallIssue, reportArgumentType]
    assert (two_chains.influence(16)["both, joined"] > 0).all()
