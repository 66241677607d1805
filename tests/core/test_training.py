"""The training engine and its recipes: it learns, it can be repeated, stopped and resumed, and no data is lost."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from dataclasses import replace
from itertools import count, islice, pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file

from core.checkpoints import history, open_model, steps_of, store
from core.data import corpora
from core.errors import InputError
from core.models import Batch, families
from core.text import Tokenizer
from core.text.learn import learn_byte_level_bpe
from core.tools import train as command
from core.training import pairs
from core.training.loop import engine
from core.training.loop.engine import Plan, train
from core.training.loop.loss import ROWS, cross_entropy
from core.training.loop.muon import Muon, orthogonal
from core.training.loop.optim import OUTSIDE, initialise, optimisers, schedule
from core.training.loop.prefetch import load_batches, to_device
from core.training.recipe import Recipe, recipes
from core.training.recipes import gpt_mini

CPU = torch.device("cpu")

CHECKED = 999

IDS = {"start": 0, "end": 0, "pad": 0}


def tiny_tokenizer() -> Tokenizer:
    return Tokenizer(learn_byte_level_bpe(["the cat sat"], 300, ("<|endoftext|>",)), **IDS)


class Copies:
    """Say a word again: 4 random tokens, then the same 4. The second half can be known, the first cannot."""

    def __init__(self, n_vocab: int = 11, seed: int = 0, interrupt_at: int | None = None):
        self.n_vocab, self.seed, self.interrupt_at = n_vocab, seed, interrupt_at
        self.tokenizer = tiny_tokenizer()
        self.losses = []
        self.steps = []

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


def recipe(task: Copies | None = None, **changes) -> Recipe:
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


def plan(work: Path, **changes) -> Plan:
    return replace(Plan(work=work, quiet=True), **changes)


def weights_of(outcome: engine.Outcome) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in outcome.network.state_dict().items()}


def assert_same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]):
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


# ---------------- The command that trains: it saves, resumes, goes on from a model, and names what is missing.


@pytest.fixture
def fake(monkeypatch, tmp_path):
    """A recipe by the name of copies; `python -m core.tools.train` in a folder of its own."""

    def prepare(folder: Path, work: Path, seed: int, _device: torch.device) -> Copies:
        corpora.find_file(folder, "some.txt")
        tokenizer = learn_byte_level_bpe(["the cat sat"], 300, ("<|endoftext|>",))
        tokenizer.save(str(work / "tokenizer.json"))
        task = Copies(n_vocab=11, seed=seed)
        made.append(task)
        return task

    made = []
    config = replace(families()["gpt"].config.tiny(), d_model=36, n_vocab=300, n_ctx=8)
    monkeypatch.setattr(
        command, "recipes", lambda: {"copies": recipe(prepare=prepare, config=config, steps=4)}
    )
    monkeypatch.chdir(tmp_path)
    (tmp_path / "some.txt").write_text("a\n")
    return made


def test_the_command_trains_saves_resumes_and_goes_on_from_a_model(fake, tmp_path, capsys):
    common = ["copies", "--data", str(tmp_path), "--out", str(tmp_path / "models"), "--device", "cpu"]
    assert command.main([*common, "--steps", "3", "--seed", "5"]) == 0
    assert "saved" in capsys.readouterr().out
    record = json.loads((tmp_path / "runs/copies/training.json").read_text())
    assert (record["steps"], record["seed"], record["tokens"]) == (3, 5, 3 * 32 * 7)
    assert str(tmp_path) not in json.dumps(record)
    assert "--data DATA" in record["command"]
    assert len(fake[-1].losses) == 3
    assert command.main([*common, "--resume"]) == 0  # the recipe's 4 steps, 3 of them done
    assert len(fake[-1].losses) == 1
    model = store.load_model(tmp_path / "models/copies", "copies", shipped=True)
    trained = torch.load(tmp_path / "runs/copies/checkpoint.pt", weights_only=True)["network"]
    for name, value in model.network.state_dict().items():
        assert torch.equal(value, trained[name].half().float()), name
    first = json.loads((tmp_path / "models/copies/training.json").read_text())
    assert command.main([*common, "--from", "copies", "--steps", "2", "--work", str(tmp_path / "other")]) == 0
    record = json.loads((tmp_path / "models/copies/training.json").read_text())
    assert fake[-1].steps == [4, 5] and (record["steps"], record["tokens"]) == (6, first["tokens"] * 6 // 4)
    assert record["command"] == first["command"] + " && " + record["command"].split(" && ")[1]
    assert "--from copies" in record["command"]
    assert [row["step"] for row in record["log"]] == [*(row["step"] for row in first["log"]), 6]
    assert record["log"][-1]["tokens"] == record["tokens"]
    again = store.load_model(tmp_path / "models/copies", "copies", shipped=True)
    assert again.run("the").logits.shape == (len(model.run("the").ids), 300)


def test_the_command_names_what_is_missing(fake, tmp_path, capsys):
    assert (
        command.main(
            ["copies", "--data", str(tmp_path / "nowhere"), "--out", str(tmp_path), "--device", "cpu"]
        )
        == 2
    )
    assert "some.txt" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        command.main(["copies", "--data", str(tmp_path), "--steps", "3", "--minutes", "1"])
    with pytest.raises(SystemExit):
        command.main(["unknown", "--data", str(tmp_path)])
    assert "invalid choice" in capsys.readouterr().err
    assert not list((tmp_path).glob("*/model.safetensors"))
    assert store.shipped_folder().name == "models"


# ---------------- The batches that recipes learn from: what is in them, in which order, and that a step can be asked for again.


def translator_pairs(n: int, seed: int = 1) -> list[tuple[list[int], list[int]]]:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 40, (n, 2))
    return [
        ([int(i) for i in rng.integers(3, 90, a)], [int(i) for i in rng.integers(3, 90, b)]) for a, b in sizes
    ]


def test_batches_by_length_hold_every_pair_once_an_epoch_within_the_budget(monkeypatch):
    monkeypatch.setattr(pairs, "POOL", 2)
    rows = [
        ([3 + i, *source], target) for i, (source, target) in enumerate(translator_pairs(1000))
    ]  # each can be told
    task = pairs.SentencePairs(rows, rows[:3], tiny_tokenizer(), 7, CPU)
    orders, step = [], 0
    for _ in range(2):
        seen = []
        tokens = 0
        while len(seen) < len(rows):
            (batch, wanted), n_tokens = task.batch(step)
            longest = max(batch.source.shape[1], wanted.shape[1] - 1)
            assert 2 * len(wanted) * longest <= pairs.BATCH_TOKENS
            assert torch.equal(batch.source_real, batch.source != 0)
            seen += (batch.source[:, 0] - 3).tolist()
            tokens += n_tokens
            step += 1
        assert sorted(seen) == list(range(len(rows)))
        assert tokens == sum(len(source) + len(target) for source, target in rows)
        orders.append(seen)
    assert orders[0] != orders[1]


def test_batches_of_pairs_are_of_about_equal_length():
    task = pairs.SentencePairs(rows := translator_pairs(3000), rows[:3], tiny_tokenizer(), 7, CPU)
    padded = real = 0
    for step in range(10):
        (batch, wanted), _ = task.batch(step)
        longest = torch.maximum(batch.source_real.sum(1), (wanted != 0).sum(1) - 1)
        padded += len(wanted) * int(longest.max())
        real += int(longest.sum())
    assert real / padded > 0.9


def test_the_same_step_gives_the_same_batch_also_backwards():
    rows = translator_pairs(300)
    task = pairs.SentencePairs(rows, rows[:3], tiny_tokenizer(), 7, CPU)
    early = task.batch(1)[0][1]
    late = task.batch(40)[0][1]
    assert torch.equal(task.batch(1)[0][1], early)
    again = pairs.SentencePairs(rows, rows[:3], tiny_tokenizer(), 7, CPU)
    assert torch.equal(again.batch(40)[0][1], late)


def test_what_the_translator_writes_is_shifted_by_one():
    rows = [([5, 6], [7, 8, 9]), ([4], [10])]
    inputs, wanted = pairs.SentencePairs(rows, rows, tiny_tokenizer(), 0, CPU).valid[0]
    assert inputs.ids.tolist() == [[1, 7, 8, 9], [1, 10, 0, 0]]
    assert wanted.tolist() == [[7, 8, 9, 2], [10, 2, 0, 0]]
    assert inputs.source.tolist() == [[5, 6], [4, 0]]


def stream_task(n_blocks: int, seed: int = 2) -> gpt_mini.Windows:
    stream = np.arange(n_blocks * 512 + 513, dtype=np.uint32)  # each token is its own place
    return gpt_mini.Windows(stream, np.zeros(600, dtype=np.uint16), tiny_tokenizer(), seed, CPU)


def test_windows_cover_the_stream_once_an_epoch():
    per_batch = gpt_mini.BATCH_TOKENS // 512
    n_blocks = 5 * per_batch + 3  # five batches an epoch leave three blocks out, others in the next
    task = stream_task(n_blocks)
    left_out, firsts = [], []
    for epoch in range(3):
        seen = []
        for step in range(5 * epoch, 5 * epoch + 5):
            rows, n_tokens = task.batch(step)
            assert rows.shape == ((per_batch, 513) if step % 4 == 3 else (2 * per_batch, 257))
            assert n_tokens == gpt_mini.BATCH_TOKENS
            assert torch.equal(
                rows[:, 1:], rows[:, 1:2] + torch.arange(rows.shape[1] - 1)
            )  # neighbours in the stream
            fresh = rows[:, 0] != rows[:, 1] - 1
            assert not rows[fresh, 0].any()  # the start token, or what stood there
            seen += rows[:, 1:].flatten().tolist()
        assert len(seen) == len(set(seen)) == 5 * per_batch * 512
        firsts.append(seen[0])
        left_out.append(set(range(513, n_blocks * 512)) - set(seen))
    assert len(set(firsts)) == 3
    assert not left_out[0] & left_out[1] & left_out[2]


def test_some_windows_begin_as_a_text_does():
    task = stream_task(200)
    rows = torch.cat([task.batch(step)[0][:, :2] for step in range(25)])
    share = float((rows[:, 0] == 0).float().mean())
    assert 0.03 < share < 0.2
    assert torch.equal(task.batch(3)[0], stream_task(200).batch(3)[0])


def test_a_stream_has_a_boundary_where_a_book_begins(tmp_path):
    text = tiny_tokenizer()
    (tmp_path / "a.txt").write_text("=== one\nthe cat\n=== two\nsat\n", encoding="utf-8")
    newline = list(text.encode("\n").ids)
    expected = [0, 0, *text.encode("the cat").ids, *newline, 0, *text.encode("sat").ids, *newline]
    assert gpt_mini.encode_file(tmp_path / "a.txt", text).tolist() == expected


def test_data_files(tmp_path):
    import lzma

    (tmp_path / "a.tsv").write_text("Go.\tVe.\n\nHi.\tHola.\tmore\n", encoding="utf-8")
    assert corpora.read_pairs(corpora.find_file(tmp_path, "a.tsv")) == [("Go.", "Ve."), ("Hi.", "Hola.")]
    with lzma.open(tmp_path / "b.txt.xz", "wt", encoding="utf-8") as out:
        out.write("uno\ndos")
    assert list(corpora.read_lines(corpora.find_file(tmp_path, "b.txt"))) == ["uno", "dos"]
    with pytest.raises(InputError, match=r"no c.txt\(.xz\)"):
        corpora.find_file(tmp_path, "c.txt")
    (tmp_path / "d.tsv").write_text("Go.\tVe.\nHi.\t \n", encoding="utf-8")
    with pytest.raises(InputError, match="Line 2"):
        corpora.read_pairs(tmp_path / "d.tsv")


# ---------------- Weights from the course of a training: kept on the way, saved beside the last ones, opened by their step.


KEPT = (0, 2, 5)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder made as `core.tools.train` makes it, and the weights that were kept."""
    work = tmp_path_factory.mktemp("work")
    config = replace(families()["gpt"].config.tiny(), d_model=36, n_vocab=300, n_ctx=8)
    made = recipe(Copies(n_vocab=300), config=config, keep_at=(*KEPT, 99))
    outcome = train(made, Copies(n_vocab=300), plan(work, steps=5), torch.device("cpu"))
    (work / "tokenizer.json").write_text(tiny_tokenizer().to_json())
    command.save(outcome, made, work, work / "out", 0, [])
    return work / "out" / made.name, engine.history(work, made.keep_at), outcome


