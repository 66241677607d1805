"""Heads taken away one by one: against plain runs, gradients against finite differences, means against numpy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

import core
from core.analysis.attribution.ablation_sweep import (
    ModelInput,
    ablation_effects,
    all_heads,
    default_samples,
    gradient_estimates,
    head_ablation,
    pearson,
)
from core.analysis.attribution.importance import Sample, token_losses
from core.analysis.attribution.means import mean_outputs
from core.analysis.attribution.one_layer import LayerEdits
from core.analysis.attribution.target_token import OutputTarget, default_row, target_rows, true_token
from core.analysis.attribution.token_importance import (
    attention_gradient,
    attention_shares,
    key_mask,
    spearman,
)
from core.edits import MeanHead, ScaleHead, ZeroHead
from tests.bert_helpers import build as build_bert
from tests.core.test_run import build as build_other

ITEMS = {
    "gpt": ModelInput("She has a white car."),
    "transformer": ModelInput("She has a white car.", target="Ella tiene un auto."),
    "bert": ModelInput("She has a [MASK] car."),
    "albert": ModelInput("She has a [MASK] car."),
}


@pytest.fixture(scope="module", params=ITEMS)
def case(request) -> tuple[core.Model, ModelInput, OutputTarget]:
    model = build_bert(request.param) if request.param in ("albert", "bert") else build_other(request.param)
    run = ITEMS[request.param].run(model)
    row = default_row(run)
    return model, ITEMS[request.param], OutputTarget(row, int(run.logits[row].argsort()[-2]))


def log_p(model: core.Model, item: ModelInput, asked: OutputTarget, *edits: object) -> float:
    """Written separately: torch's log-softmax of a plain run."""
    logits = torch.tensor(item.run(model, edits=edits).logits, dtype=torch.float64)
    return float(torch.log_softmax(logits, -1)[asked.row, asked.token])


@pytest.mark.quick(1)
def test_a_sweep_is_the_log_probability_without_each_head_minus_the_plain_one(case):
    model, item, asked = case
    for kind in model.spec.kinds:
        found = ablation_effects(model, item, asked, kind.name)
        for layer, head in all_heads(model, kind.name):
            changed = log_p(model, item, asked, ZeroHead(kind.path(layer, "heads"), head)) - log_p(
                model, item, asked
            )
            assert found[layer, head] == pytest.approx(changed, abs=1e-5)
        assert np.abs(found).max() > 1e-4


@pytest.mark.parametrize(
    ("family", "kind", "shared"),
    [
        ("llama", "causal", True),
        ("gpt", "causal", True),
        ("transformer", "cross", True),
        ("albert", "self", False),
    ],
)
def test_what_lies_below_a_layer_is_computed_once(family, kind, shared):
    """A batch of a layer's heads, begun at that layer, gives what a run of each from the start gives."""
    model = build_bert(family) if family == "albert" else build_other(family)
    item = ITEMS.get(family, ITEMS["gpt"])
    each = LayerEdits(model, item.text, kind, target=item.target)
    if not shared:  # as a network in which something else passes between the layers
        each.__dict__["_layers"] = ("", [])
    for layer in range(model.spec.kind(kind).n_layers(model.config)):
        edits = [head_ablation(model, kind, layer, head) for head in range(model.config.n_heads)]
        alone = np.stack([item.run(model, keep=(), edits=(edit,)).logits[2] for edit in edits])
        np.testing.assert_allclose(each.edited_scores(layer, edits, 2), alone, rtol=1e-5, atol=1e-5)
        assert np.abs(np.diff(alone, axis=0)).max() > 1e-4
        assert (each._model_from(layer) is not model) == (shared and layer > 0)
    name, layers = each._layers
    assert bool(each._plain_run[1]) == shared == bool(name)
    assert not shared or list(getattr(model.network, name)) == layers  # the model itself stays whole


def test_the_mean_is_that_of_all_tokens_of_the_texts():
    model = build_other("gpt")
    samples = [Sample("She has a white car."), Sample("The animal was tired.")]
    found = mean_outputs(model, [s.text for s in samples], "causal")
    every = np.concatenate([model.run(s.text).trace["layer.1.self_attn.heads"][2] for s in samples])
    assert found.shape == (2, 3, 11)
    np.testing.assert_allclose(found[1, 2], every.mean(0), rtol=1e-5, atol=1e-6)
    run = model.run("It was", edits=(head_ablation(model, "causal", 1, 2, found),))
    np.testing.assert_allclose(
        run.trace["layer.1.self_attn.heads"][2], np.stack([found[1, 2]] * len(run.tokens)), rtol=1e-6
    )
    assert hash(head_ablation(model, "causal", 1, 2, found)) == hash(
        head_ablation(model, "causal", 1, 2, found)
    ) and isinstance(head_ablation(model, "causal", 1, 2, found), MeanHead)


