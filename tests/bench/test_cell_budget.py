"""The budgets of one cell in the full view: bytes for each further cell and head, interpreter time of its arithmetic and source.

`pytest -m bench -s tests/bench/test_cell_budget.py`, on an idle machine; what was measured stands beside what is allowed.
"""

from __future__ import annotations

import json
import math
import statistics
import time

import pytest

import core
from core.analysis.arithmetic.cell import cell_arithmetic
from core.analysis.arithmetic.source import source_lines, tensor_card
from tests.bench.measuring import TEXT, judge, spread
from viz.instruments.arithmetic.arithmetic import Cell, arithmetic_packet, light_packet
from viz.instruments.source.source import source_packet

pytestmark = pytest.mark.bench

LIGHT, SOURCE = 450, 700
FIGURES = 750 * 3 + 2000
"""Of a cell of 91 tokens and 32 numbers a vector 750 figures are shown; 7 digits and a sign are 3 bytes; the rest is said in words."""
MILLISECONDS = 5.0


@pytest.fixture(scope="module")
def run() -> core.Run:
    return core.open_model("gpt-mini").run(TEXT)


def both(run: core.Run, layer: int, head: int, query: int, key: int):
    path = f"layer.{layer}.self_attn.pattern"
    code = source_lines(run, "causal", layer)
    arithmetic = arithmetic_packet(cell_arithmetic(run, "causal", layer, head, query, key))
    return arithmetic, source_packet(code, selected=path, card=tensor_card(run, path))


def test_further_cells_in_bytes(run):
    """What is sent when one cell after another is in view: the first has all that is said, the others their figures."""
    known: set[str] = set()
    n = len(run.tokens)
    walks = {
        "the first cell": [(2, 3, n - 1, 5)],
        "another key of the query": [(2, 3, n - 1, key) for key in range(6, 16)],
        "another query of the head": [(2, 3, n - i, 5) for i in range(2, 12)],
        "another head of the layer": [(2, head, n - 1, 5) for head in range(4, 8)],
        "another layer": [(layer, 3, n - 1, 5) for layer in (0, 1, 3, 4, 5)],
    }
    for name, cells in walks.items():
        sizes = []
        for cell in cells:
            packets = both(run, *cell)
            sizes.append([len(packet.to_bytes(cached=known)) for packet in packets])
            known |= {part for packet in packets for part in packet.parts}
        for what, most, found in zip(
            ("arithmetic", "source"), (FIGURES, SOURCE), zip(*sizes, strict=True), strict=True
        ):
            first = name == "the first cell"
            judge(f"{name}: {what}", statistics.median(found), math.inf if first else most, "bytes")


def test_a_head_that_nobody_looks_at_below_the_pictures_in_bytes(run):
    cell = Cell((2, 3, 90, 5), 0.8124271035194397, (" water", " net"), json.dumps(["gpt-mini"]))
    judge("a cell out of view", len(light_packet(cell).to_bytes()), LIGHT, "bytes")


def test_a_cell_in_milliseconds(run):
    for head in range(8):
        both(run, 0, head, 80, 4)
    took = []
    for layer in range(1, 6):
        for head in range(8):
            start = time.thread_time()
            both(run, layer, head, len(run.tokens) - 1 - head, 4 + layer)
            took.append((time.thread_time() - start) * 1e3)
    judge("another head with its packets", statistics.median(took), MILLISECONDS, "ms", spread(took))
