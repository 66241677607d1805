"""The training engine and its recipes: it learns, it can be repeated, stopped and resumed, and no data is lost."""

import json
import os
import signal
import threading
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from core.models import Batch, families
from core.text import Tokenizer
from core.text.learn import learn_byte_level_bpe
from core.training.loop import engine
from core.training.loop.engine import Plan, train
from core.training.loop.loss import ROWS, cross_entropy
from core.training.loop.optim import OUTSIDE, initialise, optimisers, schedule
from core.training.recipe import Recipe, recipes

CPU = torch.device("cpu")

CHECKED = 999

IDS = {"start": 0, "end": 0, "pad": 0}


def tiny_tokenizer() -> Tokenizer:
    return Tokenizer(learn_byte_level_bpe(["the cat sat"], 300, ("<|endoftext|>",)), **IDS)


class Copies:
    """Say a word again: 4 random tokens, then the same 4. The second half can be known, the first cannot."""

    def __init__(self, n_vocab: int = 11, seed: int = 0, interrupt_at: int | None = None) -> None:
        self.n_vocab, self.seed, self.interrupt_at = n_vocab, seed, interrupt_at
        self.tokenizer = tiny_tokenizer()
        self.losses: list[float] = []
        self.steps: list[int] = []

    def batch(self, step: int) -> tuple[torch.Tensor, int]:
        if step == self.interrupt_at:
            raise KeyboardInterrupt
        self.steps += [step] if step != CHECKED else []
        rng = torch.Generator().manual_seed(self.seed * 10_000 + step)
        word = torch.randint(1, self.n_vocab, (32, 4), generator=rng)
        return torch.cat((word, word), 1), 32 * 7

    def loss(self, network: torch.nn.Module, batch: torch.Tensor) -> torch.Tensor:
        ids = batch[:, :-1]
        logits = network.logits(network(Batch(ids=ids, real=torch.ones_like(ids, dtype=torch.bool))))
        loss = F.cross_entropy(logits[:, 3:].flatten(0, 1).float(), batch[:, 4:].flatten())
        if network.training:
            self.losses.append(float(loss.detach()))
        return loss

    def check(self, network: torch.nn.Module) -> dict[str, float]:
        return {"valid_nats": float(self.loss(network, self.batch(CHECKED)[0]))}


def recipe(task: Copies | None = None, **changes: object) -> Recipe:
    config = replace(families()["gpt"].config.tiny(), d_model=36, n_vocab=11, n_ctx=8, dropout=0.1)
    made = Recipe(
        name="copies",
        family="gpt",
        config=config,
        steps=30,
        prepare=lambda _data, _work, seed, _device: task or Copies(seed=seed),
        warm_up=5,
        ids=IDS,
    )
    return replace(made, **changes)


def plan(work: Path, **changes: object) -> Plan:
    return replace(Plan(work=work, quiet=True), **changes)


def weights_of(outcome: engine.Outcome) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in outcome.network.state_dict().items()}


def assert_same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> None:
    assert set(a) == set(b)
    for name in a:
        assert torch.equal(a[name], b[name]), name


@pytest.mark.slow
def test_it_learns(tmp_path):
    task = Copies()
    outcome = train(recipe(), task, plan(tmp_path, steps=150), CPU)
    first, last = np.mean(task.losses[:5]), np.mean(task.losses[-5:])
    assert first > 2.0  # about log 11, nothing known
    assert last < 0.6 * first
    assert outcome.log[-1]["valid_nats"] < 0.6 * first
    assert (outcome.steps, outcome.tokens, outcome.stopped) == (150, 150 * 32 * 7, False)
    assert not outcome.network.training


def test_the_log_is_written_as_lines(tmp_path):
    train(recipe(), Copies(), plan(tmp_path, steps=6, check_every=3), CPU)
    rows = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == [3, 6, 6]
    assert all(row["valid_nats"] > 0 and row["tokens"] == row["step"] * 32 * 7 for row in rows)


def test_same_seed_same_losses_other_seed_others(tmp_path):
    runs = []
    for number, seed in enumerate((3, 3, 4)):
        task, work = Copies(), tmp_path / str(number)
        work.mkdir()
        outcome = train(recipe(), task, plan(work, steps=4, seed=seed), CPU)
        runs.append((task.losses, weights_of(outcome)))
    assert runs[0][0] == runs[1][0]
    assert_same(runs[0][1], runs[1][1])
    assert runs[0][0] != runs[2][0]