def test_what_was_asked_for_is_kept(trained):
    folder, kept, outcome = trained
    assert tuple(kept) == history.steps(folder) == KEPT
    last = outcome.network.state_dict()
    assert all(torch.equal(kept[5][name], last[name]) for name in last)
    assert any(not torch.equal(kept[0][name], last[name]) for name in last)


def test_a_step_is_opened_with_its_weights(trained):
    folder, kept, _ = trained
    for step in KEPT:
        early = open_model(folder, step=step)
        assert early.name.endswith(f"at step {step}") and not any(
            w.requires_grad for w in early.network.parameters()
        )
        for name, value in early.network.state_dict().items():
            torch.testing.assert_close(value, kept[step][name].half().float(), rtol=0, atol=0)
    final = open_model(folder).run("cat").logits
    assert (open_model(folder, step=5).run("cat").logits == final).all()
    assert abs(open_model(folder, step=0).run("cat").logits - final).max() > 1e-3


def test_a_step_that_was_not_kept_is_refused_with_those_that_were(trained):
    with pytest.raises(InputError, match="no weights of step 3") as caught:
        open_model(trained[0], step=3)
    assert "0, 2, 5" in caught.value.rule


def test_most_models_have_no_history():
    assert steps_of("gpt-mini") == () and steps_of("no such model") == ()
    with pytest.raises(InputError, match="no weights of step 0"):
        open_model("gpt-mini", step=0)


