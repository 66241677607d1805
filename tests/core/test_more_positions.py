"""New rows for positions: what a head that goes by position does beyond the old end; and bigbird-mini's recipe, which begins so."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
import torch
from test_passages import BOOKS, TOK

from core.checkpoints.store import load_weights, shipped_folder
from core.models import Batch, families
from core.trace import record
from core.training import more_positions as fitted
from core.training.loop.engine import Plan, train
from core.training.recipes import bigbird_mini

OLD, NEW = 256, 352
PATH = "layer.0.self_attn.pattern"
SHAPE = {"n_layers": 2, "n_heads": 3, "d_model": 33, "d_ff": 13, "n_vocab": len(TOK), "n_ctx": 61, "block": 4}


def full(table):
    """bert-mini's network with another table of positions."""
    config = replace(bigbird_mini.RECIPE.config, n_ctx=len(table), layout="full")
    weights = bigbird_mini.repeat_positions(load_weights(shipped_folder() / bigbird_mini.BASE))
    with torch.device("meta"):
        network = families()["bigbird"].network(config)
    network.load_state_dict(weights | {"embed.position.weight": table}, assign=True)
    return network.eval()


def before(table):
    """What the head of the word before (L0.H6 of bert-mini) gives to it from the new positions, in random words."""
    ids = torch.randint(5, 8000, (2, len(table)), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        _, trace = record(full(table), Batch(ids=ids, real=ids >= 0), keep=[PATH])
    given = trace[PATH][:, 6].diagonal(-1, 1, 2)
    return float(given[:, OLD + 1 :].mean()), float(given[:, : OLD - 1].mean())


@pytest.mark.slow
def test_the_head_of_the_word_before_finds_it_at_positions_it_never_learnt(monkeypatch):
    monkeypatch.setattr(fitted, "LAYERS", 1)
    monkeypatch.setattr(fitted, "TEXTS", 4)
    copies = bigbird_mini.repeat_positions(load_weights(shipped_folder() / bigbird_mini.BASE))[
        "embed.position.weight"
    ].float()[:NEW]
    table = fitted.more_positions(full(copies), OLD, NEW, steps=60)
    assert torch.equal(table[:OLD], copies[:OLD]) and not torch.equal(table[OLD:], copies[OLD:])
    (alike, alike_near), (apart, apart_near) = before(copies), before(table)
    assert alike < 0.55 and alike_near < 0.8, "a copy of a position takes half of the attention"
    assert apart > 0.7 and apart_near > 0.85


@pytest.fixture
def recipe(monkeypatch):
    config = replace(bigbird_mini.RECIPE.config, **SHAPE)
    small = replace(bigbird_mini.RECIPE, config=config, inherit=lambda network: None, steps=2, warm_up=1)
    monkeypatch.setattr(bigbird_mini, "RECIPE", small)
    monkeypatch.setattr(bigbird_mini, "PARTS", ((61, 1, "sparse"), (31, 2, "full")))
    return small


def test_a_batch_is_read_with_either_mask_and_the_step_alone_decides(recipe, tmp_path):
    task = bigbird_mini.Pages(BOOKS, BOOKS, TOK, 0, torch.device("cpu"))
    groups, n_tokens = task.batch(1)
    assert [tuple(rows.batch.ids.shape) for rows in groups[:2]] == [(1, 61), (2, 31)]
    assert len(groups[2].batch.ids) == bigbird_mini.SHORT
    assert n_tokens == sum(int(rows.batch.real.sum()) for rows in groups)
    again, _ = task.batch(1)
    assert all(torch.equal(a.batch.ids, b.batch.ids) for a, b in zip(groups, again, strict=True))
    network = families()["bigbird"].network(recipe.config).eval()
    read: list[tuple[str, int]] = []
    layer_masks = type(network).layer_masks

    def noting(self, real):
        read.append((self.cfg.layout, real.shape[1]))
        return layer_masks(self, real)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(network), "layer_masks", noting)
        task.loss(network, groups)
    assert read == [("sparse", 61), ("full", 31), ("sparse", groups[2].batch.ids.shape[1])]
    assert network.cfg.layout == "sparse"
    outcome = train(recipe, task, Plan(work=tmp_path, quiet=True), torch.device("cpu"))
    assert outcome.steps == 2 and outcome.log[-1]["valid_nats"] > 0


def test_it_begins_as_bert_mini_on_short_texts(monkeypatch):
    monkeypatch.setattr(fitted, "TEXTS", 1)
    monkeypatch.setattr(bigbird_mini, "more_positions", partial(fitted.more_positions, steps=1))
    network = families()["bigbird"].network(bigbird_mini.RECIPE.config)
    bigbird_mini.inherit(network)
    held = load_weights(shipped_folder() / bigbird_mini.BASE)
    for name, value in network.state_dict().items():
        old = held[name].float()
        assert torch.equal(value[: len(old)], old), name
    table = network.embed["position"].weight.detach()
    assert len(table) == bigbird_mini.RECIPE.config.n_ctx
    assert float(torch.cdist(table, table).fill_diagonal_(9).min()) > 0.05, "no two positions are alike"
