"""The logit lens against plain torch: norm, table, softmax after each layer; the last row is what the model says."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from small_models import build

import core
from core.analysis.attribution import erasing
from core.analysis.attribution.ablation_sweep import ModelInput
from core.analysis.attribution.integrated_gradients import integrated_gradients, written_gradients
from core.analysis.attribution.logit_attribution import KEEP, _BackwardWalk, attribute
from core.analysis.attribution.target_token import OutputTarget
from core.analysis.attribution.token_importance import input_gradient, key_mask
from core.analysis.residual.logit_lens import logit_lens, unembed
from core.data import doodles
from core.data.drawings import example_drawings
from core.edits import Function
from core.maths import sigmoid

TEXT = "She has a white car."


def case(name: str) -> core.Model:
    family, _, order = name.partition("-")
    only = {"order": "pre", "attention_only": True}
    return build(family, **({"order": order} if order in ("pre", "post") else only if order else {}))


CASES = (
    "gpt-pre",
    "gpt-post",
    "gpt-attention",
    "transformer-pre",
    "transformer-post",
    "bert",
    "albert",
    "llama",
)


@pytest.fixture(scope="module", params=CASES)
def run(request) -> core.Run:
    model = case(request.param)
    return model.run("She has a [MASK] car." if request.param in ("albert", "bert") else TEXT)


def test_the_last_layer_says_what_the_run_says(run):
    lens = logit_lens(run, n=3)
    n, layers = run.side.n_real, run.model.config.n_layers
    assert lens.ids.shape == lens.chances.shape == (layers + 1, n, 3) and lens.final_chances.shape == (
        layers + 1,
        n,
    )
    stream = run.hidden("encoder" if run.model.family in ("albert", "bert") else "decoder")
    np.testing.assert_allclose(unembed(run.model, stream[-1]), run.logits, atol=1e-4)
    wanted = torch.tensor(run.logits).softmax(-1).topk(3)
    np.testing.assert_array_equal(lens.ids[-1], wanted.indices)
    np.testing.assert_allclose(lens.chances[-1], wanted.values, atol=1e-5)
    np.testing.assert_array_equal(lens.final_chances[-1], lens.chances[-1, :, 0])


def test_each_layer_is_read_through_the_final_norm_and_the_table():
    run = case("gpt-pre").run(TEXT)
    network, lens = run.model.network, logit_lens(run)
    for layer, stream in enumerate(run.hidden()):
        x = torch.tensor(stream)
        normed = F.layer_norm(
            x, x.shape[-1:], network.final_norm.weight, network.final_norm.bias, run.model.config.eps
        )
        chances = (normed @ network.embed["token"].weight.T).softmax(-1)
        np.testing.assert_array_equal(lens.ids[layer, :, 0], chances.argmax(-1))
        np.testing.assert_allclose(lens.chances[layer, :, 0], chances.amax(-1), atol=1e-5)


def test_a_word_has_settled_where_it_stays_first(run):
    lens = logit_lens(run)
    for place, settled in enumerate(lens.decision_layer):
        first = lens.ids[:, place, 0]
        assert (first[settled:] == first[-1]).all() and (settled == 0 or first[settled - 1] != first[-1])


def test_a_model_without_layers_is_refused():
    with pytest.raises(core.InputError, match="residual stream"):
        logit_lens(build("seq2seq").run(TEXT, target="Ella tiene."))


# ---------------- Direct attribution: the parts add up to the logit; each part is what the logit loses without it, the norm's scale held.


@pytest.fixture(scope="module", params=CASES)
def kept_run(request) -> core.Run:
    return case(request.param).run(
        "She has a [MASK] car." if request.param in ("albert", "bert") else TEXT, keep=KEEP
    )


@pytest.mark.parametrize("against", [None, 11])
def test_the_parts_add_up_to_the_logit(kept_run, against):
    for row in range(kept_run.side.n_real):
        asked = OutputTarget(row, int(kept_run.logits[row].argmax()), against)
        found = attribute(kept_run, asked)
        wanted = kept_run.logits[row, asked.token] - (0 if against is None else kept_run.logits[row, against])
        assert found.logit == pytest.approx(float(wanted), abs=1e-4)
        assert found.total == pytest.approx(found.logit, abs=1e-4)
        for kind, heads in found.heads.items():
            assert heads.shape == (2, kept_run.model.config.n_heads)
            np.testing.assert_allclose(found.attention(kind), heads.sum(1) + found.biases[kind])


def test_a_cap_leaves_a_share_of_a_logit_and_all_of_zero():
    walk = SimpleNamespace(trace=lambda path: np.array([1.0, 0.0]))
    shares = _BackwardWalk._cap_shares(walk, SimpleNamespace(logit_cap=2.0), np.eye(2))
    np.testing.assert_allclose(shares, [2 * np.tanh(0.5), 1])


def test_a_part_is_what_the_logit_loses_without_it_while_the_scale_is_held():
    kept_run = case("gpt-pre").run(TEXT)
    network, row, token = kept_run.model.network, 3, 17
    found = attribute(kept_run, OutputTarget(row, token))
    x = torch.tensor(kept_run.trace["layer.1.resid_out"][row], dtype=torch.float64)
    norm, table = network.final_norm.double(), network.embed["token"].weight.detach().double()
    sigma = (x.var(unbiased=False) + norm.eps).sqrt()

    def logit(stream: torch.Tensor) -> float:
        return float(((stream - stream.mean()) / sigma * norm.weight + norm.bias) @ table[token])

    out = network.layers[0].self_attn.to_out.weight.detach().double()[:, 11:22]
    head = out @ torch.tensor(kept_run.trace["layer.0.self_attn.heads"][1, row], dtype=torch.float64)
    feed = torch.tensor(kept_run.trace["layer.1.ffn.out"][row], dtype=torch.float64)
    position = torch.tensor(kept_run.trace["embed.position"][row], dtype=torch.float64)
    assert found.heads["causal"][0, 1] == pytest.approx(logit(x) - logit(x - head), abs=1e-8)
    assert found.feed_forward[1] == pytest.approx(logit(x) - logit(x - feed), abs=1e-8)
    assert found.embedding["position"] == pytest.approx(logit(x) - logit(x - position), abs=1e-8)
    network.final_norm.float()


def test_the_parts_of_a_picture_add_up_to_the_score_of_its_class():
    kept_run = core.open_model("vit-doodles").run(doodles.as_text(example_drawings().pixels[0]))
    for against in (None, 0):
        found = attribute(kept_run, OutputTarget(0, 1, against, "none"))
        assert found.total == pytest.approx(found.logit, abs=1e-5) and set(found.embedding) == {
            "token",
            "position",
        }


def test_a_model_whose_output_is_no_sum_over_layers_is_refused():
    with pytest.raises(core.InputError, match="not a sum over layers"):
        attribute(build("seq2seq").run(TEXT, target="Ella."), OutputTarget(0, 5))


# ---------------- Integrated gradients: they add up to the change of the output, and equal single runs written out.


@pytest.mark.parametrize(
    ("name", "text", "row", "against"),
    [("gpt-mini", "The cat sat on the mat", 5, None), ("bert-mini", "The cat [MASK] on the mat.", 3, 301)],
)
def test_the_values_add_up_to_the_change_of_the_output(name, text, row, against):
    model, logit = core.open_model(name), OutputTarget(row, 500, against, "none")
    found = integrated_gradients(model, ModelInput(text), logit)
    run = model.run(text)
    nothing = model.run(text, edits=[Function("embed.token", torch.zeros_like)])
    assert found.values.shape == (len(run.tokens),)
    assert found.output - found.baseline_output == pytest.approx(
        logit.value(run.logits) - logit.value(nothing.logits), abs=1e-5
    )
    assert abs(found.gap) < 1e-3


def test_of_a_linear_model_they_are_gradient_times_input():
    model = core.open_model("vectors-mini")
    text, logit = "the king", OutputTarget(1, 7, 9)
    with torch.inference_mode(False):
        run = model.run(text, grad=logit.goal)
    wanted = (run.trace["embed.token"] * run.trace.grad("embed.token")).sum(-1)
    found = integrated_gradients(model, ModelInput(text), logit, steps=3)
    np.testing.assert_allclose(found.values, wanted, atol=1e-5)
    assert abs(found.gap) < 1e-5 < abs(wanted).max()


def test_of_a_translator_they_are_of_the_source_and_equal_runs_one_by_one():
    model, item, logit = (
        build("transformer"),
        ModelInput("She has a car.", "Ella tiene."),
        OutputTarget(1, 40),
    )
    token = model.tokenizer.token(30)
    base = model.network.embed["token"](torch.tensor([30])).detach()
    found = integrated_gradients(model, item, logit, token, steps=2)
    x = model.run(item.text, target=item.target).trace["encoder.embed.token"]
    wanted = np.zeros(len(x))
    for share in (0.25, 0.75):
        between = Function("encoder.embed.token", lambda value, a=share: base + a * (value - base))
        with torch.inference_mode(False):
            run = item.run(model, edits=[between], grad=logit.goal)
        wanted += ((x - base.numpy()) * run.trace.grad("encoder.embed.token")).sum(-1) / 2
    np.testing.assert_allclose(found.values, wanted, atol=1e-4)


@pytest.mark.slow
def test_of_each_written_token_they_add_up_to_its_log_probability_and_later_tokens_have_none():
    model, text = core.open_model("gpt-mini"), "The cat sat on"
    found, run = written_gradients(model, ModelInput(text), steps=32), model.run(text)
    nothing = model.run(text, edits=[Function("embed.token", torch.zeros_like)])
    assert list(found) == [0, 1, 2]
    for row, each in found.items():
        target = OutputTarget(row, run.ids[row + 1])
        assert each.output == pytest.approx(target.value(run.logits), abs=1e-4)
        assert each.baseline_output == pytest.approx(target.value(nothing.logits), abs=1e-4)
        assert abs(each.gap) < 0.05 and not each.values[row + 1 :].any()
    small, item = build("transformer"), ModelInput("She has a car.", "Ella tiene.")
    rows = written_gradients(small, item, steps=2)
    assert len(rows) == len(item.run(small).tokens), "START writes the first, the last word the end"
    alone = integrated_gradients(small, item, OutputTarget(1, item.run(small).ids[2]), steps=2)
    np.testing.assert_array_equal(rows[1].values, alone.values)
    with pytest.raises(core.InputError, match="writes nothing"):
        written_gradients(core.open_model("bert-mini"), ModelInput("The cat [MASK]."))


def test_what_has_no_path_from_a_baseline_is_refused():
    gpt, cat = core.open_model("gpt-mini"), ModelInput("The cat")
    captioner, translator = core.open_model("captioner"), core.open_model("translator-en-es")
    for model, item, options, wrong in (
        (gpt, cat, {"steps": 0}, "0 steps are no path"),
        (gpt, cat, {"baseline": "two words"}, "is not one token"),
        (captioner, ModelInput("red cat 1,0"), {}, "reads no tokens"),
        (translator, cat, {}, "There is no target"),
    ):
        with pytest.raises(core.InputError, match=wrong):
            integrated_gradients(model, item, OutputTarget(0, 5), **options)


# ---------------- Deletion curves and input gradients of a small model, recomputed by hand.


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
