"""From nothing to a first picture, beside what importing the libraries alone takes, in one run.

`pytest -m bench -s tests/bench/test_start.py`, on an idle machine.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time

import pytest

from tests.app_server import ROOT, started_app
from tests.bench.measuring import judge
from tests.bench.wire import answers

pytestmark = pytest.mark.bench
TURNS = 5


def test_the_first_picture(tmp_path):
    """At most 1.6 times the imports and a second."""
    imports, pictures = [], []
    for turn in range(TURNS + 1):  # the first turn fills the system's own caches
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import torch, streamlit, altair"], cwd=ROOT, check=True)
        between = time.perf_counter()
        with started_app(tmp_path) as server:
            (answer,) = asyncio.run(answers(server.url, ("", {})))
            drawn = time.perf_counter()
        assert not answer.wrong
        if turn:
            imports.append(between - begun)
            pictures.append(drawn - between)
    base = statistics.median(imports)
    most = 1.6 * base + 1
    judge(
        "the first picture", statistics.median(pictures), most, "s", f"importing its libraries {base:.2f} s"
    )
