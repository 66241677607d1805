"""Heads taken away one by one: against plain runs, gradients against finite differences, means against numpy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy import stats
from scipy.spatial.distance import jensenshannon
from small_models import build

import core
from core import edits
from core.analysis.attribution.ablate_heads import ablate_each_head, ablate_heads
from core.analysis.attribution.ablation_sweep import (
    ModelInput,
    ablation_effects,
    all_heads,
    default_samples,
    gradient_estimates,
    head_ablation,
    pearson,
)
from core.analysis.attribution.importance import Sample, ablation_losses, head_contributions, token_losses
from core.analysis.attribution.means import mean_outputs
from core.analysis.attribution.one_layer import LayerEdits
from core.analysis.attribution.target_token import OutputTarget, default_row, target_rows, true_token
from core.analysis.attribution.token_importance import (
    attention_gradient,
    attention_shares,
    key_mask,
    spearman,
)
from core.analysis.residual.delta import (
    attention_change,
    prediction_change,
    stream_change,
    target_change,
    target_probabilities,
)
from core.edits import MeanHead, ScaleHead, ZeroHead
from viz.course.self_attention.heads_compared import maths
from viz.course.self_attention.heads_compared.maths import predicted_tokens, removal

ITEMS = {
    "gpt": ModelInput("She has a white car."),
    "transformer": ModelInput("She has a white car.", target="Ella tiene un auto."),
    "bert": ModelInput("She has a [MASK] car."),
    "albert": ModelInput("She has a [MASK] car."),
}


@pytest.fixture(scope="module", params=ITEMS)
def case(request) -> tuple[core.Model, ModelInput, OutputTarget]:
    model = build(request.param)
    run = ITEMS[request.param].run(model)
    row = default_row(run)
    return model, ITEMS[request.param], OutputTarget(row, int(run.logits[row].argsort()[-2]))


def log_p(model: core.Model, item: ModelInput, asked: OutputTarget, *edits) -> float:
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
    model = build(family)
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
    model = build("gpt")
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
            build("transformer"), ModelInput("She has a white car."), OutputTarget(0, 5), "cross"
        )


def test_the_row_to_open_with_is_the_word_that_was_seen_coming_best():
    run = build("gpt").run("She has a white car.")
    row = default_row(run)
    begins = [word.pieces[0] for word in run.side.words if word.text.isalpha() and word.pieces[0] > 2]
    log = torch.tensor(run.logits).log_softmax(-1)
    assert row + 1 == max(begins, key=lambda place: float(log[place - 1, run.ids[place]]))
    assert [true_token(run, row) for row in range(len(run.ids))] == [*run.ids[1:], None]
    blank = build().run("She has a [MASK] car.")
    assert blank.tokens[default_row(blank)] == "[MASK]"
    assert true_token(blank, default_row(blank)) is None
    assert 0 not in target_rows(blank)


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
    seen, slopes = item.run(model), item.run(model, grad=asked.goal).trace
    positive = sum(
        np.maximum(seen.trace[path] * slopes.grad(path), 0).sum((0, 1))
        for path in seen.attention(kind.name).paths
    )
    np.testing.assert_allclose(found["attention x gradient"], positive / positive.sum(), atol=1e-5)
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


# ---------------- The loss of a run against torch, what switching off a head costs, what each key brings.


TEXT, WHOLE = "She has a [MASK] car.", "She has a white car."
SAMPLES = {
    "gpt": [Sample("She has a white car."), Sample("The animal was tired.")],
    "transformer": [
        Sample("She has a white car.", "Ella tiene un auto blanco."),
        Sample("It was tired.", "tired"),
    ],
    "bert": [Sample(TEXT, WHOLE), Sample("It was [MASK].", "It was tired.")],
    "albert": [Sample(TEXT, WHOLE), Sample("It was [MASK].", "It was tired.")],
}


@pytest.fixture(scope="module", params=SAMPLES)
def sampled(request):
    return build(request.param), SAMPLES[request.param]


def test_the_loss_of_a_decoder_is_torchs_cross_entropy():
    model = build("gpt")
    run = model.run(WHOLE)
    wanted = F.cross_entropy(torch.tensor(run.logits[:-1]), torch.tensor(run.ids[1:]), reduction="none")
    np.testing.assert_allclose(token_losses(run), wanted, rtol=1e-5)


def test_a_translator_must_also_end():
    model = build("transformer")
    run = model.run(WHOLE, target="Ella")
    wanted = F.cross_entropy(
        torch.tensor(run.logits), torch.tensor([*run.ids[1:], model.tokenizer.end]), reduction="none"
    )
    np.testing.assert_allclose(token_losses(run), wanted, rtol=1e-5)


def test_a_masked_model_answers_for_its_blanks_alone():
    model = build()
    run = model.run(TEXT)
    place, white = run.tokens.index("[MASK]"), model.run(WHOLE).ids[run.tokens.index("[MASK]")]
    wanted = F.cross_entropy(torch.tensor(run.logits[[place]]), torch.tensor([white]))
    np.testing.assert_allclose(token_losses(run, WHOLE), [wanted], rtol=1e-5)
    for truth in ("She has a white dog.", "She has a very white car.", None):
        with pytest.raises(core.InputError):
            token_losses(run, truth)
    with pytest.raises(core.InputError, match="nothing to predict"):
        token_losses(model.run(WHOLE), WHOLE)


def test_ablation_is_the_loss_with_the_head_off_minus_the_plain_one(sampled):
    model, samples = sampled
    kind = model.spec.kinds[-1]
    found = ablation_losses(model, samples, kind.name)
    assert found.shape == (model.config.n_layers, model.config.n_heads) and np.abs(found).max() > 1e-4
    both = []
    for changes in ((), (core.edits.ZeroHead(kind.path(1, "heads"), 2),)):
        per = [
            token_losses(
                model.run(s.text, edits=changes, target=s.truth if model.spec.has_source else None), s.truth
            )
            for s in samples
        ]
        both.append(np.concatenate(per).mean())
    assert found[1, 2] == pytest.approx(both[1] - both[0], abs=1e-5)


def test_what_keys_bring_adds_up_to_what_the_layer_writes(sampled):
    model, samples = sampled
    run = model.run(samples[0].text, target=samples[0].truth if model.spec.has_source else None)
    for kind in model.spec.kinds:
        found = head_contributions(run, kind.name)
        weights = run.attention(kind.name).weights
        assert found.shape == weights.shape and (found[weights == 0] == 0).all()
        pattern, v = (run.trace[kind.path(0, leaf)] for leaf in ("pattern", "v"))
        out = kind.module(model.network, 0).to_out
        to_out = out.weight.numpy().T.reshape(3, 11, 33)
        vectors = np.einsum("hqk,hkd,hdm->hqkm", pattern, v, to_out)
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=-1), found[0], rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(
            vectors.sum((0, 2)) + out.bias.numpy(), run.trace[kind.path(0, "out")], atol=1e-4
        )


def test_without_an_output_map_it_is_the_weight_times_the_size_of_the_state():
    model = build("seq2seq")
    run = model.run("She has a white car.", target="Ella tiene.")
    pattern, v = run.trace["decoder.attn.pattern"], run.trace["decoder.attn.v"]
    np.testing.assert_allclose(
        head_contributions(run, "alignment")[0], pattern * np.linalg.norm(v, axis=-1)[:, None], rtol=1e-4
    )
    assert ablation_losses(model, [Sample("She has a white car.", "Ella tiene.")], "alignment").shape == (
        1,
        1,
    )


# ---------------- What a change changed: exact zeros before it, distances against scipy, the words that are expected, means over texts.


ANIMAL, OTHER = "The animal didn't cross.", "She has a white car."


@pytest.fixture(scope="module")
def gpt():
    return build("gpt")


def test_layers_before_a_change_are_equal_to_the_bit_and_later_ones_move_as_scipy_says(gpt):
    before, after = gpt.run(ANIMAL), gpt.run(ANIMAL, edits=[edits.ZeroHead("layer.0.self_attn.heads", 1)])
    found = attention_change(before, after, "causal")
    assert found.shape == (2, 3) and (found[0] == 0).all() and (found[1] > 1e-5).all()
    a, b = (run.attention().weights[1, 2].astype(np.float64) for run in (before, after))
    wanted = np.mean([jensenshannon(p, q, base=2) ** 2 for p, q in zip(a, b, strict=True)])
    assert found[1, 2] == pytest.approx(wanted, rel=1e-3)


def test_the_stream_is_equal_to_the_left_and_below_a_change(gpt):
    before = gpt.run(ANIMAL)
    after = gpt.run(ANIMAL, edits=[edits.Forbid("layer.1.self_attn.allowed", query=4, key=1)])
    found = stream_change(before, after)
    assert found.shape == (3, len(before.ids)) and np.flatnonzero(found).tolist() == [
        2 * len(before.ids) + 4
    ], "one row of one layer"
    a, b = before.hidden()[2, 4], after.hidden()[2, 4]
    assert found[2, 4] == pytest.approx(np.linalg.norm(b - a) / np.linalg.norm(a), rel=1e-5)


def test_both_sides_of_a_translator_have_a_stream():
    model = build("transformer")
    off = [edits.ZeroHead("decoder.layer.0.cross_attn.heads", 0)]
    before, after = (model.run(OTHER, target="Ella tiene.", edits=each) for each in ((), off))
    assert (stream_change(before, after, "encoder") == 0).all() and (
        stream_change(before, after, "decoder")[1:] > 0
    ).all()
    outcome = target_change(before, after)
    assert outcome.words[-1] == "END" and len(outcome.words) == len(before.ids) == len(outcome.before)
    logits = torch.tensor(before.logits)
    wanted = logits.softmax(-1)[range(len(before.ids)), [*before.ids[1:], model.tokenizer.end]]
    np.testing.assert_allclose(target_probabilities(before), wanted, rtol=1e-4)


def test_the_words_expected_are_the_best_of_both_runs(gpt):
    before, after = gpt.run(ANIMAL), gpt.run(ANIMAL, edits=[edits.ZeroHead("layer.0.self_attn.heads", 1)])
    found = prediction_change(before, after, -1, n=3)
    chances = [torch.tensor(run.logits[-1]).softmax(-1) for run in (before, after)]
    wanted = {int(i) for each in chances for i in each.topk(3).indices}
    assert {*found.words} == {gpt.tokenizer.token(i) for i in wanted} and 3 <= len(found.words) <= 6
    assert list(found.before) == sorted(found.before, reverse=True)
    assert found.before[found.first[0]] == pytest.approx(float(chances[0].max()), rel=1e-4)
    assert found.after[found.first[1]] == pytest.approx(float(chances[1].max()), rel=1e-4)


@pytest.mark.parametrize("family", ["gpt", "transformer", "bert", "albert"])
def test_one_batch_says_of_each_head_what_single_runs_say(family):
    model = build(family)
    target = "Ella tiene." if model.spec.has_source else None
    kind = model.spec.kinds[-1]
    found = ablate_each_head(model, OTHER, kind.name, lambda run: run.logits[1], target=target)
    assert found.shape == (2, 3, model.config.n_vocab)
    for place in ((0, 2), (1, 0)):
        run = model.run(OTHER, edits=[edits.ZeroHead(kind.path(place[0], "heads"), place[1])], target=target)
        np.testing.assert_allclose(found[place], run.logits[1], atol=1e-4, rtol=1e-4)


def test_a_row_of_each_head_can_be_changed_too(gpt):
    def even(pattern):
        new = pattern.clone()
        new[-1] = 1 / len(new)
        return new

    found = ablate_each_head(gpt, ANIMAL, "causal", lambda run: run.logits[-1], leaf="pattern", change=even)
    n = len(gpt.run(ANIMAL).ids)
    run = gpt.run(ANIMAL, edits=[edits.SetPattern("layer.1.self_attn.pattern", n - 1, (1 / n,) * n, head=1)])
    np.testing.assert_allclose(found[1, 1], run.logits[-1], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("family", ["gpt", "transformer"])
def test_the_mean_of_a_head_is_that_over_all_words_and_no_padding(family):
    model = build(family)
    texts = [ANIMAL, "She has a white car and it was tired."]
    targets = ["Ella", "tiene un auto."] if model.spec.has_source else None
    runs = [model.run(text, target=target) for text, target in zip(texts, targets or [None] * 2, strict=True)]
    for kind in model.spec.kinds[:2]:  # of a translator, its source and its own text
        found, rows = (
            mean_outputs(model, texts, kind.name, targets),
            [run.trace[kind.path(1, "heads")] for run in runs],
        )
        assert found.shape == (2, 3, 11) and rows[0].shape != rows[1].shape
        np.testing.assert_allclose(found[1], np.concatenate(rows, axis=1).mean(1), atol=1e-5)


@pytest.mark.parametrize("family", ["gpt", "transformer"])
def test_some_heads_are_those_of_all(family):
    model, heads = build(family), [(1, 2), (0, 0)]
    target, kind = "Ella tiene." if model.spec.has_source else None, model.spec.kinds[-1].name
    some, every = (
        ablate_heads(model, OTHER, kind, lambda run: run.logits[1], heads, target=target),
        ablate_each_head(model, OTHER, kind, lambda run: run.logits[1], target=target),
    )
    np.testing.assert_allclose(some, every[[1, 0], [2, 0]], atol=1e-5)


# ---------------- A head taken away: by an edit, by zeros in W_O, alone and with its layer; where a layer's heads look.


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", ["gpt-mini", "bert-mini", "translator-en-es"])
def test_taking_a_head_away_is_zeroing_its_columns_of_w_o(name):
    model = core.open_model(name)
    kind = model.spec.kinds_of(model.config)[0]
    found, head, size = removal(model, WHOLE, kind.name), 3, model.config.d_head
    run = model.run(WHOLE, keep=("logits",))
    rows, tokens = predicted_tokens(run)
    assert found.tokens == tuple(model.tokenizer.token(token) for token in tokens) and found.target == (
        run.target_text if model.spec.has_source else None
    )
    with torch.random.fork_rng():
        network = model.spec.network(model.config).eval().requires_grad_(False)
    network.load_state_dict(model.network.state_dict())
    other = replace(model, network=network)
    with torch.no_grad():
        kind.module(network, 1).to_out.weight[:, head * size : (head + 1) * size] = 0
    for changed, expected in (
        (other.run(WHOLE, target=found.target, keep=("logits",)), found.without_head[1, head]),
        (
            model.run(
                WHOLE,
                target=found.target,
                keep=("logits",),
                edits=[edits.ZeroHead(kind.path(1, "heads"), h) for h in range(model.config.n_heads)],
            ),
            found.without_layer[1],
        ),
        (run, found.before),
    ):
        chances = torch.from_numpy(changed.logits[rows].astype(np.float64)).log_softmax(-1)
        np.testing.assert_allclose(
            expected, chances[torch.arange(len(rows)), torch.tensor(tokens)].numpy(), atol=2e-4
        )
    factors = found.factors(1)
    assert factors.shape == (model.config.n_heads + 1,) and factors[head] == pytest.approx(
        np.exp((found.without_head[1, head] - found.before).sum())
    )


def test_the_word_that_asks_and_the_head_to_point_at():
    assert maths.word_position(["It", "fell", "."]) == 0 and maths.word_position([]) == 0
    weights = np.zeros((3, 4, 4))
    weights[0, 2] = [0, 1.0, 0, 0]  # the word before: a habit of place
    weights[1, 2] = [0.6, 0.4, 0, 0]
    weights[2, 2] = [0.5, 0, 0.5, 0]
    assert maths.pointing(weights, 2) == 1 and maths.favourites(weights, 2).tolist() == [1, 0, 0]
    assert maths.pointing(weights[:, :2, :2], 1) == 0
