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
def test_a_layer_that_shares_is_changed_with_the_first(shared):
    layers = ALBERT(replace(ALBERTConfig.tiny(), shared=shared)).layers
    with torch.no_grad():
        layers[0].ffn.to_out.weight.fill_(2.5)
        layers[0].self_attn.to_q.weight.fill_(1.5)
    assert bool((layers[1].ffn.to_out.weight == 2.5).all()) == ("ffn" in SHARED[shared])
    assert bool((layers[1].self_attn.to_q.weight == 1.5).all()) == ("self_attn" in SHARED[shared])


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


def test_a_folder_holds_the_shared_layer_once(tmp_path):
    made = build("albert")
    made.tokenizer._backend.save(str(tmp_path / "tokens.json"))
    folder = store.save_model(
        tmp_path / "model",
        family="albert",
        config=made.config,
        weights=made.network.state_dict(),
        tokenizer=tmp_path / "tokens.json",
        ids=IDS,
        training={},
    )
    opened = load_model(folder, "again", shipped=True)
    assert opened.n_parameters == made.n_parameters
    size = (folder / "model.safetensors").stat().st_size
    assert 2 * made.n_parameters < size < 2 * made.n_parameters + 6000  # the header names each tensor once
    np.testing.assert_allclose(opened.run("She has.").logits, made.run("She has.").logits, atol=0.05)
    assert len({layer.ffn.to_out.weight.data_ptr() for layer in opened.network.layers}) == 1


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


@pytest.fixture(scope="module")
def reader():
    return build("albert")


def test_outputs_are_those_of_the_network(reader):
    run = reader.run("She has.", pair="It was tired.")
    assert set(run.segments) == {0, 1} and run.kinds == ("self",)
    assert tuple(reader.outputs) == ("logits", "pooled", "sentence_order")
    assert run.logits.shape == (len(run.tokens), reader.config.n_vocab) and run.pooled.shape == (33,)
    np.testing.assert_array_equal(run.trace["sentence_order"], run.sentence_order)
    assert run.sentence_order.shape == (2,)
    assert run.trace.axes("embed.sum") == ("pos", "d_embed") and run.trace.axes("masked_lm.act") == (
        "pos",
        "d_embed",
    )
    with pytest.raises(core.InputError, match="no output 'next_sentence'"):
        _ = run.next_sentence


def test_every_virtual_layer_has_paths_of_its_own_and_an_edit_meets_one_call(reader):
    run = reader.run("She has a white car.")
    first, second = (run.trace[f"layer.{i}.self_attn.pattern"] for i in range(2))
    assert np.abs(first - second).max() > 1e-3  # the same weights, not the same numbers
    np.testing.assert_array_equal(run.trace["layer.1.resid_in"], run.trace["layer.0.resid_out"])
    cut = reader.run("She has a white car.", edits=[core.edits.ZeroHead("layer.1.self_attn.heads", 0)])
    np.testing.assert_array_equal(cut.trace["layer.0.resid_out"], run.trace["layer.0.resid_out"])
    assert np.abs(cut.trace["layer.1.resid_out"] - run.trace["layer.1.resid_out"]).max() > 1e-3


def test_the_embedding_is_what_the_equations_say(reader):
    run, embed = reader.run("She has.", pair="It was."), reader.network.embed
    trace = run.trace
    np.testing.assert_allclose(
        trace["embed.sum"],
        trace["embed.token"] + trace["embed.segment"] + trace["embed.position"],
        atol=1e-6,
    )
    hot = np.eye(reader.config.n_vocab)[list(run.ids)]
    np.testing.assert_allclose(hot @ embed["token"].weight.numpy(), trace["embed.token"], atol=1e-6)
    wide = trace["embed.norm.out"] @ embed["to_model"].weight.numpy().T + embed["to_model"].bias.numpy()
    np.testing.assert_allclose(wide, trace["embed.out"], atol=1e-4)


def test_a_checkpoint_without_a_head_runs_and_only_asking_for_it_raises():
    body = build("albert", masked_lm=False, pooler=False, sentence_order=False)
    run = body.run("She has a white car.", pair="It was.")
    assert run.hidden().shape == (3, len(run.tokens), 33)
    for ask in (lambda: run.logits, lambda: run.pooled, lambda: run.sentence_order):
        with pytest.raises(core.InputError, match="This checkpoint has no"):
            ask()


def test_a_head_that_nothing_feeds_cannot_be_built():
    with pytest.raises(ValueError, match="pooler=True"):
        ALBERTConfig(pooler=False)


def test_a_network_that_shares_nothing_and_has_a_table_as_wide_as_itself_is_berts_body():
    """The block is BERT's: with the identity behind the norm of the sum the two compute the same."""
    torch.manual_seed(0)
    tiny = BERTConfig.tiny()
    theirs = BERT(tiny)
    ours = ALBERT(
        replace(ALBERTConfig.tiny(), shared="none", d_embed=tiny.d_model, activation="gelu", pooler=True)
    )
    for weight in theirs.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    state = {name: value for name, value in theirs.state_dict().items() if name in ours.state_dict()}
    state |= {"embed.to_model.weight": torch.eye(tiny.d_model), "embed.to_model.bias": torch.zeros(33)}
    assert set(ours.load_state_dict(state, strict=False).missing_keys) == {
        "to_sentence_order.weight",
        "to_sentence_order.bias",
    }
    ids = torch.tensor([[1, 5, 7, 2]])
    batch = Batch(ids=ids, real=ids >= 0, segments=(ids > 4).long())
    torch.testing.assert_close(ours(batch), theirs(batch))
    torch.testing.assert_close(ours.logits(ours(batch)), theirs.logits(theirs(batch)))
