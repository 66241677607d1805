"""Direct attribution: the parts add up to the logit; each part is what the logit loses without it, the norm's scale held."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

import core
from core.analysis.attribution.logit_attribution import KEEP, _BackwardWalk, attribute
from core.analysis.attribution.target_token import OutputTarget
from core.data import doodles
from core.data.drawings import example_drawings
from tests.core.test_logit_lens import CASES, TEXT, case
from tests.core.test_run import build as build_other


@pytest.fixture(scope="module", params=CASES)
def run(request) -> core.Run:
    return case(request.param).run(
        "She has a [MASK] car." if request.param in ("albert", "bert") else TEXT, keep=KEEP
    )


@pytest.mark.parametrize("against", [None, 11])
def test_the_parts_add_up_to_the_logit(run, against):
    for row in range(run.side.n_real):
        asked = OutputTarget(row, int(run.logits[row].argmax()), against)
        found = attribute(run, asked)
        wanted = run.logits[row, asked.token] - (0 if against is None else run.logits[row, against])
        assert found.logit == pytest.approx(float(wanted), abs=1e-4)
        assert found.total == pytest.approx(found.logit, abs=1e-4)
        for kind, heads in found.heads.items():
            assert heads.shape == (2, run.model.config.n_heads)
            np.testing.assert_allclose(found.attention(kind), heads.sum(1) + found.biases[kind])


def test_a_cap_leaves_a_share_of_a_logit_and_all_of_zero():
    walk = SimpleNamespace(trace=lambda path: np.array([1.0, 0.0]))
    shares = _BackwardWalk._cap_shares(walk, SimpleNamespace(logit_cap=2.0), np.eye(2))
    np.testing.assert_allclose(shares, [2 * np.tanh(0.5), 1])


def test_a_part_is_what_the_logit_loses_without_it_while_the_scale_is_held():
    run = case("gpt-pre").run(TEXT)
    network, row, token = run.model.network, 3, 17
    found = attribute(run, OutputTarget(row, token))
    x = torch.tensor(run.trace["layer.1.resid_out"][row], dtype=torch.float64)
    norm, table = network.final_norm.double(), network.embed["token"].weight.detach().double()
    sigma = (x.var(unbiased=False) + norm.eps).sqrt()

    def logit(stream: torch.Tensor) -> float:
        return float(((stream - stream.mean()) / sigma * norm.weight + norm.bias) @ table[token])

    out = network.layers[0].self_attn.to_out.weight.detach().double()[:, 11:22]
    head = out @ torch.tensor(run.trace["layer.0.self_attn.heads"][1, row], dtype=torch.float64)
    feed = torch.tensor(run.trace["layer.1.ffn.out"][row], dtype=torch.float64)
    position = torch.tensor(run.trace["embed.position"][row], dtype=torch.float64)
    assert found.heads["causal"][0, 1] == pytest.approx(logit(x) - logit(x - head), abs=1e-8)
    assert found.feed_forward[1] == pytest.approx(logit(x) - logit(x - feed), abs=1e-8)
    assert found.embedding["position"] == pytest.approx(logit(x) - logit(x - position), abs=1e-8)
    network.final_norm.float()


def test_the_parts_of_a_picture_add_up_to_the_score_of_its_class():
    run = core.open_model("vit-doodles").run(doodles.as_text(example_drawings().pixels[0]))
    for against in (None, 0):
        found = attribute(run, OutputTarget(0, 1, against, "none"))
        assert found.total == pytest.approx(found.logit, abs=1e-5) and set(found.embedding) == {
            "token",
            "position",
        }


def test_a_model_whose_output_is_no_sum_over_layers_is_refused():
    with pytest.raises(core.InputError, match="not a sum over layers"):
        attribute(build_other("seq2seq").run(TEXT, target="Ella."), OutputTarget(0, 5))
