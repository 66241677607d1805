"""What the server needs for one change of What if on gpt-mini at 24 tokens; painting comes on top. `pytest -m bench -s`."""

from __future__ import annotations

import statistics

import pytest

import core.serving.engine
from core.edits import ScaleHead
from core.edits.serialize import to_text
from tests.bench.measuring import judge, seconds
from viz.workspace.what_if import data, page, views

pytestmark = pytest.mark.bench
BUDGET = 0.15
"""Seconds, half of what a change may take until it is painted."""
TEXT = "The old woman had a little white cat and a big black dog. One day the old woman and the little white"


def change(turn: int) -> None:
    raw = to_text([ScaleHead("layer.1.self_attn.heads", 6, 0.01 * turn)])
    found = page.compute(page.Params("gpt-mini", TEXT, kind="causal", layer=1, head=6, edits=raw))
    data.outcome(found)
    views.measure_changes(found)


def test_a_change_is_answered_within_half_of_its_budget():
    n = len(core.serving.engine.default().open("gpt-mini").tokenizer.encode(TEXT).ids)
    assert 20 <= n <= 28
    times = [seconds(lambda turn=turn: change(turn)) for turn in range(15)]
    judge(f"a change of {n} tokens", statistics.median(times[1:]), BUDGET, "s")
