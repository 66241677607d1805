"""What a layer costs: the numbers of the table, loops that count, the way through a chain, a run that was recorded."""

from __future__ import annotations

import json

import numpy as np
import pytest

from core.errors import InputError
from viz.course.transformer.complexity import maths


class Count:
    """Multiplies, and counts how often."""

    def __init__(self) -> None:
        self.n = 0

    def dot(self, a, b) -> float:
        total = 0.0
        for x, y in zip(a, b, strict=True):
            self.n += 1
            total += x * y
        return total

    def product(self, matrix, vector) -> list[float]:
        return [self.dot(row, vector) for row in matrix]


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).normal(size=shape)


@pytest.mark.parametrize(("n", "p"), [(3, 5), (7, 2), (4, 4)])
def test_loops_that_count_their_multiplications_agree_with_the_table(n, p):
    """C079: the scores n^2 p, the recurrence n p^2, and everything with projections and gates."""
    x = drawn(n, p)
    scores = Count()
    table = [[scores.dot(query, key) for key in x] for query in x]
    assert scores.n == maths.attention(n, p).operations and np.allclose(table, x @ x.T)
    state, chain, steps = np.zeros(p), Count(), 0
    for word in x:
        state = np.tanh(np.array(chain.product(drawn(p, p), state)) + word)
        steps += 1
    assert chain.n == maths.recurrence(n, p).operations and steps == maths.recurrence(n, p).steps
    whole = Count()
    q, k, v = ([whole.product(drawn(p, p), word) for word in x] for _ in "qkv")
    weights = [[whole.dot(a, b) for b in k] for a in q]
    mixed = [[whole.dot(row, column) for column in zip(*v, strict=True)] for row in weights]
    _ = [whole.product(drawn(p, p), row) for row in mixed]
    assert whole.n == maths.attention(n, p, count_all=True).operations
    gates = Count()
    for word in x:
        for _ in range(4):
            gates.product(drawn(p, p), word)
            gates.product(drawn(p, p), state)
    assert gates.n == maths.recurrence(n, p, count_all=True).operations


def test_the_numbers_that_the_documents_ask_for():
    """E18: cheaper while n < p, equal at n = p, dearer beyond."""
    assert (maths.attention(50, 512).operations, maths.recurrence(50, 512).operations) == (
        1_280_000,
        13_107_200,
    )
    assert maths.attention(512, 512).operations == maths.recurrence(512, 512).operations
    assert (
        maths.attention(4096, 512).operations == 8_589_934_592 == 8 * maths.recurrence(4096, 512).operations
    )
    for p in (32, 512):
        for whole in (False, True):
            n = maths.crossing(p, count_all=whole)
            below, above = (
                (
                    maths.attention(at, p, count_all=whole).operations,
                    maths.recurrence(at, p, count_all=whole).operations,
                )
                for at in (n - 1, n + 1)
            )
            assert below[0] < below[1] and above[0] > above[1]


def test_the_longest_path_is_what_a_search_in_the_graph_finds():
    for n in (2, 5, 9):
        chain = {i: [i + 1] for i in range(n - 1)} | {n - 1: []}
        everyone = {i: [j for j in range(n) if j != i] for i in range(n)}
        assert farthest(chain, 0) == maths.recurrence(n, 4).path
        assert farthest(everyone, 0) == maths.attention(n, 4).path


def farthest(graph: dict[int, list[int]], start: int) -> int:
    seen, front, steps = {start}, [start], 0
    while front:
        front = sorted({there for here in front for there in graph[here]} - seen)
        seen |= set(front)
        steps += bool(front)
    return steps


def test_the_memory_is_that_of_the_tensors():
    import torch

    from core.layers.attention import MultiHeadAttention
    from core.trace import Recorder

    tap, x = Recorder(("scores",)), torch.zeros(1, 6, 16)
    MultiHeadAttention(16, maths.HEADS)(x, x, torch.ones(6, 6, dtype=torch.bool), tap)
    assert tap.close()["scores"].nbytes == maths.score_bytes(6)
    assert x.nbytes == maths.state_bytes(6, 16)


def test_a_measurement_is_bounded_and_refuses_other_sizes():
    row = maths.measure(16, 64, budget=0.01)
    assert 0 < row.attention < 5 and 0 < row.lstm < 5
    for n, p in ((16, 65), (0, 64), (10**6, 64)):
        with pytest.raises(InputError, match="cannot be measured"):
            maths.measure(n, p)


def test_the_recorded_run_names_its_machine_and_holds_every_size(tmp_path):
    found = maths.recorded_timings()
    assert "threads used" in found.machine or "thread used" in found.machine
    assert [row.n for row in found.of_width(512)] == [*maths.LENGTHS, maths.LONGEST]
    assert all(len(found.of_width(p)) == len(maths.LENGTHS) + 1 for p in maths.WIDTHS)
    first, last = found.of_width(512)[0], found.of_width(512)[-1]
    assert first.attention < first.lstm and last.attention > last.lstm, (
        "short texts: attention is faster; long ones: slower"
    )
    with pytest.raises(InputError, match="recorded times"):
        maths.recorded_timings(tmp_path)
    (tmp_path / "run.json").write_text(json.dumps({"machine": "x", "timings": [{"n": 1}]}), "utf-8")
    with pytest.raises(InputError, match="recorded times"):
        maths.recorded_timings(tmp_path)