def test_a_resumed_run_equals_one_that_was_not_interrupted(tmp_path):
    """Bitwise, dropout and both optimisers included; the schedule is that of the whole length."""
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    whole.mkdir()
    parts.mkdir()
    straight = train(recipe(), Copies(), plan(whole, steps=8), CPU)
    stopped = train(recipe(), Copies(interrupt_at=5), plan(parts, steps=8), CPU)
    assert (stopped.stopped, stopped.steps) == (True, 5)
    torch.manual_seed(12345)  # whatever happened in between
    resumed = train(recipe(), Copies(), plan(parts, steps=8, resume=True), CPU)
    assert (resumed.stopped, resumed.steps, resumed.tokens) == (False, 8, straight.tokens)
    assert_same(weights_of(resumed), weights_of(straight))
    assert resumed.log[-1]["valid_nats"] == straight.log[-1]["valid_nats"]


def test_an_interrupt_keeps_checkpoint_and_weights(tmp_path):
    outcome = train(recipe(), Copies(interrupt_at=4), plan(tmp_path), CPU)
    held = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    assert (outcome.stopped, held["step"]) == (True, 4)
    assert_same(held["network"], weights_of(outcome))
    assert [path.name for path in tmp_path.glob("*.new")] == []


@pytest.fixture
def listening():
    """Ctrl-C as a terminal has it: whoever starts tests in the background has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("listening")
def test_ctrl_c_ends_after_the_step_in_hand(tmp_path):
    """The signal itself, sent in the middle of a step: that step is done whole."""

    class Pressed(Copies):
        def loss(self, network: torch.nn.Module, batch: torch.Tensor) -> torch.Tensor:
            if network.training and len(self.losses) == 2:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.01)
            return super().loss(network, batch)

    before = signal.getsignal(signal.SIGINT)
    (tmp_path / "a").mkdir()
    outcome = train(recipe(), Pressed(), plan(tmp_path, steps=6), CPU)
    assert (outcome.stopped, outcome.steps) == (True, 3)
    assert signal.getsignal(signal.SIGINT) is before
    resumed = train(recipe(), Copies(), plan(tmp_path, steps=6, resume=True), CPU)
    assert_same(
        weights_of(resumed), weights_of(train(recipe(), Copies(), plan(tmp_path / "a", steps=6), CPU))
    )


def test_it_runs_outside_the_main_thread(tmp_path):
    found = []
    thread = threading.Thread(
        target=lambda: found.append(train(recipe(), Copies(), plan(tmp_path, steps=2), CPU).steps)
    )
    thread.start()
    thread.join()
    assert found == [2]


@pytest.mark.slow
def test_minutes_end_in_time(tmp_path):
    begun = time.perf_counter()
    outcome = train(recipe(steps=10**9), Copies(), plan(tmp_path, minutes=0.02), CPU)
    assert 1.2 <= outcome.seconds < 4
    assert time.perf_counter() - begun < 8
    assert outcome.steps > 3


def test_a_checkpoint_is_written_on_the_way(tmp_path, monkeypatch):
    steps = []
    monkeypatch.setattr(engine, "_save", lambda _path, _network, _optims, state: steps.append(state.step))
    train(recipe(), Copies(), plan(tmp_path, steps=3, save_every=0.0), CPU)
    assert steps == [1, 2, 3, 3]


def test_given_weights_are_the_beginning(tmp_path):
    (tmp_path / "b").mkdir()
    first = train(recipe(), Copies(), plan(tmp_path, steps=15), CPU)
    task = Copies(seed=1)
    train(recipe(lr=0.0, matrix_lr=0.0), task, plan(tmp_path / "b", steps=1, weights=weights_of(first)), CPU)
    fresh = Copies(seed=1)
    train(recipe(lr=0.0, matrix_lr=0.0), fresh, plan(tmp_path / "b", steps=1), CPU)
    assert task.losses[0] < fresh.losses[0]


@pytest.mark.parametrize("family", sorted(families()))
def test_muon_gets_the_matrices_of_the_blocks_and_nothing_else(family):
    network = families()[family].network(families()[family].config.tiny())
    adam, *muon = optimisers(network, lr=1e-3, matrix_lr=0.02, weight_decay=0.1)
    names = {id(weight): name for name, weight in network.named_parameters()}
    matrices = {
        names[id(weight)] for each in muon for group in each.param_groups for weight in group["params"]
    }
    others = {
        names[id(weight)]: group["weight_decay"] for group in adam.param_groups for weight in group["params"]
    }
    assert bool(matrices) == (family != "skipgram")
    assert all(network.get_parameter(name).ndim == 2 and not name.startswith(OUTSIDE) for name in matrices)
    assert matrices.isdisjoint(others)
    assert matrices | set(others) == set(names.values())
    passed = {
        name for name in others if network.get_parameter(name).ndim == 2 and not name.startswith(OUTSIDE)
    }
    assert all(name.endswith("from_hidden.weight") for name in passed), "a state passes these at every step"
    assert not {name for name in matrices if name.endswith("from_hidden.weight")}
    assert all((decay > 0) == (network.get_parameter(name).ndim >= 2) for name, decay in others.items())


def test_schedule_values():
    assert [schedule(0.0, step, 4) for step in range(5)] == [0.25, 0.5, 0.75, 1.0, 1.0]
    assert schedule(0.5, 100, 4) == pytest.approx(0.5)
    assert schedule(0.25, 100, 4) == pytest.approx(0.8535534)
    assert schedule(1.0, 100, 4) == pytest.approx(0.0)
    assert schedule(1.5, 100, 4) == pytest.approx(0.0)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=20).map(sorted))
def test_after_the_warm_up_the_rate_never_rises(places):
    rates = [schedule(place, 1000, 10) for place in places]
    assert all(0 <= later <= earlier <= 1 for earlier, later in pairwise(rates))


def test_initial_weights():
    network = families()["gpt"].network(
        replace(families()["gpt"].config.tiny(), n_layers=8, d_model=60, d_ff=400)
    )
    initialise(network, 8)
    attend = network.layers[3].self_attn
    assert float(attend.to_q.weight.detach().std()) == pytest.approx(0.6 * 60**-0.5, rel=0.1)
    assert float(attend.to_out.weight.detach().std()) == pytest.approx(0.6 * 60**-0.5 / 4, rel=0.1)
    assert not attend.to_q.bias.any()


def test_recipes_are_found_by_name():
    assert {"gpt-mini", "translator-en-es"} <= set(recipes())
    for name, made in recipes().items():
        assert made.name == name
        assert made.family in families()
        assert isinstance(made.config, families()[made.family].config)
        assert set(made.ids.values()) <= set(range(made.config.n_vocab))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("n", [1, ROWS, ROWS + 7])
def test_cross_entropy_by_rows_is_torchs(n, biased, smoothing):
    torch.manual_seed(n)
    hidden, table, wanted = (
        torch.randn(n, 5, requires_grad=True),
        torch.randn(31, 5, requires_grad=True),
        torch.randint(31, (n,)),
    )
    bias = torch.randn(31, requires_grad=True) if biased else None
    learnt = [hidden, table, *([bias] if biased else [])]
    theirs = F.cross_entropy(F.linear(hidden, table, bias), wanted, label_smoothing=smoothing)
    ours = cross_entropy(hidden, table, wanted, bias=bias, smoothing=smoothing)
    torch.testing.assert_close(ours, theirs)
    for mine, other in zip(
        torch.autograd.grad(2 * ours, learnt), torch.autograd.grad(2 * theirs, learnt), strict=True
    ):
        torch.testing.assert_close(mine, other)
    with torch.no_grad():
        torch.testing.assert_close(
            cross_entropy(hidden, table, wanted, bias=bias, smoothing=smoothing), theirs
        )


def test_cross_entropy_in_bfloat16_is_close():
    torch.manual_seed(0)
    hidden, table, wanted = (
        torch.randn(64, 16, requires_grad=True),
        torch.randn(50, 16, requires_grad=True),
        torch.randint(50, (64,)),
    )
    exact = cross_entropy(hidden, table, wanted)
    with torch.autocast("cpu", torch.bfloat16):
        rough = cross_entropy(hidden, table, wanted)
    assert rough.dtype == torch.float32 and rough.item() != exact.item()
    assert abs(rough.item() - exact.item()) < 0.02
    for mine, other in zip(
        torch.autograd.grad(rough, (hidden, table)), torch.autograd.grad(exact, (hidden, table)), strict=True
    ):
        assert (mine - other).abs().max() < 0.02 * other.abs().max() + 1e-4
