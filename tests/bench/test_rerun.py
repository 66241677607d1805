"""Interpreter time of a rerun of Look's full view, part by part: another head each time, a text of 91 tokens.

`pytest -m bench -s tests/bench/test_rerun.py`, on an idle machine. Time of the script's own thread, so that what other
programs take does not count; Streamlit's messages on the way to the page are in it, the browser is not.
"""

from __future__ import annotations

import statistics
import time

import pytest
from streamlit.testing.v1 import AppTest
from test_cell_budget import TEXT

from viz.workspace.look import full, page

pytestmark = pytest.mark.bench
MILLISECONDS = 10.0
PARTS = {"pictures": full, "details": full, "_above": page}


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
    test = AppTest.from_string("from viz.workspace.look import page\npage.page()", default_timeout=120)
    for field, value in {"model": "gpt-mini", "view": "full", "text": TEXT, "look.by": by}.items():
        test.query_params[field] = value
    for turn in range(40):
        test.query_params["layer"], test.query_params["head"] = str(turn // 8), str(turn % 8)
        test.run()
        assert not test.exception
    rerun = [sum(each) for each in zip(*(times[8:] for times in spent.values()), strict=True)]
    parts = ", ".join(
        f"{name.strip('_')} {statistics.median(times[8:]):.1f}" for name, times in spent.items()
    )
    print(
        f"\nanother head, by {by}: {statistics.median(rerun):.1f} ms of {MILLISECONDS:.0f} ({parts}), nine in ten within {sorted(rerun)[28]:.1f}"
    )
    assert statistics.median(rerun) <= MILLISECONDS
