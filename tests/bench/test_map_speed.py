"""The map of all heads of gpt-mini over 32 sentences: first time, and kept after. `pytest -m bench -s tests/bench/test_map_speed.py`."""

from __future__ import annotations

import time

import pytest

import core.serving.engine
from core.analysis.heads import head_embedding, head_similarity
from core.serving.engine import Engine
from tests.bench.measuring import judge, seconds
from viz.workspace.find import pool

pytestmark = pytest.mark.bench

FIRST, AGAIN = 6.0, 0.1
"""Seconds on two quiet cores, models loaded."""


def test_the_map_of_all_heads(monkeypatch):
    with Engine() as engine:
        monkeypatch.setattr(core.serving.engine, "_default", engine)
        found = pool.pool("gpt-mini", "causal")
        own, steps, took = tuple(found.rows_of("gpt-mini", "causal")), [], []
        for _ in range(2):
            start = time.perf_counter()
            rows = pool.gathered(found, engine.submit, steps.append)
            read = time.perf_counter() - start
            bits = engine.submit(
                ("map", found, own),
                lambda rows=rows: head_similarity.pairwise_divergences(rows.select_heads(own)),
                1.0,
            )
            plane = engine.submit(
                ("plane", found, own),
                lambda bits=bits: head_embedding.classical_mds(head_embedding.js_distances(bits)),
                1.0,
            )
            took.append((read, time.perf_counter() - start))
        every = seconds(lambda: head_similarity.pairwise_divergences(rows))
    assert plane.points.shape == (48, 2) and len(steps) == 2 * 8 * len(found.members)
    beside = f"reading {took[0][0]:.2f} s; all {len(found.heads)} heads of all models {every:.2f} s"
    judge(f"{len(own)} heads on {rows.n_texts} sentences", took[0][1], FIRST, "s", beside)
    judge("the same again", took[1][1], AGAIN, "s")
