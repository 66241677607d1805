"""|d c / d x_i| by autograd against finite differences, and what trained cells pass on."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as some
from small_models import build
from torch import nn

import core
from core.errors import InputError
from core.layers.recurrent.alignment import Local, Source
from core.layers.scores import Dot
from viz.course.shared import luong
from viz.course.why.alignment import maths
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
    with pytest.raises(core.InputError):
        reach.reach(core.open_model("copy-rnn"), [""])


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize(("d_input", "d_hidden"), [(4, 8), (3, 7)])
def test_the_numbers_of_a_cell_are_those_of_torch(cell, d_input, d_hidden):
    for both in (False, True):
        module = KERNELS[cell](d_input, d_hidden, bidirectional=both)
        assert cell_parameters.parameters(cell, d_input, d_hidden, both_ways=both) == sum(
            p.numel() for p in module.parameters()
        )


# ---------------- Which state asks, the two ways of writing the additive score, and how weights answer to scores.


TEXT, TARGET = "She has a white car.", "Ella tiene un auto."


def ran(attention: str, **changes):
    return build("seq2seq", attention=attention, **changes).run(TEXT, target=TARGET, keep=maths.NEEDED)


def test_bahdanau_asks_with_the_state_before_and_luong_with_the_present_one():
    """C009."""
    before, now = maths.who_asks(ran("bahdanau"))
    assert before == 0 and now > 0.1
    for feeding in (False, True):
        before, now = maths.who_asks(ran("luong-global", score="general", input_feeding=feeding))
        assert now == 0 and before > 0.1


def test_both_ways_of_writing_the_additive_score_agree_and_are_the_runs_own():
    run = ran("bahdanau")
    for step in range(len(run.tokens)):
        found = maths.split_score(run, step)
        np.testing.assert_allclose(found.stacked, found.parted, atol=1e-12)
        np.testing.assert_allclose(found.parted, run.trace["decoder.attn.scores"][0, step], atol=1e-5)
    assert maths.split_score(ran("luong-global", score="general"), 0) is None


def test_the_slopes_of_a_softmax_are_those_of_autograd():
    s = torch.tensor([0.3, -1.2, 2.0, 0.0], dtype=torch.float64)
    oracle = torch.autograd.functional.jacobian(lambda x: x.softmax(-1), s)
    np.testing.assert_allclose(maths.slopes(s.softmax(-1).numpy()), oracle.numpy(), atol=1e-12)


def test_a_model_without_attention_is_refused():
    run = build("seq2seq", attention="none").run(TEXT, target=TARGET)
    with pytest.raises(core.InputError, match="no alignment"):
        maths.who_asks(run)


# ---------------- Local attention against closed forms and against the layer that models use.


scores = some.lists(some.floats(-5, 5), min_size=1, max_size=9).map(np.array)


@given(scores, some.floats(0, 9), some.integers(1, 5), some.floats(0.2, 20))
def test_a_row_is_the_closed_form(row, centre, window, sigma):
    """C022."""
    found, at = luong.local(row, centre, window, sigma), np.arange(len(row))
    inside = np.abs(at - centre) <= window
    raised = np.where(inside, np.exp(row - row.max()), 0.0)
    align = raised / raised.sum() if inside.any() else raised
    np.testing.assert_allclose(found.align, align, atol=1e-12)
    np.testing.assert_allclose(
        found.product, align * np.exp(-((at - centre) ** 2) / (2 * sigma**2)), atol=1e-12
    )
    assert found.n_inside == inside.sum() and found.total <= 1 + 1e-12


@given(scores)
def test_a_wide_bell_without_a_window_gives_the_softmax_back(row):
    found = luong.local(row, 0.0, 1, sigma=1e7, windowed=False)
    np.testing.assert_allclose(found.product, torch.softmax(torch.from_numpy(row), -1), atol=1e-9)
    assert found.total == pytest.approx(1.0)


def test_the_layer_of_the_models_does_the_same():
    torch.manual_seed(3)
    layer = Local(Dot(5, 5), 2, 5, 7, predictive=True)
    memory, query = torch.randn(1, 8, 5), torch.randn(1, 1, 5)
    from core.trace import Recorder

    recorder = Recorder()
    with torch.no_grad():
        layer(query, Source(memory, memory[:, None], torch.ones(1, 8, dtype=torch.bool)), tap=recorder)
    trace = recorder.close()
    centre = float(trace["centre"].squeeze())
    found = luong.local(trace["scores"].squeeze().numpy(), centre, 2)
    np.testing.assert_allclose(found.product, trace["pattern"].squeeze().numpy(), atol=1e-6)
    assert luong.predicted_centre(luong.required_z(centre, 8), 8) == pytest.approx(centre)


def test_the_centre_never_reaches_the_ends():
    assert luong.required_z(6.0, 6) == math.inf and luong.required_z(0.0, 6) == -math.inf
    assert 0 < luong.predicted_centre(-20, 6) < luong.predicted_centre(20, 6) < 6


@pytest.mark.parametrize(("window", "sigma"), [(0, None), (2, 0.0), (2, math.inf)])
def test_what_cannot_be_is_refused(window, sigma):
    with pytest.raises(InputError):
        luong.local(np.zeros(3), 1.0, window, sigma)


def test_what_windows_keep_and_cost():
    weights = np.eye(4)[[1, 0, 2, 3]]
    diagonal = luong.windows([luong.monotonic(t, 4) for t in range(4)], 1, 4)
    assert luong.inside_share(weights, diagonal) == 1.0
    assert luong.inside_share(weights, luong.windows(range(4), 0, 4)) == 0.5
    assert luong.crossing(weights) == 0 and luong.cells(4, 4) == 16 and luong.cells(4, 4, 1) == 12
