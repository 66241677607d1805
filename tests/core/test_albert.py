"""ALBERT: the counts of the paper, weights that are the same object, and a network that reads as its paths say."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from test_passages import BOOKS, ROWS, TOK

import core
from core.checkpoints import store
from core.checkpoints.safety.load_plan import meta_network
from core.data.passages import Books
from core.models import Batch, families
from core.models.albert import ALBERT, SHARED, ALBERTConfig
from core.models.bert import BERT, BERTConfig
from core.scoring import masked
from core.tools.evaluate import evaluate
from core.training.loop.optim import optimisers
from core.training.recipe import Follower, initial_network, recipes
from core.training.recipes import albert_mini, bert_mini

BODY = {"masked_lm": False, "sentence_order": False}


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


# ---------------- The recipe of albert-mini: pairs in their order or swapped, what it takes over from bert-mini, what it learns from.


SHAPE = {"n_layers": 2, "n_heads": 3, "d_model": 33, "d_ff": 13, "n_vocab": len(TOK), "n_ctx": 61}
CPU = torch.device("cpu")


@pytest.fixture
def start_stage(monkeypatch):
    """Return the function that makes either stage, small: `start_stage(kind)`."""
    config = replace(albert_mini.RECIPE.config, d_embed=7, **SHAPE)
    recipe = replace(albert_mini.RECIPE, config=config, inherit=lambda network: None, steps=4)
    monkeypatch.setattr(albert_mini, "RECIPE", recipe)
    monkeypatch.setattr(albert_mini, "STEPS", 4)
    monkeypatch.setattr(albert_mini, "SECOND_STEPS", 2)
    monkeypatch.setattr(albert_mini, "LONG", (16, 32, 61))
    monkeypatch.setattr(bert_mini, "CHECKED", 1)
    torch.manual_seed(3)
    teacher = BERT(replace(bert_mini.RECIPE.config, **SHAPE))
    return lambda kind: kind(BOOKS, BOOKS, TOK, 0, CPU, teacher)


@pytest.fixture
def task(start_stage):
    return start_stage(albert_mini.Orders)


@pytest.mark.parametrize("in_order", [True, False])
def test_ordered_pairs_are_neighbours_as_they_stand_or_swapped(in_order):
    found = 0
    for first in range(len(BOOKS.book)):
        same, pair = (
            BOOKS.ordered_pair(first, np.random.default_rng(first), way) for way in (True, in_order)
        )
        if pair is None:
            continue
        found += 1
        assert pair.follows == in_order and pair.after == same.after
        assert Counter([*pair.first, *pair.second]) == Counter([*same.first, *same.second])
        one, two = (pair.first, pair.second) if in_order else (pair.second, pair.first)
        start = BOOKS.bounds[first]
        assert one.tolist() == BOOKS.stream[start : start + len(one)].tolist()
        assert two.tolist() == same.second.tolist()
    assert found > 20


def test_half_of_the_pairs_of_a_batch_are_swapped_and_the_step_alone_decides(task):
    batch, n_tokens = task.batch(1)
    told = torch.cat([rows.follows for rows in batch.groups if rows.follows is not None])
    assert len(told) == task.mix_for(1).pairs and 0.3 < told.float().mean() < 0.7
    assert n_tokens == sum(int(rows.batch.real.sum()) for rows in batch.groups)
    again, _ = task.batch(1)
    assert all(torch.equal(a.batch.ids, b.batch.ids) for a, b in zip(batch.groups, again.groups, strict=True))


def test_windows_grow_and_the_pull_falls(task):
    sizes = [task.batch(step)[0].groups[0].batch.ids.shape[1] for step in range(4)]
    assert sizes == [16, 16, 32, 61]
    assert [task.batch(step)[0].teacher_weight for step in range(4)] == [2.0, 1.0, 0.0, 0.0]
    shares = [task.mix_for(step).share for step in range(4)]
    assert shares[0] == bert_mini.HIDDEN and shares[-1] == pytest.approx(0.15)


def test_the_second_stage_begins_as_bert_mini_tells_what_follows(start_stage):
    task = start_stage(albert_mini.SecondStage)
    torch.manual_seed(0)
    network = ALBERT(albert_mini.RECIPE.config)
    assert isinstance(task, Follower)
    task.follow(network)
    first = torch.randn(5, SHAPE["d_model"])[:, None]
    told = task.teacher.next_sentence(task.teacher.pooled(first))
    torch.testing.assert_close(network.sentence_order(network.pooled(first)), told)
    lessons = [task.batch(step)[0] for step in (4, 5)]
    assert [(lesson.teacher_weight, task.order_weight(lesson.teacher_weight)) for lesson in lessons] == [
        (2.0, 0.0),
        (0.0, 1.0),
    ]
    assert lessons[0].groups[0].batch.ids.shape == (96, SHAPE["n_ctx"])


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("kind", "step"), [(albert_mini.Orders, 0), (albert_mini.Orders, 3), (albert_mini.SecondStage, 4)]
)
def test_the_loss_is_both_objectives_and_the_distance_as_long_as_it_counts(start_stage, kind, step):
    task = start_stage(kind)
    torch.manual_seed(0)
    network = ALBERT(albert_mini.RECIPE.config)
    batch, _ = task.batch(step)
    loss = task.loss(network, batch)
    words, told, gaps, n, first, read = [], [], 0.0, 0, [], []
    for rows in batch.groups:
        hidden, theirs = [], []
        for net, into in ((network, hidden), (task.teacher, theirs)):
            tap = albert_mini.Streams()
            out = net(rows.batch, tap)
            into += tap.states
            if net is network:
                words.append(F.cross_entropy(net.logits(out)[rows.masked], rows.targets, reduction="none"))
                if rows.follows is not None:
                    order = net.sentence_order(net.pooled(out))
                    told.append(F.cross_entropy(order, (~rows.follows).long(), reduction="none"))
        assert len(hidden) == len(theirs) == 3  # what enters, and what leaves each layer
        if rows.follows is not None:
            for own, goal in zip(hidden[1:], theirs[1:], strict=True):
                own, goal = own[:, 0].detach(), goal[:, 0]
                first.append(spread(own, goal))
            read.append(
                spread(
                    *(
                        net.pooled(last[-1]).detach()
                        for net, last in ((network, hidden), (task.teacher, theirs))
                    )
                )
            )
        for own, goal in zip(hidden, theirs, strict=True):
            own, goal = own[rows.batch.real].detach(), goal[rows.batch.real].detach()
            gaps += float(((own - goal) ** 2).mean(-1).sum() / goal.var())
            n += len(goal)
    apart = gaps / n + (np.mean(first) + np.mean(read) if kind is albert_mini.SecondStage else 0.0)
    wanted = (
        torch.cat(words).mean()
        + task.order_weight(batch.teacher_weight) * torch.cat(told).mean()
        + batch.teacher_weight * apart
    )
    torch.testing.assert_close(loss, wanted, rtol=1e-4, atol=1e-5)
    loss.backward()
    assert all(
        weight.grad is not None
        and bool(weight.grad.any())
        == (task.order_weight(batch.teacher_weight) > 0 or "sentence_order" not in name)
        for name, weight in network.named_parameters()
    )
    assert all(weight.grad is None for weight in task.teacher.parameters())
    with torch.inference_mode():
        assert set(task.check(network.eval())) == {"valid_nats", "top1", "order"}


def spread(own: torch.Tensor, goal: torch.Tensor) -> float:
    """Return the share of the goal's variance that a fit leaves unexplained."""
    return float((own - goal).square().sum() / (goal - goal.mean(0)).square().sum())


