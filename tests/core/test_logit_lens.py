"""The logit lens against plain torch: norm, table, softmax after each layer; the last row is what the model says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import core
from core.analysis.attribution.target_token import default_row
from core.analysis.residual.logit_lens import logit_lens, unembed
from tests.bert_helpers import build as build_bert
from tests.core.test_run import build as build_other

TEXT = "She has a white car."


def remade(model: core.Model, **changes) -> core.Model:
    """The same model in another shape, every weight drawn anew."""
    config = replace(model.config, **changes)
    network = model.spec.network(config)
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    return replace(model, config=config, network=network)


def case(name: str) -> core.Model:
    family, _, order = name.partition("-")
    if family in ("albert", "bert"):
        return build_bert(family)
    if family == "llama":
        return remade(build_other(family))
    return (
        remade(build_other(family), order=order)
        if order in ("pre", "post")
        else remade(build_other(family), order="pre", attention_only=True)
    )


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
        logit_lens(build_other("seq2seq").run(TEXT, target="Ella tiene."))


