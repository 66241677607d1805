"""ALBERT: the counts of the paper, weights that are the same object, and a network that reads as its paths say."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

import core
from core.checkpoints import store
from core.checkpoints.load import load_model
from core.checkpoints.safety.load_plan import meta_network
from core.models import Batch, families
from core.models.albert import ALBERT, SHARED, ALBERTConfig
from core.models.bert import BERT, BERTConfig
from core.training.loop.optim import optimisers
from tests.bert_helpers import IDS, build

BODY = {"masked_lm": False, "sentence_order": False}
LARGE = {"n_layers": 24, "n_heads": 16, "d_model": 1024, "d_ff": 4096}


def count(module) -> int:
    return sum(weight.numel() for weight in module.parameters())


def albert(**shape):
    return meta_network(families()["albert"], ALBERTConfig(**(BODY | shape)))


def bert(**shape):
    return meta_network(families()["bert"], BERTConfig(masked_lm=False, next_sentence=False, **shape))


# ------------------------------------------------------------------------------------------------------------ counts


def test_the_table_in_two_factors_has_the_numbers_of_the_syllabus():
    def table(d_embed, d_model):
        cfg = replace(ALBERTConfig(**BODY), n_vocab=30522, n_heads=1, n_layers=1)
        made = meta_network(families()["albert"], replace(cfg, d_embed=d_embed, d_model=d_model)).embed
        return made["token"].weight.numel() + made["to_model"].weight.numel()

    whole = bert().embed["token"].weight.numel()
    assert whole == 30522 * 768 == 23_440_896
    assert table(128, 768) == 3_906_816 + 98_304 == 4_005_120
    assert whole / table(128, 768) == pytest.approx(5.85, abs=0.005)
    assert table(128, 4096) == 4_431_104 and 30522 * 4096 == 125_018_112
    even = 30522 * 768 / (30522 + 768)
    assert even == pytest.approx(749.1, abs=0.05)
    assert table(749, 768) < whole < table(750, 768)


@pytest.mark.parametrize(
    ("shared", "layers"),
    [
        ("all", 7_087_872),
        ("none", 12 * 7_087_872),
        ("attention", 2_362_368 + 1536 + 12 * (4_722_432 + 1536)),
        ("feed-forward", 4_722_432 + 1536 + 12 * (2_362_368 + 1536)),
    ],
)
def test_the_layers_of_base_have_the_numbers_of_the_syllabus(shared, layers):
    made = albert(shared=shared).layers
    assert count(made) == layers
    block = made[0]
    assert (count(block.self_attn), count(block.ffn)) == (2_362_368, 4_722_432)
    assert count(block.norm1) + count(block.norm2) == 3072 and count(block) == 7_087_872


def test_whole_networks_have_the_numbers_of_the_syllabus():
    assert count(albert()) == 11_683_584 and count(albert(**LARGE)) == 17_683_968
    assert count(bert()) == 109_482_240 and count(bert(**LARGE)) == 335_141_888
    assert count(bert(**LARGE)) / count(albert(**LARGE)) == pytest.approx(18.95, abs=0.005)
    assert count(bert()) / count(albert()) == pytest.approx(9.37, abs=0.005)
    assert 12 * 7_087_872 == count(albert(shared="none").layers) == 85_054_464


# ----------------------------------------------------------------------------------------------------------- sharing


@pytest.mark.parametrize("shared", SHARED)
def test_shared_weights_are_the_same_tensor_and_others_are_not(shared):
    layers = ALBERT(replace(ALBERTConfig.tiny(), n_layers=4, shared=shared)).layers
    for one, two in pairwise(layers):
        for part in SHARED["all"]:
            same = part in SHARED[shared]
            assert (getattr(one, part) is getattr(two, part)) == same
            for a, b in zip(getattr(one, part).parameters(), getattr(two, part).parameters(), strict=True):
                assert (a.data_ptr() == b.data_ptr()) == same


@pytest.mark.parametrize("shared", SHARED)
def test_what_is_saved_names_each_weight_once_and_comes_back_shared(shared, tmp_path):
    cfg = replace(ALBERTConfig.tiny(), shared=shared)
    torch.manual_seed(0)
    network, again = ALBERT(cfg), ALBERT(cfg)
    state = network.state_dict()
    assert sum(value.numel() for value in state.values()) == count(network)
    assert set(state) == {name for name, _ in network.named_parameters()}
    again.load_state_dict(state)
    other = meta_network(families()["albert"], cfg)
    other.load_state_dict({name: value.clone() for name, value in state.items()}, assign=True)
    batch = Batch(ids=torch.tensor([[1, 2, 3]]), real=torch.ones(1, 3, dtype=torch.bool))
    for made in (again, other):
        assert count(made) == count(network)
        assert torch.equal(made(batch), network(batch))
        parts = [layer.ffn.to_out.weight.data_ptr() for layer in made.layers]
        assert len(set(parts)) == (1 if "ffn" in SHARED[shared] else 2)


def test_a_weight_that_is_missing_is_still_said():
    network = ALBERT(ALBERTConfig.tiny())
    state = network.state_dict()
    del state["layers.0.ffn.to_out.bias"]
    with pytest.raises(RuntimeError, match=r"layers\.0\.ffn\.to_out\.bias"):
        network.load_state_dict(state)


def test_a_shared_weight_learns_once_from_all_the_layers():
    torch.manual_seed(0)
    shared = ALBERT(ALBERTConfig.tiny())
    alone = ALBERT(replace(shared.cfg, shared="none"))
    alone.load_state_dict(
        shared.state_dict()
        | {
            name.replace("layers.0", "layers.1"): value
            for name, value in shared.state_dict().items()
            if name.startswith("layers.0")
        }
    )
    batch = Batch(ids=torch.tensor([[1, 2, 3, 4]]), real=torch.ones(1, 4, dtype=torch.bool))
    for network in (shared, alone):
        network.logits(network(batch)).square().mean().backward()
    for name, weight in shared.layers[0].named_parameters():
        parts = [dict(layer.named_parameters())[name].grad for layer in alone.layers]
        torch.testing.assert_close(weight.grad, sum(parts), rtol=1e-4, atol=1e-7)
    held = [weight for each in optimisers(shared, lr=1, matrix_lr=1, weight_decay=0) for weight in _of(each)]
    assert len(held) == len({id(weight) for weight in held}) == len(list(shared.parameters()))


def _of(optimiser):
    return [weight for group in optimiser.param_groups for weight in group["params"]]


# --------------------------------------------------------------------------------------------------------------- runs


def test_a_head_that_nothing_feeds_cannot_be_built():
    with pytest.raises(ValueError, match="pooler=True"):
        ALBERTConfig(pooler=False)


