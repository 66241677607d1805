"""The encoder's stack read by layer: cosines against plain numpy, the loop against the run, parameters against the closed form."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from small_models import build

import core
from core.errors import InputError
from core.layers.norm import LayerNorm
from core.maths import cosines
from core.model import Model
from viz.course.errata._counts import encoder_layer
from viz.course.shared import sizes
from viz.course.shared.unscaled_scores import surprise
from viz.course.transformer import depth, residuals
from viz.course.transformer.encoder import maths as encoder_maths
from viz.course.transformer.feed_forward import maths as ffn_maths
from viz.course.transformer.residual_norm import maths as norm_maths

TEXT = "She has a white car."


@pytest.fixture(scope="module", params=["translator-en-es", "bert-mini"])
def run(request):
    return core.open_model(request.param).run(TEXT)


def test_the_stack_is_a_loop_over_its_layers(run):
    looped, difference = encoder_maths.as_loop(run)
    states = encoder_maths.hidden(run)
    assert (
        looped.shape
        == states.shape
        == (run.model.config.n_layers + 1, len(encoder_maths.read(run).tokens), run.model.config.d_model)
    )
    assert difference < 1e-4
    np.testing.assert_allclose(states, run.hidden("encoder") if run.source else run.hidden(), atol=1e-6)


def test_similarities_over_depth(run):
    states = encoder_maths.hidden(run)
    found, n = encoder_maths.over_depth(states), states.shape[1]
    for layer, word in np.ndindex(states.shape[:2]):
        x, first = states[layer, word].astype(float), states[0, word].astype(float)
        assert found.with_input[layer, word] == pytest.approx(
            x @ first / np.linalg.norm(x) / np.linalg.norm(first)
        )
        others = [
            x @ y / np.linalg.norm(x) / np.linalg.norm(y)
            for j, y in enumerate(states[layer].astype(float))
            if j != word
        ]
        assert found.others[layer, word] == pytest.approx(np.mean(others)) and n == len(others) + 1
    assert np.isnan(encoder_maths.over_depth(states[:, :1]).others).all()


def test_the_stages_of_a_word_add_up(run):
    home, _ = encoder_maths.blocks(run.model)
    found = {stage.name: stage.vector for stage in encoder_maths.stages(run, 1, 2)}
    np.testing.assert_allclose(found["x, the word"] + found["attention"], found["x + attention"], atol=1e-5)
    last = encoder_maths.stages(run, 1, 2)[-1]
    np.testing.assert_allclose(last.vector, run.trace[f"{home}.1.resid_out"][2], atol=1e-6)
    before = found["x + attention"] if run.source else found["layer norm 1"]
    np.testing.assert_allclose(before + found["feed-forward"], found["+ feed-forward"], atol=1e-4)


def test_parameters_are_those_of_the_closed_form(run):
    cfg = run.model.config
    assert sum(encoder_maths.count_parameters(run.model).values()) == sizes.encoder_layer(
        cfg.d_model, cfg.d_ff
    )


def test_a_model_without_an_encoder_is_refused():
    with pytest.raises(core.InputError, match="no encoder"):
        encoder_maths.blocks(core.open_model("gpt-mini"))


# ---------------- Norms, sums and stacks written out: against torch, closed forms and the numbers of the documents.


def table(words: int = 8, numbers: int = 5, lot: int = 3) -> np.ndarray:
    return np.random.default_rng(lot).standard_normal((words, numbers)) * 2 + 1


def test_layer_norm_is_torchs_and_ours():
    x, gain, bias = table(), np.linspace(0.5, 2, 5), np.linspace(-1, 1, 5)
    ours = norm_maths.layer_norm(x, gain, bias)
    torchs = F.layer_norm(torch.from_numpy(x), (5,), torch.from_numpy(gain), torch.from_numpy(bias)).numpy()
    np.testing.assert_allclose(ours, torchs, atol=1e-12)
    np.testing.assert_allclose(
        norm_maths.layer_norm(x), LayerNorm(5).double()(torch.from_numpy(x)).detach().numpy(), atol=1e-12
    )


@pytest.mark.parametrize("h", [4, 256, 512])
def test_the_printed_deviation_gives_variance_one_over_h(h):
    """C064: 0.001953 for H = 512."""
    x = table(1, h)[0]
    assert norm_maths.layer_norm(x, printed=True).var() == pytest.approx(1 / h, rel=1e-4)
    assert norm_maths.layer_norm(x).var() == pytest.approx(1, rel=1e-4)
    assert float(norm_maths.deviation(x, printed=True)[0] / norm_maths.deviation(x)[0]) == pytest.approx(
        h**0.5
    )


def test_batch_norm_is_torchs_and_another_axis():
    x = table()
    np.testing.assert_allclose(
        norm_maths.batch_norm(x),
        F.batch_norm(torch.from_numpy(x), None, None, training=True).numpy(),
        atol=1e-12,
    )
    assert np.abs(norm_maths.batch_norm(x) - norm_maths.layer_norm(x)).max() > 0.5
    pushed = x.copy()
    pushed[2, 0] += 3
    layer = norm_maths.row_changes(norm_maths.layer_norm(x), norm_maths.layer_norm(pushed))
    batch = norm_maths.row_changes(norm_maths.batch_norm(x), norm_maths.batch_norm(pushed))
    assert np.flatnonzero(layer).tolist() == [2] and (batch > 0).all()
    assert not norm_maths.batch_norm(x[:1]).any(), "one word leaves nothing to compare"


def test_the_three_orders_by_hand():
    x, f = torch.tensor([[1.0, 3.0, 5.0]]), lambda y: 2 * y
    unit = np.array([-1.0, 0.0, 1.0]) * 1.5**0.5
    wanted = {
        "none": [3, 9, 15],
        "post": unit,
        "pre": np.array([1, 3, 5]) + 2 * unit,
        "worded": np.array([1, 3, 5]) + unit,
    }
    for order, values in wanted.items():
        np.testing.assert_allclose(depth.apply(order, x, f)[0], values, atol=1e-6)
    assert depth.apply("none", x, f, residual=False).tolist() == [[2, 6, 10]]
    assert torch.equal(depth.apply("none", x, torch.zeros_like), x), (
        "the identity where the sub-layer is zero"
    )


def test_without_sums_signal_and_gradient_die_and_with_them_they_do_not():
    """C063."""
    bare, kept = (
        depth.by_depth("none", residual=residual, size=0.5, n_layers=8) for residual in (False, True)
    )
    assert bare.signal[-1] < 1e-5 * bare.signal[0] and bare.gradient[0] < 1e-5 * bare.gradient[-1]
    assert kept.signal[-1] > kept.signal[0] and kept.gradient[0] > kept.gradient[-1]
    assert bare.signal[0] == kept.signal[0]
    assert len(kept.signal) == 9 == len(kept.mean_cosine) == len(kept.added) + 1


def test_the_gradient_holds_the_identity():
    gap, size = depth.identity_gap()
    assert gap < 1e-12 < size
    x, layers, w = depth.sample_stack(1)
    x.requires_grad_()
    bare, kept = (
        torch.autograd.grad((depth.apply("none", x, layers[1], residual=r) * w).sum(), x)[0]
        for r in (False, True)
    )
    torch.testing.assert_close(kept - bare, w)


def test_gradients_by_depth_are_finite_differences():
    x, layers, w = depth.sample_stack(2)
    found = depth.by_depth("pre", size=0.7, n_layers=2)

    def loss(y: torch.Tensor) -> float:
        for f in layers:
            y = depth.apply("pre", y, lambda v, f=f: 0.7 * f(v))
        return float((y * w).sum())

    direction = torch.from_numpy(np.random.default_rng(1).standard_normal(tuple(x.shape)))
    with torch.enable_grad():
        leaf = x.clone().requires_grad_()
        y = leaf
        for f in layers:
            y = depth.apply("pre", y, lambda v, f=f: 0.7 * f(v))
        slope = torch.autograd.grad((y * w).sum(), leaf)[0]
    assert found.gradient[0] == pytest.approx(slope.norm().item())
    step = 1e-6
    assert (loss(x + step * direction) - loss(x - step * direction)) / (2 * step) == pytest.approx(
        float((slope * direction).sum()), rel=1e-6
    )


def test_the_orders_differ_by_depth_and_the_worded_one_does_not_notice_the_size():
    """C065."""
    large, small = (
        {order: depth.by_depth(order, size=size) for order in depth.ORDERS[1:]} for size in (0.4, 0.1)
    )
    np.testing.assert_allclose(large["post"].signal[1:], 1, atol=1e-6)
    assert large["pre"].signal[-1] > small["pre"].signal[-1] > 1
    np.testing.assert_allclose(large["worded"].signal, small["worded"].signal, rtol=1e-6)
    assert large["worded"].signal[-1] > 3


# ---------------- Sums and feed-forward networks of trained models, read from small random ones: against the modules themselves.


HUNGRY = "She was hungry, so she ate the apple."


@pytest.fixture(scope="module", params=["gpt", "transformer", "bert"])
def model(request) -> Model:
    return build(request.param)


def test_sums_and_inner_layers_are_those_of_the_modules(model):
    target = "." if model.spec.has_source else None
    run = model.run(HUNGRY, keep=(*residuals.KEEP, *ffn_maths.KEEP), target=target)
    last = model.config.n_layers - 1
    assert residuals.first_sum(run, last).gap == 0
    sizes = residuals.by_layer(run)
    assert sizes.shape == (last + 2,) and sizes[0] == pytest.approx(
        np.sqrt((residuals.first_sum(run, 0).before ** 2).mean())
    )
    found = ffn_maths.inner(run, last)
    part = ffn_maths.block(model, last)
    with torch.inference_mode():
        again = part.ffn(torch.tensor(found.into)[None])[0].numpy()
        two = torch.nn.functional.linear(
            torch.tensor(found.into), part.ffn.to_hidden.weight, part.ffn.to_hidden.bias
        ).numpy()
    np.testing.assert_allclose(found.out, again, atol=1e-5)
    np.testing.assert_allclose(found.pre, two, atol=1e-5)
    assert found.counts.sum() == found.pre.shape[1] and found.counts[0] == found.dead
    assert (found.counts * np.arange(len(found.counts))).sum() == found.fires.sum()


def test_a_word_turned_round_moves_its_own_output_alone(model):
    """C066: 0.0 elsewhere in the network; in the attention others move, in a GPT only later ones."""
    target = "." if model.spec.has_source else None
    found = ffn_maths.inner(model.run(HUNGRY, keep=ffn_maths.KEEP, target=target), 0)
    moved = ffn_maths.negate_word(model, 0, found, 2)
    assert np.flatnonzero(moved.network).tolist() == [2] and np.delete(moved.network, 2).max() == 0.0
    first = 2 if model.family == "gpt" else 0
    assert np.flatnonzero(moved.attention).tolist() == list(range(first, len(found.tokens)))


def test_what_a_unit_writes_is_its_column(model):
    target = "." if model.spec.has_source else None
    found = ffn_maths.inner(model.run(HUNGRY, keep=ffn_maths.KEEP, target=target), 0)
    unit = ffn_maths.unit_output(model, 0, found, 5, n=3)
    ffn = ffn_maths.block(model, 0).ffn
    apart = found.act @ ffn.to_out.weight.detach().numpy().T + ffn.to_out.bias.detach().numpy()
    np.testing.assert_allclose(apart, found.out, atol=1e-4)
    np.testing.assert_array_equal(unit.vector, ffn.to_out.weight[:, 5].numpy())
    every = cosines(model.network.embed["token"].weight.numpy(), unit.vector)
    assert [row for row, _ in unit.nearest] == np.argsort(-every, kind="stable")[
        :3
    ].tolist() and 0 < unit.chance < 1


def test_parameters_are_counted_and_in_closed_form(model):
    config = model.config
    counted = ffn_maths.n_parameters(model, 0)
    assert counted["network"] == ffn_maths.closed_form(config.d_model, config.d_ff)
    assert sum(counted.values()) == sum(w.numel() for w in ffn_maths.block(model, 0).parameters())
    assert encoder_layer(2048) == 4 * (512 * 512 + 512) + ffn_maths.closed_form(512, 2048) + 4 * 512


def test_through_a_gpt_with_its_sums_is_the_model_itself():
    model = build("gpt")
    kept, bare = (residuals.run_stream(model, HUNGRY, residual=residual) for residual in (True, False))
    run = model.run(HUNGRY)
    assert kept.surprise == pytest.approx(surprise(run.logits, run.ids), abs=1e-4)
    np.testing.assert_allclose(kept.depths.signal, residuals.by_layer(run), rtol=1e-4)
    assert bare.surprise != pytest.approx(kept.surprise) and not np.allclose(
        bare.depths.signal[1:], kept.depths.signal[1:]
    )
    with pytest.raises(InputError, match="no next word"):
        residuals.run_stream(model, "")