@pytest.mark.parametrize(
    ("names", "metadata", "said"),
    [
        ({"x": (2, 3)}, {"steps": "0 2"}, "cannot be read"),
        ({"x": (2, 3)}, {}, "does not say its steps"),
        ({"x": (1,)}, {"steps": "-1 a"}, "its steps"),
    ],
)
def test_a_history_that_does_not_fit_is_refused(trained, tmp_path, names, metadata, said):
    folder = tmp_path / "model"
    folder.mkdir()
    for path in trained[0].iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    save_file(
        {name: torch.zeros(shape) for name, shape in names.items()}, folder / history.FILE, metadata=metadata
    )
    with pytest.raises(InputError, match=said):
        open_model(folder, step=0)


def test_weights_of_an_earlier_training_are_not_taken_for_those_of_this_one(tmp_path):
    made = recipe(Copies(), keep_at=KEPT)
    train(made, Copies(), plan(tmp_path, steps=5), torch.device("cpu"))
    train(made, Copies(), plan(tmp_path, steps=3), torch.device("cpu"))
    assert tuple(engine.history(tmp_path, KEPT)) == (0, 2)


# ---------------- Batches that other processes make ahead are those that the task gives, in their order.


class Counted:
    """Each batch says which step it is of."""

    def batch(self, step: int) -> tuple[tuple[Batch, list[torch.Tensor]], int]:
        ids = torch.full((1, 2), step)
        return (Batch(ids=ids, real=ids >= 0), [ids + 1]), step


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_come_in_order_from_any_step(workers):
    found = list(islice(load_batches(Counted(), count(5), torch.device("cpu"), workers), 40))
    assert [n for _, n in found] == list(range(5, 45))
    assert all(
        batch.ids.tolist() == [[n, n]] and more[0].tolist() == [[n + 1, n + 1]] for (batch, more), n in found
    )


