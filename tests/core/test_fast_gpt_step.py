"""The short way through a GPT for one more token, against the network itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import core
from core.decoding import Beam, Greedy, decode
from core.decoding.fast_gpt_step import OneToken
from core.models import Batch
from core.models.gpt import GPT, GPTConfig
from core.trace import Recorder


def redrawn(cfg: GPTConfig) -> GPT:
    """A frozen network with every parameter redrawn, norms and biases too; wide, so that some weights are large."""
    torch.manual_seed(3)
    network = GPT(cfg).eval().requires_grad_(False)
    for weight in network.parameters():
        weight.normal_()
    return network


@pytest.mark.parametrize("activation", ["gelu_tanh", "relu"])
def test_logits_and_patterns_are_those_of_the_network(activation):
    network = redrawn(replace(GPTConfig.tiny(), activation=activation))
    ids = torch.tensor([[3, 1, 4, 1, 5, 9, 2, 6]])
    tap = Recorder()
    with torch.inference_mode():
        hidden = network(Batch(ids=ids, real=ids >= 0), tap=tap)
        logits, trace = network.logits(hidden)[0].numpy(), tap.close()
        cache, one = network.new_cache(), OneToken(network)
        network(Batch(ids=ids[:, :2], real=ids[:, :2] >= 0), cache=cache)
    for place in range(2, ids.shape[1]):
        found, patterns = one(int(ids[0, place]), cache)
        assert cache.n_read == place + 1
        np.testing.assert_allclose(found, logits[place], atol=1e-4, rtol=1e-4)
        for layer, pattern in enumerate(patterns):
            whole = trace[f"layer.{layer}.self_attn.pattern"][0, :, place, : place + 1]
            np.testing.assert_allclose(pattern, whole, atol=1e-5)
    assert patterns.max() > 0.5


def test_it_is_made_only_of_what_it_computes():
    cfg = GPTConfig.tiny()
    assert OneToken.fits(redrawn(cfg))
    assert not OneToken.fits(redrawn(replace(cfg, order="post")))
    assert not OneToken.fits(redrawn(replace(cfg, attention_only=True)))
    assert not OneToken.fits(redrawn(cfg).requires_grad_(True))
    assert not OneToken.fits(redrawn(cfg).double())
    heard = redrawn(cfg)
    heard.layers[0].register_forward_hook(lambda *_: None)
    assert not OneToken.fits(heard)
    assert not OneToken.fits(core.open_model("translator-en-es").network)


def test_steps_equal_those_of_the_plain_path(monkeypatch: pytest.MonkeyPatch):
    """gpt-mini writes the same tokens with the same numbers; a beam passes from one text to several and back."""
    model = core.open_model("gpt-mini")
    for strategy in (Greedy(), Beam(width=3)):
        short = list(decode(model, "The old man", strategy, max_new_tokens=8))
        with monkeypatch.context() as patch:
            patch.setattr(OneToken, "fits", staticmethod(lambda _: False))
            plain = list(decode(model, "The old man", strategy, max_new_tokens=8))
        assert [step.token for step in short] == [step.token for step in plain]
        for a, b in zip(short, plain, strict=True):
            assert a.logprob == pytest.approx(b.logprob, abs=1e-5)
            np.testing.assert_allclose(a.attention["causal"], b.attention["causal"], atol=1e-5)
            assert (a.allowed["causal"] == b.allowed["causal"]).all() and a.cache_bytes == b.cache_bytes
