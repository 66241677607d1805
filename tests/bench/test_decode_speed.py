"""What a step of writing costs, as ratios inside one run and in milliseconds: one thread, medians. `pytest -m bench -s`."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
import torch
from test_speed import MINI, SMALL, pair

import core
from core.decoding import Beam, Sample, Step, decode
from tests.bench.measuring import judge, seconds, spread

pytestmark = pytest.mark.bench

STEP, THREADS = 25.0, 1
"""Milliseconds for a step at 64 tokens, every head's pattern and all candidates recorded."""
TEXT = "Once upon a time there was a little girl who lived in a house by the sea. "


def seconds_a_step(steps: Iterator[Step], n: int) -> list[float]:
    """The wall time of each of n steps, the first (which reads the prompt) left out."""
    next(steps)
    return [seconds(lambda: next(steps)) for _ in range(n)]


@pytest.mark.parametrize(
    "strategy",
    [core.Greedy(), Sample(0.8, 40, 0.95, 1, 0.01, 1.2), Beam(4)],
    ids=["greedy", "all filters", "beam of 4"],
)
def test_a_step_at_64_tokens(strategy):
    model = core.open_model("gpt-mini")
    text = (TEXT * 8)[: model.tokenizer.encode(TEXT * 8).spans[49][1]]
    times: list[float] = []
    for _ in range(4):
        times += seconds_a_step(decode(model, text, strategy, max_new_tokens=30), 29)  # from 51 to 80 tokens
    times = [1e3 * each for each in times]
    judge(f"a step of gpt-mini at 64 tokens, {strategy}", statistics.median(times), STEP, "ms", spread(times))


@pytest.mark.parametrize(
    ("shape", "budget", "n"), [(MINI, 0.6, 40), (SMALL, 1.05, 12)], ids=["gpt-mini size", "gpt2-small size"]
)
def test_against_generate_with_attentions(shape, budget, n, tmp_path: Path):
    """A token of ours against one of `generate(output_attentions=True)`, the same weights, prompt and number of tokens."""
    theirs, _network = pair(tmp_path, shape)
    model = core.open_model(str(tmp_path))
    prompt = "a b c" * 6
    ids = torch.tensor([model.tokenizer.encode(prompt).ids])

    def ours() -> float:
        begun = time.perf_counter()
        steps = list(islice(decode(model, prompt, core.Greedy(), max_new_tokens=n), n))
        return (time.perf_counter() - begun) / len(steps)

    def other() -> float:
        begun = time.perf_counter()
        out = theirs.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            do_sample=False,
            min_new_tokens=n,
            max_new_tokens=n,
            pad_token_id=0,
            output_attentions=True,
            output_scores=True,
            return_dict_in_generate=True,
        )
        return (time.perf_counter() - begun) / (out.sequences.shape[1] - ids.shape[1])

    ours(), other()
    pairs = [(ours(), other()) for _ in range(5)]
    a, b = (1e3 * statistics.median(each) for each in zip(*pairs, strict=True))
    beside = f"{a:.2f} / {b:.2f} ms a token"
    judge("decoding with attention kept / generate with output_attentions", a / b, budget, "", beside)
