"""The budgets of the core as ratios inside one run: alternating, one thread, medians. `pytest -m bench -s`."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest
import torch

import core
from core.models import Batch
from core.trace import OFF, Recorder
from tests.bench.measuring import judge, seconds

pytestmark = pytest.mark.bench
transformers = pytest.importorskip("transformers")

MINI = {"n_layer": 6, "n_head": 8, "n_embd": 256, "n_inner": 1024, "vocab_size": 4096, "n_positions": 512}
SMALL = {"n_layer": 12, "n_head": 12, "n_embd": 768, "vocab_size": 50257, "n_positions": 1024}
THREADS = 1
KEEP = ("*.pattern", "*.resid_in", "*.resid_out")


def pair(folder: Path, shape: dict[str, int]):
    """The same random weights twice: opened by transformers (eager) and by us."""
    torch.manual_seed(0)
    config = transformers.GPT2Config(**shape, bos_token_id=0, eos_token_id=0, attn_implementation="eager")
    theirs = transformers.GPT2LMHeadModel(config).eval()
    theirs.save_pretrained(folder)
    from core.text.learn import learn_byte_level_bpe

    learn_byte_level_bpe(["a b c"], 300, ("<|endoftext|>",)).save(str(folder / "tokenizer.json"))
    return theirs, core.open_model(str(folder)).network


@pytest.fixture(scope="module")
def mini(tmp_path_factory):
    return pair(tmp_path_factory.mktemp("mini"), MINI)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return pair(tmp_path_factory.mktemp("small"), SMALL)


def alternate(*calls, rounds: int):
    """Median milliseconds of each call, the calls taking turns so that a noisy moment hits all."""
    times: list[list[float]] = [[] for _ in calls]
    with torch.inference_mode():
        for call in calls:
            for _ in range(3):
                call()
        for _ in range(rounds):
            for taken, call in zip(times, calls, strict=True):
                taken.append(seconds(call))
    return [1000 * statistics.median(taken) for taken in times]


def batch_of(n: int, n_vocab: int) -> Batch:
    ids = torch.randint(n_vocab, (1, n), generator=torch.Generator().manual_seed(n))
    return Batch(ids=ids, real=torch.ones_like(ids, dtype=torch.bool))


def watched(network, batch, *, logits: bool = True):
    tap = Recorder(KEEP)
    hidden = network(batch, tap=tap)
    scores = network.logits(hidden) if logits else None
    return scores, tap.close()


def theirs_watched(model, batch):
    return model(batch.ids, output_attentions=True, output_hidden_states=True, use_cache=False)


@pytest.mark.parametrize("n", [24, 64])
def test_keeping_every_pattern_costs_next_to_nothing(mini, n):
    _, ours = mini
    batch = batch_of(n, 4096)

    def traced():
        tap = Recorder(("*.pattern",))
        ours(batch, tap=tap)
        tap.close()

    off, on = alternate(lambda: ours(batch, tap=OFF), traced, rounds=200)
    beside = f"{on:.2f} / {off:.2f} ms"
    judge(
        f"patterns kept, {n} tokens",
        min(on - 1.05 * off, on - off - 0.3),
        0,
        "ms above 1.05 or + 0.3 ms",
        beside,
    )


@pytest.mark.parametrize(("n", "budget"), [(24, 0.85), (64, 0.92)])
def test_watched_forward_against_transformers_at_mini_size(mini, n, budget):
    theirs, ours = mini
    batch = batch_of(n, 4096)
    a, b = alternate(lambda: watched(ours, batch), lambda: theirs_watched(theirs, batch), rounds=150)
    beside = f"{a:.2f} / {b:.2f} ms"
    judge(f"all recorded, gpt-mini size, {n} tokens", a / b, budget, "of transformers eager", beside)


def test_watched_forward_against_transformers_at_gpt2_small_size(small):
    theirs, ours = small
    batch = batch_of(24, 50257)
    a, without, b = alternate(
        lambda: watched(ours, batch),
        lambda: watched(ours, batch, logits=False),
        lambda: theirs_watched(theirs, batch),
        rounds=25,
    )
    beside = f"{a:.1f} / {b:.1f} ms"
    judge("all recorded, gpt2-small size, 24 tokens", a / b, 1.05, "of transformers eager", beside)
    judge("the same without logits", without / b, 0.75, "of transformers eager")
