"""The engine as pages use it: models loaded once, one forward for equal questions, right answers for everybody."""

from __future__ import annotations

import itertools
import threading
import weakref
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from engine_helpers import Caller, Steps, serving, tiny_model, until
from hypothesis import given
from hypothesis import strategies as st

from core.edits import Patch, ScaleHead, ZeroHead
from core.errors import InputError
from core.model import Model
from core.serving.cache import ENTRY_BYTES, MISSING, ByteCache, parts, weigh
from core.serving.engine import Busy, Engine, Listing, RunRequest, default


def forwards(engine: Engine, name: str = "tiny") -> int:
    return engine.open(name).network.forwards


# Equal questions


def test_fifty_equal_requests_cause_one_forward():
    request = RunRequest("tiny", "fifty of us")
    with serving("tiny") as engine:
        steps = Steps(engine)
        steps.begin()
        callers = [Caller(lambda i=i: engine.run(request, session=f"s{i}")) for i in range(50)]
        until(lambda: all(engine.place(f"s{i}") == 1 for i in range(50)))
        steps.finish()
        answers = [caller.end().answer for caller in callers]
        assert forwards(engine) == 1
        assert answers[0].logits.shape == (len(answers[0].tokens), 270)
        assert all(answer is answers[0] for answer in answers)


def test_fifty_equal_requests_without_any_order_cause_one_forward():
    with serving("tiny") as engine:
        together = threading.Barrier(50)

        def ask():
            together.wait()
            return engine.run(RunRequest("tiny", "all at once"))

        callers = [Caller(ask) for _ in range(50)]
        answers = {id(caller.end().answer) for caller in callers}
        assert forwards(engine) == 1
        assert len(answers) == 1


def test_a_request_that_runs_already_is_shared():
    with serving("tiny") as engine:
        steps = Steps(engine)
        first = steps.begin("same")
        second = steps.ask("same", session="other")
        assert engine.place("other") == 0
        assert steps.finish() == ["same"]
        assert (first.answer, second.end().answer) == ("same", "same")


def test_different_requests_do_not_share():
    base = RunRequest("tiny", "abc")
    others = [
        RunRequest("tiny", "abd"),
        RunRequest("twin", "abc"),
        RunRequest("tiny", "abc", keep=("*.pattern",)),
        RunRequest("tiny", "abc", edits=(ZeroHead("layer.0.self_attn.heads", 0),)),
        RunRequest("tiny", "abc", edits=(ZeroHead("layer.0.self_attn.heads", 1),)),
        RunRequest("tiny", "abc", special=True),
    ]
    with serving("tiny", "twin") as engine:
        answers = [engine.run(request) for request in (base, *others, base)]
        assert (forwards(engine), forwards(engine, "twin")) == (6, 1)
        assert answers[0] is answers[-1]
        assert not np.array_equal(answers[0].logits, answers[4].logits)


def test_patches_are_told_apart_by_their_recipe():
    with pytest.raises(InputError, match="recipe"):
        RunRequest("tiny", "abc", edits=[Patch("layer.0.resid_out", torch.zeros(1))])
    one, two = (
        RunRequest("tiny", "abc", edits=[Patch("layer.0.resid_out", torch.zeros(1), recipe)])
        for recipe in [("a",), ("b",)]
    )
    assert one != two


def test_the_cost_is_bounded_by_the_context():
    config = tiny_model().config
    assert RunRequest("tiny", "abc", pair="de", target="f").cost(config) == 6 * config.n_layers
    assert RunRequest("tiny", "a" * 100_000).cost(config) == 4 * config.n_ctx * config.n_layers
    assert RunRequest("tiny", "").cost(config) == config.n_layers


# Right answers


def test_eight_threads_half_with_edits_give_bitwise_the_same_plain_answers():
    rounds = 20
    texts = [f"round {i} of all" for i in range(rounds)]
    alone = tiny_model()
    plain = [alone.run(text).logits for text in texts]

    def edits(thread: int) -> tuple[ScaleHead, ...]:
        return (ScaleHead("layer.*.self_attn.heads", thread % 3, 3.0 + thread),) if thread % 2 else ()

    # A budget of nothing: every answer is computed anew.
    with serving("tiny", cache_bytes=0, heavy_bytes=0) as engine:

        def visitor(thread: int) -> list[np.ndarray]:
            ask = (RunRequest("tiny", text, edits=edits(thread)) for text in texts)
            return [engine.run(request, session=f"s{thread}").logits for request in ask]

        callers = [Caller(lambda thread=thread: visitor(thread)) for thread in range(8)]
        answers = [caller.end().answer for caller in callers]
    for thread in range(8):
        expected = (
            plain if thread % 2 == 0 else [alone.run(text, edits=edits(thread)).logits for text in texts]
        )
        assert all(np.array_equal(one, other) for one, other in zip(answers[thread], expected, strict=True))
        assert (thread % 2 == 0) == np.array_equal(answers[thread][0], plain[0])


