"""The routers of mixtures of experts: scores, experts and weights are those of the transformers library, and Inside draws them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest
from test_kinds_parity import TEXT

from core.analysis.routing import routing
from core.checkpoints import open_model
from core.errors import InputError
from core.serving.engine import Engine
from viz.workspace.inside import experts

AMONG = {"olmoe": False, "qwen3_moe": False}
"""Kinds whose softmax goes over all experts; in the others over the chosen ones."""


@pytest.mark.parametrize("name", ["mixtral", "qwen3_moe", "olmoe", "gpt_oss"])
def test_a_router_gives_tokens_to_the_experts_of_the_library(name, case_of, monkeypatch):
    folder, made = case_of(name)
    model = open_model(folder)
    run = model.run(TEXT)
    found, n_active = routing(run), model.config.n_active
    with torch.no_grad():
        logits = made(torch.tensor([run.ids]), output_router_logits=True).router_logits
    for layer, theirs in enumerate(logits):
        assert np.abs(found.scores[layer] - theirs.numpy()).max() <= 1e-5
        best = theirs.topk(n_active, -1)
        shares = (
            best.values.softmax(-1) if AMONG.get(name, True) else theirs.softmax(-1).gather(-1, best.indices)
        )
        wanted = torch.zeros_like(theirs).scatter(-1, best.indices, shares).numpy()
        assert np.abs(found.weights[layer] - wanted).max() <= 1e-5
        assert found.experts_of(layer, 3) == best.indices[3].tolist()
        assert found.counts(layer).sum() == n_active * len(run.ids)
    last = len(run.ids) - 1
    said = experts.sentence(run, found, 1, last)
    assert f"computed by expert {found.experts_of(1, last)[0]} (" in said
    assert ("left out" in said) == (found.weights[1, last].sum() < 0.99)
    if name == "olmoe":
        _check_page(folder, monkeypatch, said)


def _check_page(folder, monkeypatch, said):
    """Draw Inside: a row per token, and the sentence of the last one, of OLMoE with the share that is left out."""
    monkeypatch.setenv("ATLAS_MODELS", str(folder.parent))
    with Engine() as engine:
        monkeypatch.setattr("core.serving.engine._default", engine)
        test = AppTest.from_string("from viz.workspace.inside import page\npage.page()", default_timeout=60)
        for key, value in {
            "model": folder.name,
            "text": TEXT,
            "inside.by": "experts",
            "inside.layer": "1",
        }.items():
            test.query_params[key] = value
        test.run()
        assert not test.exception
        text = " ".join(element.value for element in (*test.markdown, *test.text, *test.caption))
        assert said in text, text[-420:]


def test_a_model_with_one_network_a_layer_has_no_router(case_of):
    with pytest.raises(InputError, match="no router"):
        routing(open_model(case_of("llama")[0]).run(TEXT))
