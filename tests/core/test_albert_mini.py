"""The recipe of albert-mini: pairs in their order or swapped, what it takes over from bert-mini, what it learns from."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from test_passages import BOOKS, ROWS, TOK

import core
from core.checkpoints import store
from core.data.passages import Books
from core.models import families
from core.models.albert import ALBERT
from core.models.bert import BERT
from core.scoring import masked
from core.tools.evaluate import evaluate
from core.training.loop.engine import Plan, train
from core.training.recipe import Follower, initial_network, recipes
from core.training.recipes import albert_mini, bert_mini

SHAPE = {"n_layers": 2, "n_heads": 3, "d_model": 33, "d_ff": 13, "n_vocab": len(TOK), "n_ctx": 61}
CPU = torch.device("cpu")


@pytest.fixture
def begun(monkeypatch):
    """Makes either stage, small: `begun(kind)`."""
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
def task(begun):
    return begun(albert_mini.Orders)


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


def test_the_second_stage_begins_as_bert_mini_tells_what_follows(begun):
    task = begun(albert_mini.SecondStage)
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
def test_the_loss_is_both_objectives_and_the_distance_as_long_as_it_counts(begun, kind, step):
    task = begun(kind)
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
    """What is left of the goal's variance."""
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