def test_functions_run_in_inference_mode_and_the_caller_does_not():
    with serving() as engine:
        assert engine.submit("mode", torch.is_inference_mode_enabled, 1) is True
        assert torch.is_inference_mode_enabled() is False
        value = engine.submit("tensor", lambda: torch.ones(2), 1)
        with pytest.raises(RuntimeError, match=r"(?i)inference"):
            value += 1


def test_logits_that_are_kept_are_computed_inside_the_gate():
    with serving("tiny") as engine:
        assert "logits" not in vars(engine.run(RunRequest("tiny", "abc", keep=("*.pattern",))))
        run = engine.run(RunRequest("tiny", "abc", keep=("*.pattern", "logits")))
        assert vars(run)["logits"].shape == (3, 270)


def test_arrays_that_visitors_share_are_read_only():
    with serving() as engine:
        shared = engine.submit("rows", lambda: {"rows": [np.zeros(2), np.ones(2)]}, 1)
        with pytest.raises(ValueError, match="read-only"):
            shared["rows"][1][0] = 5


def test_a_function_may_ask_the_engine_itself():
    with serving("tiny") as engine:

        def both() -> list[object]:
            return [
                engine.run(RunRequest("tiny", text), session="me").logits for text in ("one", "two", "one")
            ]

        first, second, third = engine.submit("both", both, 10, session="me")
        assert forwards(engine) == 2
        assert first is third
        assert first.shape == second.shape
        assert engine.run(RunRequest("tiny", "two")).logits is second


# Models


def test_a_model_is_loaded_once_for_all_threads_and_survives_an_emptied_cache():
    loads = []
    together = threading.Barrier(8)

    def opener(name: str) -> Model:
        loads.append(name)
        return tiny_model()

    with serving("tiny", opener=opener) as engine:

        def ask():
            together.wait()
            return engine.open("tiny")

        callers = [Caller(ask) for _ in range(8)]
        models = {id(caller.end().answer) for caller in callers}
        engine.run(RunRequest("tiny", "abc"))
        engine.forget()
        engine.run(RunRequest("tiny", "abc"))
        assert engine.cached_bytes > 0
        assert forwards(engine) == 2
        assert len(models) == 1
        assert loads == ["tiny"]


def test_a_bad_model_is_listed_with_its_problem_and_the_others_are_served():
    listings = (
        Listing("tiny", True, "", "gpt"),
        Listing("gone", False, "The file model.safetensors is missing.", "gpt"),
        Listing("torn", True, "", "gpt"),
    )

    def opener(name: str) -> Model:
        if name == "torn":
            raise OSError("/srv/secret/path is unreadable")
        return tiny_model()

    with Engine(opener=opener, listing=lambda: listings) as engine:
        assert engine.models() == listings
        with pytest.raises(InputError, match=r"model.safetensors is missing. Models that work: tiny, torn."):
            engine.run(RunRequest("gone", "abc"))
        assert [entry.ok for entry in engine.warm()] == [True, False, False]
        problem = engine.models()[2].problem
        assert "OSError" in problem
        assert "/srv" not in problem
        with pytest.raises(OSError, match="unreadable"):
            engine.run(RunRequest("torn", "abc"))
        assert engine.run(RunRequest("tiny", "abc")).logits.shape == (3, 270)


def test_a_model_that_is_repaired_is_served_again():
    broken = [True]

    def opener(name: str) -> Model:
        if broken:
            raise InputError("The file is cut off.", "A file has its length.", "Get it again.")
        return tiny_model()

    with serving("tiny", opener=opener) as engine:
        with pytest.raises(InputError, match="cut off"):
            engine.run(RunRequest("tiny", "abc"))
        assert engine.models() == (
            Listing("tiny", False, "The file is cut off. A file has its length. Get it again."),
        )
        broken.clear()
        assert engine.run(RunRequest("tiny", "abc")).logits.shape == (3, 270)
        assert engine.models() == (Listing("tiny", True),)


