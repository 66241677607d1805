"""Foreign models and memory: the one used longest ago goes first, what was computed with it too, and what does not fit is refused in words."""

from __future__ import annotations

import weakref
from types import SimpleNamespace
from typing import Any

import pytest

from core.errors import InputError
from core.serving.engine import Engine
from core.serving.registry import Listing

MB = 2**20
SIZES = {"a": 100, "b": 100, "c": 150, "huge": 900}


class Held(SimpleNamespace):
    """A model, as far as it is asked here."""

    def run(self, text: str, **_: Any) -> list[str]:
        return [self.name, text]


@pytest.fixture
def engine():
    """Three foreign models and a shipped one on a server that has 300 MB for all of them."""
    listed = [Listing(name, True, memory=size * MB, foreign=True) for name, size in SIZES.items()]
    loaded: dict[str, int] = {}

    def load(name: str) -> Held:
        loaded[name] = loaded.get(name, 0) + 1
        return Held(name=name, config=None)

    with Engine(opener=load, listing=lambda: (Listing("ours", True, memory=9**9), *listed)) as made:
        held = made._registry._open
        made.set_memory_budget(lambda: (300 - sum(SIZES[name] for name in held if name in SIZES)) * MB)
        yield made, held, loaded


def test_the_one_used_longest_ago_goes_and_what_was_computed_with_it(engine) -> None:
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


def test_what_does_not_fit_is_refused_in_words_and_nothing_goes_for_it(engine) -> None:
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


def test_a_model_that_is_dropped_is_read_anew(engine) -> None:
    made, held, loaded = engine
    made.open("a")
    made.drop("a")
    assert "a" not in held
    made.open("a")
    assert loaded["a"] == 2


def test_a_model_whose_file_is_written_to_is_opened_anew(engine) -> None:
    made, _held, loaded = engine
    first = made.open("a")
    made.submit(("heads", "a"), list, 1.0)
    assert made.open("a") is first
    first.files = False
    assert made.open("a") is not first and loaded == {"a": 2} and not made._cache.keys()


def test_a_shipped_model_is_closed_for_another_never_refused_and_opened_again() -> None:
    listed = [Listing(name, True, memory=100 * MB) for name in "abc"] + [
        Listing("foreign", True, memory=100 * MB, foreign=True)
    ]
    opened: list[str] = []

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
        made.open("b")
        assert opened == ["foreign", "a", "b", "c", "b"]
        made.close_unused()
        assert [*held] == ["foreign", "b"]  # there is room
        made.set_memory_budget(lambda: 10**9, lambda: -1.0)
        made.close_unused()
        assert [*held] == ["foreign"]
