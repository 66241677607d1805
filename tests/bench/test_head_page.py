"""Heads over a corpus: how soon a head's page and a scatter are there, how long the corpus of gpt-mini takes, and what others wait while a visitor's lines are read.

`pytest -m bench -s tests/bench/test_head_page.py`, on an idle machine of two cores; some minutes. CLASS_SIZE=0.05 makes the corpus and
the turns smaller, to see that it runs. In the machine's own time, see `slowness`.
"""

from __future__ import annotations

import os
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, islice

import numpy as np
import pytest

from core.analysis.heads.corpus import head_corpus
from core.data.texts import texts
from core.model import Model
from core.reading import corpus_jobs
from core.training.recipe import untrained
from tests.bench.machine import slowness
from tests.bench.measuring import HEADS, TEXT, judge, reruns, seconds
from tests.bench.visitors import percentile
from viz.workspace.find import charts
from viz.workspace.shared import model_run

pytestmark = pytest.mark.bench
SIZE = float(os.environ.get("CLASS_SIZE", "1"))
PAGE, SCATTER, CORPUS, BESIDE = 250, 50, 240, 1.1
"""Milliseconds of a head's page and of a scatter, seconds of a corpus, and the ratio of the waits of others."""
PASSAGES, CONTROLS, WORDS = 2000, 500, 48
TURNS = max(8, int(SIZE * 120))


def passages(n: int) -> list[str]:
    """Return texts of as many words as the passages of the corpus have."""
    words = cycle(" ".join(one.text for one in texts("heads_en")).split())
    return [" ".join(islice(words, WORDS)) for _ in range(n)]


def test_a_heads_page_and_a_scatter_are_there_at_once():
    slow = slowness()
    fields = {"model": "gpt-mini", "kind": "causal", "text": TEXT, "find.by": "corpus"}
    took = reruns("find", fields, HEADS, TURNS)
    rng, habits = np.random.default_rng(0), ["previous word", "induction head", "near-uniform", "mixed"]
    names = (
        [habits[number % 4] for number in range(400)],
        [f"L{number // 20}.H{number % 20}" for number in range(400)],
    )

    def scatter() -> None:
        points, axes = rng.random((400, 2)), ("one", "another")
        charts.scatter(points, *names, axes, order=habits, ring=7, untrained=points[::-1]).to_json()

    each = [1e3 * seconds(scatter) for _ in range(20)]
    judge("a head's page, 95 in 100", percentile(took, 0.95), PAGE * slow, "ms", f"{slow:.2f} times slower")
    judge("a scatter of 400 heads", statistics.median(each[3:]), SCATTER * slow)


def test_the_corpus_of_gpt_mini_takes_less_than_four_minutes():
    slow, model = slowness(), model_run.open_model("gpt-mini")
    n = max(40, int(SIZE * PASSAGES))
    start = time.perf_counter()
    found = head_corpus(model, passages(n), untrained(model), controls=n * CONTROLS // PASSAGES)
    took = (time.perf_counter() - start) * PASSAGES / n
    assert found["causal"].n == n
    judge(f"gpt-mini over {PASSAGES} passages", took, CORPUS * slow, "s", f"{slow:.2f} times slower")


@contextmanager
def lines_are_read(model: Model) -> Iterator[corpus_jobs.CorpusJobs]:
    """Read a visitor's lines in the background, again and again."""
    jobs, ended = corpus_jobs.CorpusJobs(), threading.Event()
    lines = passages(corpus_jobs.LINES)

    def keep_on() -> None:
        while not ended.wait(0.05):
            if (standing := jobs.progress(model, "another")) is None or standing.over:
                jobs.begin(model, lines, "another")

    thread = threading.Thread(target=keep_on)
    thread.start()
    try:
        yield jobs
    finally:
        ended.set()
        thread.join()
        jobs.forget(model, "another")


def test_a_reading_in_the_background_does_not_slow_the_others():
    fields = {"model": "gpt-mini", "view": "full"}
    model = model_run.open_model("gpt-mini")

    def turns(first: int) -> list[float]:
        return reruns("look", fields, {"text": [f"{TEXT} {first + number}" for number in range(1000)]}, TURNS)

    alone = turns(0)
    with lines_are_read(model) as jobs:
        beside = turns(1000)
        standing = jobs.progress(model, "another")
        assert standing is not None and not standing.problem
    alone += turns(2000)
    one, two = (percentile(some, 0.95) for some in (alone, beside))
    judge(
        "another sentence while lines are read",
        two / one,
        BESIDE,
        "times as long",
        f"{one:.0f} ms alone, 95 in 100",
    )
