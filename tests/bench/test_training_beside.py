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

from core.jobs.trainer import Trainer
from tests.bench.measuring import HEADS, TEXT, judge, reruns, spread

pytestmark = pytest.mark.bench
MOST = 1.3
TURNS = 30
TUNING = "pairs-full"
"""The heaviest that a visitor can start: every layer learns."""
FIELDS = {"model": "gpt-mini", "view": "full", "text": TEXT}


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
    kinds = {
        "another head": HEADS,
        "another sentence": {"text": [f"{TEXT} {number}" for number in range(400)]},
    }

    def switches(name: str, first: float = 0, step: int = 1) -> list[float]:
        """Milliseconds, from another place in the row of what is chosen."""
        turned = {}
        for field, values in kinds[name].items():
            at = int(first * len(values))
            turned[field] = (values[at:] + values[:at])[::step]
        return reruns("look", FIELDS, turned, TURNS)

    alone = {name: switches(name) for name in kinds}
    beside = {}
    with learning() as trainer:
        for name in kinds:
            beside[name] = switches(name, 0.5)
            now = trainer.progress("another")
            assert now is not None and now.state == "running", "the training ended while it was measured"
    time.sleep(1)
    for name in kinds:
        alone[name] += switches(name, 0, -1)
        ratio = statistics.median(beside[name]) / statistics.median(alone[name])
        figures = f"ms alone {spread(alone[name])}; beside {spread(beside[name])}"
        judge(f"{name} beside a training", ratio, MOST, "times as long", figures)
