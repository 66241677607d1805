"""|d c / d x_i| by autograd against finite differences, and what trained cells pass on."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import core
from viz.course.why.bottleneck import cell_parameters, reach

CELLS = ("rnn", "lstm", "gru")
KERNELS = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}


def context(model, x):
    """c of one embedded text (pos, d_model) in float64."""
    real = torch.ones(1, len(x), dtype=torch.bool)
    with torch.no_grad():
        return model.network.encoder.context(model.network.encoder(x[None], real), real)[0].double()


@pytest.mark.quick(1)
@pytest.mark.parametrize("cell", CELLS)
def test_the_slopes_are_those_of_finite_differences(cell):
    model, step = core.open_model(f"copy-{cell}"), 1e-2
    found = reach.reach(model, ["hope", "ha"])
    x = model.network.embed["token"](torch.tensor([model.tokenizer.encode("hope").ids]))[0].detach()
    for place in (0, 3):
        columns = []
        for element in range(x.shape[1]):
            more, less = x.clone(), x.clone()
            more[place, element] += step
            less[place, element] -= step
            columns.append((context(model, more) - context(model, less)) / (2 * step))
        jacobian = torch.stack(columns, 1)
        assert float(jacobian.norm()) == pytest.approx(float(found.context_slopes[0, place]), rel=5e-3)
        assert float(jacobian[:32].norm()) == pytest.approx(
            float(found.forward_slopes[0, place]), rel=5e-3, abs=1e-4
        )
    assert (found.context_slopes[1, 2:] == 0).all() and (found.context_slopes[1, :2] > 0).all()


def test_a_batch_says_what_each_text_says_by_itself_also_inside_the_engine():
    model = core.open_model("copy-gru")
    together = reach.reach(model, ["attention", "abc"])
    with torch.inference_mode():
        alone = reach.reach(model, ["abc"])
    np.testing.assert_allclose(together.context_slopes[1, :3], alone.context_slopes[0], rtol=1e-4)


def test_the_first_letter_fades_from_an_rnn_and_stays_in_a_gated_cell():
    """C005."""
    left = {
        cell: reach.typical_fading(core.open_model(f"copy-{cell}"), ["qwertyuiop", "mnbvcxzlkj"])
        for cell in CELLS
    }
    share = {cell: sizes[9] / sizes[0] for cell, sizes in left.items()}
    assert share["rnn"] < 1e-4 and share["lstm"] > 0.3 and share["gru"] > 0.2


@pytest.mark.parametrize("cell", CELLS)
def test_the_chain_rule_step_by_step_is_the_gradient_through_all_steps(cell):
    model, text = core.open_model(f"copy-{cell}"), "chains"
    found = reach.fading(model, text)
    oracle = [reach.reach(model, [text[:n]]).forward_slopes[0, 0] for n in range(1, len(text) + 1)]
    np.testing.assert_allclose(found, oracle, rtol=2e-3, atol=1e-6)


def test_the_typical_size_is_the_geometric_mean():
    model, texts = core.open_model("copy-gru"), ["abcd", "wxyz"]
    each = [reach.fading(model, text) for text in texts]
    np.testing.assert_allclose(reach.typical_fading(model, texts), np.sqrt(each[0] * each[1]), rtol=1e-6)


def test_others_are_refused_in_three_parts():
    with pytest.raises(core.InputError) as caught:
        reach.reach(core.open_model("copy-rnn"), [""])
    assert caught.value.wrong and caught.value.rule and caught.value.remedy


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize(("d_input", "d_hidden"), [(4, 8), (3, 7)])
def test_the_numbers_of_a_cell_are_those_of_torch(cell, d_input, d_hidden):
    for both in (False, True):
        module = KERNELS[cell](d_input, d_hidden, bidirectional=both)
        assert cell_parameters.parameters(cell, d_input, d_hidden, both_ways=both) == sum(
            p.numel() for p in module.parameters()
        )


