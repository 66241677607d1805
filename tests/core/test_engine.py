"""The engine as pages use it: models loaded once, one forward for equal questions, right answers for everybody."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch
from engine_helpers import Caller, Steps, serving, tiny_model, until

from core.edits import Patch, ScaleHead, ZeroHead
from core.errors import InputError
from core.model import Model
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

        def ask() -> object:
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


def test_a_request_takes_lists_and_is_hashable():
    edit = ScaleHead("layer.*.self_attn.heads", 1, 0.5)
    request = RunRequest("tiny", "abc", keep=["*.pattern"], edits=[edit])
    assert hash(request) == hash(RunRequest("tiny", "abc", keep=("*.pattern",), edits=(edit,)))


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
    loads: list[str] = []
    together = threading.Barrier(8)

    def opener(name: str) -> Model:
        loads.append(name)
        return tiny_model()

    with serving("tiny", opener=opener) as engine:

        def ask() -> object:
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
    opened: list[str] = []
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
    opened: list[str] = []

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