def test_what_it_takes_over_from_bert_mini():
    recipe = recipes()["albert-mini"]
    network = initial_network(families()["albert"], recipe.config, 0, recipe.begin)
    bare = {name: value.clone() for name, value in network.state_dict().items()}
    recipe.inherit(network)
    held = store.load_weights(store.shipped_folder() / "bert-mini")
    words = held["embed.token.weight"]
    table, back = network.embed["token"].weight, network.embed["to_model"].weight
    gain = held["embed.norm.weight"]
    map_ = (back / (2 * gain[:, None])).detach()  # E 64, H 256: the root of four
    torch.testing.assert_close(map_.T @ map_, torch.eye(64), rtol=0, atol=1e-3)
    centre = words.mean(0)
    singular = torch.linalg.svdvals(words - centre)
    left = ((words - centre) - (table - centre @ map_) @ map_.T).square().sum()
    torch.testing.assert_close(
        left, singular[64:].square().sum(), rtol=1e-3, atol=1e-3
    )  # no table of this rank leaves less
    prefix = f"layers.{albert_mini.LAYER}."
    for name, weight in network.layers[0].named_parameters():
        assert torch.equal(weight, held[prefix + name])
    assert torch.equal(network.to_sentence_order.weight, bare["to_sentence_order.weight"])
    n = sum(weight.numel() for weight in network.parameters())
    assert n == 1_425_922 and 3 * n <= sum(value.numel() for value in held.values())


# ----------------------------------------------------------------------------------------------------------- measuring


def reader(**changes) -> core.Model:
    torch.manual_seed(3)
    family = families()["albert"]
    config = replace(family.config.tiny(), n_vocab=len(TOK), n_ctx=61, **changes)
    return core.Model("random-albert", family, config, family.network(config), TOK)


@pytest.mark.parametrize("says", [0, 1])
def test_a_model_that_always_gives_one_order_scores_the_share_of_it(tmp_path, says):
    path = tmp_path / "rows.txt"
    path.write_text("\n".join(ROWS) + "\n", encoding="utf-8")
    model = reader()
    model.network.to_sentence_order.weight.data.zero_()
    model.network.to_sentence_order.bias.data = torch.eye(2)[says]
    found = evaluate(model, path)
    share = found["pairs_in_order"]
    assert found["sentence_order_accuracy"] == pytest.approx(share if says == 0 else 1 - share, abs=2e-5)
    assert 0.2 < share < 0.8 and found["pairs"] > 20 and "next_sentence_accuracy" not in found
    assert {"items", "masked_top1", "masked_top5"} <= set(found)
    assert "pairs" not in evaluate(reader(sentence_order=False), path)


def test_walked_orders_do_not_overlap_and_are_neighbours():
    pairs = masked.sample_pairs(BOOKS, np.random.default_rng(0), Books.ordered_pair)
    assert len(pairs) > 20 and all(a.after <= b.after - 2 for a, b in pairwise(pairs))
    assert 0.2 < np.mean([pair.follows for pair in pairs]) < 0.8