def test_everything_that_holds_tensors_moves():
    ids = torch.ones(1, 2)
    batch, more, n = to_device((Batch(ids=ids, real=ids > 0), [ids], 3), torch.device("meta"))
    assert batch.ids.is_meta and batch.real.is_meta and more[0].is_meta and n == 3
    assert batch.source is None and not ids.is_meta


# ---------------- Our Muon moves weights as torch's does.


SHAPES = ((6, 6), (12, 6), (6, 6), (6, 12), (12, 6))


def moved(kind: type[torch.optim.Muon]) -> list[torch.Tensor]:
    rng = torch.Generator().manual_seed(0)
    weights = [torch.nn.Parameter(torch.randn(shape, generator=rng)) for shape in SHAPES]
    optim = kind(
        [*weights, torch.nn.Parameter(torch.ones(2, 2))],
        lr=0.05,
        momentum=0.9,
        weight_decay=0.1,
        nesterov=True,
    )
    for _ in range(4):
        for weight in weights:
            weight.grad = torch.randn(weight.shape, generator=rng)
        optim.step()
    return [weight.detach() for weight in weights]


def test_the_same_steps_as_one_by_one():
    for ours, theirs, before in zip(moved(Muon), moved(torch.optim.Muon), SHAPES, strict=True):
        assert ours.shape == before
        assert (ours - theirs).abs().max() < 0.004  # a step is 0.05 long; bfloat16 has 8 bits


def test_orthogonal_matrices_have_singular_values_near_one():
    found = torch.linalg.svdvals(
        orthogonal(
            torch.randn(3, 20, 8, generator=torch.Generator().manual_seed(1)),
            (3.4445, -4.775, 2.0315),
            5,
            1e-7,
        ).float()
    )
    assert found.min() > 0.6 and found.max() < 1.3


def test_it_is_saved_and_read_as_torchs():
    weight = torch.nn.Parameter(torch.ones(3, 3))
    weight.grad = torch.eye(3)
    optim = Muon([weight], lr=0.1)
    optim.step()
    again = torch.optim.Muon([weight], lr=0.1)
    again.load_state_dict(optim.state_dict())
    assert torch.equal(again.state[weight]["momentum_buffer"], optim.state[weight]["momentum_buffer"])