@pytest.mark.parametrize("name", ["", "../tiny", "/etc/passwd", "hf:owner/name", "TINY", "tiny\0"])
def test_only_listed_names_are_opened(name):
    opened = []
    with serving("tiny", opener=opened.append) as engine:
        for ask in (lambda: engine.run(RunRequest(name, "abc")), lambda: engine.open(name)):
            with pytest.raises(InputError, match="Models that work: tiny"):
                ask()
    assert opened == []


def test_warm_runs_each_model_once():
    with serving("tiny", "twin") as engine:
        assert engine.warm() == (Listing("tiny", True), Listing("twin", True))
        assert (forwards(engine), forwards(engine, "twin")) == (1, 1) and engine.forwards == 2
        engine.warm(["tiny"])
        assert engine.forwards == 2


def test_a_model_waits_for_no_other_and_who_waits_is_told():
    begun, release, told = threading.Event(), threading.Event(), threading.Event()
    opened = []

    def opener(name: str) -> Model:
        opened.append(name)
        if name == "slow":
            begun.set()
            assert release.wait(60)
        return tiny_model()

    with serving("slow", "quick", opener=opener) as engine:
        engine.on_slow_open = lambda name: told.set() if name == "slow" else None
        first, second = Caller(lambda: engine.open("slow")), Caller(lambda: engine.open("slow"))
        assert begun.wait(60)
        assert engine.open("quick") is engine.open("quick")
        assert told.wait(60)
        release.set()
        assert first.end().answer is second.end().answer
    assert sorted(opened) == ["quick", "slow"]


def test_the_default_engine_is_one_a_process_and_sets_no_threads():
    before = torch.get_num_threads()
    engines = {id(caller.end().answer) for caller in [Caller(default) for _ in range(8)]}
    assert len(engines) == 1
    assert torch.get_num_threads() == before


def test_busy_is_worded_like_any_input_error():
    with serving(max_waiting=1) as engine:
        steps = Steps(engine)
        steps.begin()
        steps.ask("waits")
        with pytest.raises(Busy) as caught:
            engine.submit("too many", lambda: None, 1)
        assert caught.value.wrong == "The server is busy: 1 requests are waiting, about 1 s of work."
        assert caught.value.remedy == "Try again in about 1 s; what you typed is kept."
        steps.finish()


# ---------------- The cache keeps what was used last, within its budget, and weighs what it keeps.


CALLS = st.lists(
    st.tuples(st.sampled_from(["get", "put", "wait"]), st.integers(0, 7), st.integers(0, 3000)), max_size=60
)


@given(budget=st.integers(0, 8000), calls=CALLS)
def test_the_cache_keeps_what_was_used_last_and_first_of_all_what_was_asked_for_again(budget, calls):
    clock = [0.0]
    cache = ByteCache(budget, now=lambda: clock[0])
    once = []  # (key, bytes, when it came), least recently used first: the law, written plainly
    again = []

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
    made = []
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
    made = []
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
    def __init__(self, model, value):
        self.model, self.value = model, value


def test_a_run_weighs_at_least_its_tensors_and_not_its_model():
    with serving("tiny") as engine:
        run = engine.run(RunRequest("tiny", "weigh me"))
        arrays = {path: run.trace[path] for path in run.trace.names() if path != "logits"}
        patterns = [path for path in arrays if path.endswith("pattern")]
        assert len(patterns) == 2
        assert sum(arrays[path].nbytes for path in patterns) < engine.cached_bytes
        assert engine.cached_bytes < 2 * sum(array.nbytes for array in arrays.values()) + 10_000


# ---------------- Foreign models and memory: the one used longest ago goes first, what was computed with it too, and what does not fit is refused in words.


MB = 2**20
SIZES = {"a": 100, "b": 100, "c": 150, "huge": 900}


class Held(SimpleNamespace):
    """A model, as far as it is asked here."""

    def run(self, text: str, **_) -> list[str]:
        return [self.name, text]