@pytest.mark.quick(3)
@pytest.mark.parametrize("against", [None, 9])
def test_the_estimate_is_the_slope_of_the_log_probability(case, against):
    """A head turned down a little: the difference quotient is the gradient along it."""
    model, item, asked = case
    asked = OutputTarget(asked.row, asked.token, against)
    for kind in model.spec.kinds:
        found = gradient_estimates(model, item, asked.goal, kind.name)
        for layer, head in all_heads(model, kind.name):
            step, where = 1e-2, kind.path(layer, "heads")
            up, down = (
                asked.value(item.run(model, edits=(ScaleHead(where, head, 1 + s),)).logits)
                for s in (step, -step)
            )
            assert found[layer, head] == pytest.approx(-(up - down) / (2 * step), rel=0.05, abs=5e-3)


def test_the_estimate_for_the_mean_goes_towards_the_mean(case):
    model, item, asked = case
    kind = model.spec.kinds[-1]
    average = np.random.default_rng(0).normal(size=(2, 3, 11)).astype(np.float32)
    found, plain = (
        gradient_estimates(model, item, asked.goal, kind.name, average),
        gradient_estimates(model, item, asked.goal, kind.name),
    )
    run = item.run(model, keep=("*.heads",))
    with torch.inference_mode():  # as in the engine
        again = gradient_estimates(model, item, asked.goal, kind.name, average)
    np.testing.assert_array_equal(found, again)
    step, path = 1e-2, kind.path(1, "heads")
    towards = [
        core.edits.Patch(path, torch.tensor((1 - s) * run.trace[path] + s * where(run, path, average))[None])
        for s in (step, -step)
    ]
    up, down = (asked.value(item.run(model, edits=(edit,)).logits) for edit in towards)
    assert found[1].sum() == pytest.approx((up - down) / (2 * step), rel=0.05, abs=5e-3)
    assert not np.allclose(found, plain)


def where(run: core.Run, path: str, average: np.ndarray) -> np.ndarray:
    return np.broadcast_to(average[1][:, None, :], run.trace[path].shape)


def test_a_translator_is_swept_on_a_given_translation():
    with pytest.raises(core.InputError, match="no target"):
        ablation_effects(
            build_other("transformer"), ModelInput("She has a white car."), OutputTarget(0, 5), "cross"
        )


def test_the_row_to_open_with_is_the_word_that_was_seen_coming_best():
    run = build_other("gpt").run("She has a white car.")
    row = default_row(run)
    begins = [word.pieces[0] for word in run.side.words if word.text.isalpha() and word.pieces[0] > 2]
    log = torch.tensor(run.logits).log_softmax(-1)
    assert row + 1 == max(begins, key=lambda place: float(log[place - 1, run.ids[place]]))
    assert [true_token(run, row) for row in range(len(run.ids))] == [*run.ids[1:], None]
    blank = build_bert().run("She has a [MASK] car.")
    assert (
        blank.tokens[default_row(blank)] == "[MASK]"
        and true_token(blank, default_row(blank)) is None
        and 0 not in target_rows(blank)
    )


def test_agreement_is_pearsons_and_ranks_are_spearmans():
    rng = np.random.default_rng(1)
    one, other = rng.normal(size=(3, 5)), rng.normal(size=(3, 5)).round(1)
    assert pearson(one, other) == pytest.approx(stats.pearsonr(one.ravel(), other.ravel())[0])
    assert spearman(one.ravel(), other.ravel()) == pytest.approx(
        stats.spearmanr(one.ravel(), other.ravel())[0]
    )
    assert pearson(np.ones(3), np.arange(3.0)) == 0


def test_shares_of_words_add_up_and_words_can_be_hidden(case):
    model, item, asked = case
    kind = model.spec.kinds[-1]
    run = item.run(model)
    found = attention_shares(run, asked, kind.name) | {
        "attention x gradient": attention_gradient(model, item, asked, kind.name)
    }
    assert ("rollout" in found) == (kind.queries == kind.keys)
    for values in found.values():
        assert values.sum() == pytest.approx(1, abs=1e-5) and (values >= 0).all()
    np.testing.assert_allclose(
        found["attention"], run.attention(kind.name).weights[-1, :, asked.row].mean(0), atol=1e-6
    )
    blind = item.run(model, edits=(key_mask(model, kind.name, 1),))
    assert all((blind.trace[path][:, :, 1] == 0).all() for path in blind.attention(kind.name).paths)


def test_our_sentences_are_asked_as_each_model_is_asked(case):
    model, _, _ = case
    found = default_samples(model, 3)
    assert len(found) == 3
    for sample in found:
        run = model.run(sample.text, target=sample.truth if model.spec.has_source else None)
        assert np.isfinite(token_losses(run, sample.truth)).all() and (
            not model.spec.framed or run.tokens.count("[MASK]") == 1
        )
