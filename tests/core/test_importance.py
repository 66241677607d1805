"""The loss of a run against torch, what switching off a head costs, what each key brings."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import core
from core.analysis.attribution.importance import Sample, ablation_losses, head_contributions, token_losses
from tests.bert_helpers import build as build_bert
from tests.core.test_run import build as build_other

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
def case(request):
    return build_bert(request.param) if request.param in ("albert", "bert") else build_other(
        request.param
    ), SAMPLES[request.param]


def test_the_loss_of_a_decoder_is_torchs_cross_entropy():
    model = build_other("gpt")
    run = model.run(WHOLE)
    wanted = F.cross_entropy(torch.tensor(run.logits[:-1]), torch.tensor(run.ids[1:]), reduction="none")
    np.testing.assert_allclose(token_losses(run), wanted, rtol=1e-5)


def test_a_translator_must_also_end():
    model = build_other("transformer")
    run = model.run(WHOLE, target="Ella")
    wanted = F.cross_entropy(
        torch.tensor(run.logits), torch.tensor([*run.ids[1:], model.tokenizer.end]), reduction="none"
    )
    np.testing.assert_allclose(token_losses(run), wanted, rtol=1e-5)


def test_a_masked_model_answers_for_its_blanks_alone():
    model = build_bert()
    run = model.run(TEXT)
    place, white = run.tokens.index("[MASK]"), model.run(WHOLE).ids[run.tokens.index("[MASK]")]
    wanted = F.cross_entropy(torch.tensor(run.logits[[place]]), torch.tensor([white]))
    np.testing.assert_allclose(token_losses(run, WHOLE), [wanted], rtol=1e-5)
    for truth in ("She has a white dog.", "She has a very white car.", None):
        with pytest.raises(core.InputError):
            token_losses(run, truth)
    with pytest.raises(core.InputError, match="nothing to predict"):
        token_losses(model.run(WHOLE), WHOLE)


def test_ablation_is_the_loss_with_the_head_off_minus_the_plain_one(case):
    model, samples = case
    kind = model.spec.kinds[-1]
    found = ablation_losses(model, samples, kind.name)
    assert found.shape == (model.config.n_layers, model.config.n_heads) and np.abs(found).max() > 1e-4
    targets = {"target": samples[0].truth} if model.spec.has_source else {}
    both = []
    for edits in ((), (core.edits.ZeroHead(kind.path(1, "heads"), 2),)):
        per = [
            token_losses(model.run(s.text, edits=edits, **(targets and {"target": s.truth})), s.truth)
            for s in samples
        ]
        both.append(np.concatenate(per).mean())
    assert found[1, 2] == pytest.approx(both[1] - both[0], abs=1e-5)


def test_a_head_that_writes_nothing_is_worth_nothing():
    model = build_other("gpt")
    model.network.layers[1].self_attn.to_out.weight.data[:, 11:22] = 0  # the columns of head 1
    found = ablation_losses(model, SAMPLES["gpt"], "causal")
    assert found[1, 1] == pytest.approx(0, abs=1e-6) and abs(found[1, 0]) > 1e-4


def test_what_keys_bring_adds_up_to_what_the_layer_writes(case):
    model, samples = case
    run = model.run(samples[0].text, **({"target": samples[0].truth} if model.spec.has_source else {}))
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
    model = build_other("seq2seq")
    run = model.run("She has a white car.", target="Ella tiene.")
    pattern, v = run.trace["decoder.attn.pattern"], run.trace["decoder.attn.v"]
    np.testing.assert_allclose(
        head_contributions(run, "alignment")[0], pattern * np.linalg.norm(v, axis=-1)[:, None], rtol=1e-4
    )
    assert ablation_losses(model, [Sample("She has a white car.", "Ella tiene.")], "alignment").shape == (
        1,
        1,
    )