@pytest.fixture
def engine():
    """Three foreign models and a shipped one on a server that has 300 MB for all of them."""
    listed = [Listing(name, True, memory=size * MB, foreign=True) for name, size in SIZES.items()]
    loaded = {}

    def load(name: str) -> Held:
        loaded[name] = loaded.get(name, 0) + 1
        return Held(name=name, config=None)

    with Engine(opener=load, listing=lambda: (Listing("ours", True, memory=9**9), *listed)) as made:
        held = made._registry._open
        made.set_memory_budget(lambda: (300 - sum(SIZES[name] for name in held if name in SIZES)) * MB)
        yield made, held, loaded


def test_the_one_used_longest_ago_goes_and_what_was_computed_with_it(engine):
    made, held, loaded = engine
    for name in ("ours", "a", "b", "a"):
        made.open(name)
    for name in ("a", "b"):
        made.submit(("heads", name), list, 1.0)
    gone = weakref.ref(held["b"])
    made.open("c")
    assert [*held] == ["ours", "a", "c"] and gone() is None
    assert made._cache.keys() == (("value", ("heads", "a")),)
    assert made.open("b") and loaded == {"ours": 1, "a": 1, "b": 2, "c": 1} and "a" not in held


def test_what_does_not_fit_is_refused_in_words_and_nothing_goes_for_it(engine):
    made, held, loaded = engine
    made.open("a")
    with pytest.raises(InputError) as caught:
        made.open("huge")
    assert caught.value.wrong == "huge needs 900 MB to be opened, and 300 MB can be had."
    assert [*held] == ["a"] and "huge" not in loaded
    with pytest.raises(InputError, match="This one needs 400 MB"):
        made.check_memory_for(Listing("This one", True, memory=400 * MB))
    made.set_memory_budget(lambda: 10**9)
    assert made.open("huge"), "the next one who asks gets it, once there is room"


def test_a_model_that_is_dropped_is_read_anew(engine):
    made, held, loaded = engine
    made.open("a")
    made.drop("a")
    assert "a" not in held
    made.open("a")
    assert loaded["a"] == 2


def test_a_model_whose_file_is_written_to_is_opened_anew(engine):
    made, _held, loaded = engine
    first = made.open("a")
    made.submit(("heads", "a"), list, 1.0)
    assert made.open("a") is first
    first.files = False
    assert made.open("a") is not first and loaded == {"a": 2} and not made._cache.keys()


@pytest.mark.parametrize(("free", "together"), [(10**9, True), (-1, False)])
def test_models_are_read_one_after_the_other_only_where_memory_is_short(free, together):
    inside = {"a": threading.Event(), "b": threading.Event()}
    met = []

    def load(name: str) -> Held:
        inside[name].set()
        if name == "a":
            other = threading.Thread(target=made.open, args=("b",))
            other.start()
            threads.append(other)
            met.append(inside["b"].wait(10 if together else 0.1))
        return Held(name=name, config=None)

    threads: list[threading.Thread] = []
    with Engine(opener=load, listing=lambda: tuple(Listing(name, True) for name in "ab")) as made:
        made.set_memory_budget(lambda: 10**9, lambda: free)
        made.open("a")
        for thread in threads:
            thread.join(10)
        assert met == [together] and made.open("b").name == "b"


def test_a_shipped_model_is_closed_for_another_never_refused_and_opened_again():
    listed = [Listing(name, True, memory=100 * MB) for name in "abc"] + [
        Listing("foreign", True, memory=100 * MB, foreign=True)
    ]
    opened = []

    def load(name: str) -> Held:
        opened.append(name)
        return Held(name=name, config=None)

    with Engine(opener=load, listing=lambda: (*listed,)) as made:
        held = made._registry._open
        made.set_memory_budget(lambda: 10**9, lambda: (250 - 100 * len(held)) * MB)
        for name in ("foreign", "a", "b"):
            made.open(name)
        made.submit(("heads", "b"), list, 1.0)
        assert [*held] == ["foreign", "b"]
        using = made.open("b")
        made.open("c")
        assert [*held] == ["foreign", "c"] and using.run("text") == ["b", "text"]
        assert made._cache.keys() == (), "what was computed with it is gone"
        assert made.open("b") is using and opened == ["foreign", "a", "b", "c"], "no second one beside it"
        del using
        made.open("a")
        made.open("b")
        assert opened == ["foreign", "a", "b", "c", "a", "b"]
        made.close_unused()
        assert [*held] == ["foreign", "b"]  # there is room
        made.set_memory_budget(lambda: 10**9, lambda: -1.0)
        made.close_unused()
        assert [*held] == ["foreign"]
