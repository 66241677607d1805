"""Interpreter time of a rerun of Look's full view, part by part: another head each time, a text of 91 tokens.

`pytest -m bench -s tests/bench/test_rerun.py`, on an idle machine. Time of the script's own thread, so that what other
programs take does not count; Streamlit's messages on the way to the page are in it, the browser is not.
"""

from __future__ import annotations

import statistics
import time

import pytest

from tests.bench.measuring import HEADS, TEXT, judge, reruns
from viz.workspace.look import full, page

pytestmark = pytest.mark.bench
MILLISECONDS = 10.0
PARTS = {"show": full, "_above": page}


@pytest.mark.parametrize("by", ["token", "word"])
def test_another_head(by, monkeypatch):
    spent: dict[str, list[float]] = {name: [] for name in PARTS}

    def clocked(name, function):
        def call(*given):
            start = time.thread_time()
            try:
                return function(*given)
            finally:
                spent[name].append(1e3 * (time.thread_time() - start))

        return call

    for name, home in PARTS.items():
        monkeypatch.setattr(home, name, clocked(name, getattr(home, name)))
    reruns("look", {"model": "gpt-mini", "view": "full", "text": TEXT, "look.by": by}, HEADS, 40, 0)
    rerun = [sum(each) for each in zip(*(times[8:] for times in spent.values()), strict=True)]
    parts = (f"{name.strip('_')} {statistics.median(times[8:]):.1f}" for name, times in spent.items())
    beside = f"{', '.join(parts)}; nine in ten within {sorted(rerun)[28]:.1f}"
    judge(f"another head, by {by}", statistics.median(rerun), MILLISECONDS, "ms", beside)
