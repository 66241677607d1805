"""What a visitor waits while another one trains: another head and another sentence, with and without a fine-tuning beside it.

`pytest -m bench -s tests/bench/test_training_beside.py`, on an idle machine of two cores or more. Wall clock, in one
process: before the training, while it runs, and after it; the ratio is of the medians.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from streamlit.testing.v1 import AppTest
from test_cell_budget import TEXT

from core.jobs.trainer import Trainer

pytestmark = pytest.mark.bench
MOST = 1.3
TURNS, WARM = 30, 6
TUNING = "pairs-full"
"""The heaviest that a visitor can start: every layer learns."""


def switches(turns: int, choose: dict[str, list[str]]) -> list[float]:
    """Milliseconds of reruns of Look's full view, each with the next value of what is chosen."""
    test = AppTest.from_string("from viz.workspace.look import page\npage.page()", default_timeout=120)
    for field, value in {"model": "gpt-mini", "view": "full", "text": TEXT}.items():
        test.query_params[field] = value
    found = []
    for turn in range(turns + WARM):
        for field, values in choose.items():
            test.query_params[field] = values[turn % len(values)]
        start = time.perf_counter()
        test.run()
        found.append(1e3 * (time.perf_counter() - start))
        assert not test.exception
    return found[WARM:]


@contextmanager
def learning() -> Iterator[Trainer]:
    """A visitor's training that has made its first step and goes on."""
    trainer = Trainer(patience=300.0)
    trainer.start("another", TUNING)
    try:
        end = time.monotonic() + 90
        while (
            not (reports := (trainer.progress("another") or pytest.fail("it is gone")).reports)
            or reports[-1].step < 1
        ):
            assert time.monotonic() < end
            time.sleep(0.2)
        yield trainer
    finally:
        trainer.stop("another")


def test_a_training_does_not_slow_the_others():
    torch.set_num_threads(1)
    kinds = {
        "another head": {
            "layer": [str(turn // 8) for turn in range(40)],
            "head": [str(turn % 8) for turn in range(40)],
        },
        "another sentence": {"text": [f"{TEXT} {number}" for number in range(400)]},
    }
    before = {name: switches(TURNS, choose) for name, choose in kinds.items()}
    beside = {}
    with learning() as trainer:
        for name, choose in kinds.items():
            beside[name] = switches(
                TURNS,
                {
                    field: values[len(values) // 2 :] + values[: len(values) // 2]
                    for field, values in choose.items()
                },
            )
            now = trainer.progress("another")
            assert now is not None and now.state == "running", "the training ended while it was measured"
    time.sleep(1)
    after = {
        name: switches(TURNS, {field: values[::-1] for field, values in choose.items()})
        for name, choose in kinds.items()
    }
    ratios = {}
    for name in kinds:
        alone = statistics.median(before[name] + after[name])
        with_it = statistics.median(beside[name])
        ratios[name] = with_it / alone
        print(
            f"\n{name}: {alone:.1f} ms alone, {with_it:.1f} ms beside a training (x {ratios[name]:.2f}, at most {MOST}); nine in ten within {sorted(before[name] + after[name])[int(1.8 * TURNS)]:.1f} and {sorted(beside[name])[int(0.9 * TURNS)]:.1f}"
        )
    assert max(ratios.values()) <= MOST, ratios
