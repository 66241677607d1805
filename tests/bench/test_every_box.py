"""Every text box of every page, with texts that nobody types and somebody pastes: seconds of the processor until the page stands, and memory.

`pytest -m bench -s tests/bench/test_every_box.py`, on an idle machine; -k SLUG for one page. The first draw with the opening
texts is not counted: what is loaded and measured once a server is none of a text's work. A page computes in one thread: on an idle
machine its processor's seconds are anyone's.
"""

from __future__ import annotations

import gc
import time
from pathlib import Path
from typing import Any

import pytest
from typed_texts import TEXTS, boxes, drawn, states, unfold

from viz.shell import pages

pytestmark = pytest.mark.bench
SECONDS, MEGABYTES = 2.0, 200.0
"""What one text may cost at most: of anyone's time, and of memory on top of what the page took before."""
HOME = Path("/proc/self")


@pytest.mark.parametrize("slug", [entry.slug for entry in pages.discover()])
def test_a_page_answers_any_text_in_a_moment(slug, monkeypatch):
    over, known = [], set()
    unfold(monkeypatch)
    for chosen in states(slug):
        test = drawn(slug, **chosen)
        new = {box.key for box in boxes(test)} - known
        known |= set() if "model" in chosen else new
        for text, typed in TEXTS.items() if new else ():
            took, more, wrong = cost(test, typed)
            said = f"{slug:20} {' '.join(chosen.values()):40} {text:20} {took:5.2f} s {more:5.0f} MB {wrong}"
            print(said, flush=True)
            if took > SECONDS or more > MEGABYTES or wrong:
                over.append(said)
    assert not over, "\n".join(over)


def cost(test: Any, typed: str) -> tuple[float, float, str]:
    """Seconds of the processor, megabytes and what went wrong when this stands in every box of the page."""
    for box in boxes(test):
        box.set_value(typed)
    gc.collect()
    HOME.joinpath("clear_refs").write_text("5")
    before, begun = memory("VmRSS"), time.process_time()
    test.run()
    took, more = time.process_time() - begun, memory("VmHWM") - before
    wrong = [error.value for error in test.exception] + [
        text.value for text in test.text if text.value.startswith("Something went wrong")
    ]
    return took, more, "; ".join(wrong)


def memory(of: str) -> float:
    line = next(line for line in HOME.joinpath("status").read_text().splitlines() if line.startswith(of))
    return int(line.split()[1]) / 1024
