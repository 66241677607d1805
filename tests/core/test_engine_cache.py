"""The cache keeps what was used last, within its budget, and weighs what it keeps."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import torch
from engine_helpers import serving, tiny_model
from hypothesis import given
from hypothesis import strategies as st

from core.serving.cache import ENTRY_BYTES, MISSING, ByteCache, parts, weigh
from core.serving.engine import RunRequest

CALLS = st.lists(
    st.tuples(st.sampled_from(["get", "put", "wait"]), st.integers(0, 7), st.integers(0, 3000)), max_size=60
)


@given(budget=st.integers(0, 8000), calls=CALLS)
def test_the_cache_keeps_what_was_used_last_and_first_of_all_what_was_asked_for_again(budget, calls):
    clock = [0.0]
    cache = ByteCache(budget, now=lambda: clock[0])
    once: list[
        tuple[int, int, float]
    ] = []  # (key, bytes, when it came), least recently used first: the law, written plainly
    again: list[tuple[int, int, float]] = []

    def weight(*kept):
        return sum(nbytes for _, nbytes, _ in itertools.chain(*kept))

    for what, key, size in calls:
        found = next((entry for entry in once + again if entry[0] == key), None)
        if what == "wait":
            clock[0] += 1.0
        elif what == "get":
            value = cache.get(key)
            assert (value is MISSING) == (found is None)
            if found:
                assert value.nbytes + ENTRY_BYTES == found[1]
                to = again if found in again or clock[0] - found[2] > ByteCache.SOON else once
                (again if found in again else once).remove(found)
                to.append(found)
                while weight(again) > ByteCache.KEPT * budget:
                    once.append(again.pop(0))
        else:
            entry = (key, size + ENTRY_BYTES, clock[0])
            assert cache.put(key, np.zeros(size, dtype=np.uint8)) == (entry[1] <= budget)
            once, again = ([other for other in part if other[0] != key] for part in (once, again))
            once += [entry] * (entry[1] <= budget)
            while weight(once, again) > budget:
                (once if len(once) > 1 or not again else again).pop(0)
        assert cache.keys() == tuple(key for key, _, _ in once + again)
        assert cache.nbytes == weight(once, again) <= budget


def test_a_crowd_that_nobody_asks_for_twice_drives_nothing_out():
    clock = itertools.count(0, 10)
    cache = ByteCache(10 * (100 + ENTRY_BYTES), now=lambda: next(clock))
    for name in range(5):
        cache.put(name, np.zeros(100, dtype=np.uint8))
        cache.get(name)
    for name in range(100, 200):
        cache.put(name, np.zeros(100, dtype=np.uint8))
    assert [cache.get(name) is MISSING for name in (0, 4, 150, 199)] == [False, False, True, False]


def test_the_engine_keeps_its_budget_and_evicts_the_least_recently_used():
    size = 100_000
    made: list[str] = []
    with serving(cache_bytes=3 * size + 10_000) as engine:

        def ask(name: str) -> np.ndarray:
            return engine.submit(name, lambda: made.append(name) or np.zeros(size, dtype=np.uint8), 1)

        for name in ("a", "b", "c", "a", "d"):  # "b" is the least recently used when "d" comes
            ask(name)
        assert 3 * size < engine.cached_bytes <= 3 * size + 10_000
        assert made == ["a", "b", "c", "d"]
        for name in ("a", "c", "d", "b"):
            ask(name)
        assert made == ["a", "b", "c", "d", "b"]


def test_a_result_heavier_than_the_budget_is_returned_but_not_kept():
    with serving(cache_bytes=10_000, heavy_bytes=0) as engine:
        small = engine.submit("small", lambda: np.zeros(10), 1)
        large = [engine.submit("large", lambda: np.zeros(10_000), 1) for _ in range(2)]
        assert [array.shape for array in large] == [(10_000,), (10_000,)]
        assert large[0] is not large[1]
        assert engine.submit("small", lambda: None, 1) is small
        assert engine.cached_bytes < 10_000


def test_the_last_heavy_value_has_a_place_beside_the_others():
    cache = ByteCache(budget=10_000, heavy=50_000)
    small, heavy, heavier = np.zeros(10), np.zeros(3_000), np.zeros(4_000)
    assert [
        cache.put("small", small),
        cache.put("heavy", heavy),
        cache.put("too heavy", np.zeros(10_000)),
    ] == [True, True, False]
    assert cache.get("small") is small and cache.get("heavy") is heavy and cache.get("too heavy") is MISSING
    assert cache.put("heavier", heavier) and cache.get("heavy") is MISSING and cache.get("heavier") is heavier
    assert cache.keys() == (
        "small",
        "heavier",
    ) and cache.nbytes == small.nbytes + heavier.nbytes + 2 * ENTRY_BYTES + weigh("small") + weigh("heavier")
    assert cache.put("heavier", small) and cache.get("heavier") is small and cache.nbytes < 10_000
    cache.put("heavy", heavy)
    cache.clear()
    assert cache.nbytes == 0 and cache.get("heavy") is MISSING


def test_none_is_an_answer_like_any_other():
    made: list[None] = []
    with serving() as engine:
        assert [engine.submit("none", lambda: made.append(None), 1) for _ in range(3)] == [None] * 3
    assert made == [None]


def test_a_value_may_know_its_own_size():
    class Knows:
        nbytes = 12_345

    assert weigh(Knows()) == 12_345


def test_weighing_counts_what_is_kept_alive_once():
    @dataclass
    class Holder:
        first: object
        second: object

    array, tensor = np.zeros(1000), torch.zeros(500)
    assert weigh(Holder(array, array[:2])) == array.nbytes
    assert weigh(Holder(tensor[:1], tensor.view(5, 100))) == 2000
    assert weigh(Holder(tensor, tensor.numpy())) == 2000
    assert weigh({"text": "x" * 5000}) > 5000


def test_weighing_reaches_slots_and_cycles_but_not_models():
    class Slotted:
        __slots__ = ("me", "unset", "value")

    item = Slotted()
    item.value, item.me = np.zeros(10), item
    assert weigh(item) == 80
    assert weigh(Holds(tiny_model(), np.zeros(3))) == 24
    assert not any(isinstance(part, torch.nn.Module) for part in parts(Holds(tiny_model().network, None)))


class Holds:
    def __init__(self, model: object, value: object) -> None:
        self.model, self.value = model, value


def test_a_run_weighs_at_least_its_tensors_and_not_its_model():
    with serving("tiny") as engine:
        run = engine.run(RunRequest("tiny", "weigh me"))
        arrays = {path: run.trace[path] for path in run.trace.names() if path != "logits"}
        patterns = [path for path in arrays if path.endswith("pattern")]
        assert len(patterns) == 2
        assert sum(arrays[path].nbytes for path in patterns) < engine.cached_bytes
        assert engine.cached_bytes < 2 * sum(array.nbytes for array in arrays.values()) + 10_000
