"""The memo: values made of a thing that many runs share (a run of a model, a survey, a chart), made once while that thing lives.

There are two stores, each for everybody, and whoever makes something twice chooses one of them:

- results of models, by what was asked: `core.serving.cache.ByteCache`, behind `Engine.run` and `Engine.submit`;
- everything that is made of them for the screen: this one, by a thing and a name, `remembered(attention, "grid", make)`. A value is
  gone with its thing, at the latest. A chart is a value of the function that draws it (`viz.charts.parts.figures.draw_once`),
  and the tree in which it is sent a value of the chart.

(`functools.lru_cache` of a pure function of small values is no store.)

The budget is for a class of 100, each at a sentence and a page of their own, so that nobody's next run finds gone what it needs
again: a sentence of 25 words on Look leaves 0.1 MB here, and some times as much once several of its views were open (48 MB in
all); a step of an exhibit shows one to four charts, each with its tree 0.1 to 0.4 MB (80 MB for 500 of them).
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar

from viz.languages import current

T = TypeVar("T")
BYTES = 128 * 2**20
"""The budget of the memo; the value that nobody asked for longest goes first."""


class _Entry(NamedTuple):
    thing: weakref.ref[Any]
    value: Any
    nbytes: int


class Memo:
    """Values by a thing and a name, of at most `budget` bytes together. Safe to use from many threads.

    >>> class Thing: pass
    >>> thing, memo = Thing(), Memo()
    >>> memo(thing, "n", lambda: 1), memo(thing, "n", lambda: 2), memo(Thing(), "n", lambda: 3)
    (1, 1, 3)
    """

    def __init__(self, budget: int = BYTES) -> None:
        self.budget = budget
        self._entries: OrderedDict[tuple[int, Hashable, str], _Entry] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, thing: Any, name: Hashable, make: Callable[[], T]) -> T:
        """Return `make()`, or what it gave for this very `thing` and `name` before, in this language. It must depend on nothing else."""
        key = (id(thing), name, current().code)
        with self._lock:
            entry = self._entries.get(key)
            if (
                entry is not None and entry.thing() is thing
            ):  # another thing may have the id of one that is gone
                self._entries.move_to_end(key)
                return entry.value
        from core.serving.cache import weigh  # late: an instrument alone needs no torch

        value = make()
        entry = _Entry(weakref.ref(thing), value, weigh(value))
        with self._lock:
            first = self._entries.get(key)
            if first is not None and first.thing() is thing:  # two made it at once
                return first.value
            if entry.nbytes <= self.budget:
                self._entries[key] = entry
            self._make_room()
        return value

    def clear(self, above: int = 0) -> None:
        """Forget every value of more than `above` bytes."""
        with self._lock:
            for key in [key for key, entry in self._entries.items() if entry.nbytes > above]:
                del self._entries[key]

    def _make_room(self) -> None:
        for key in [key for key, entry in self._entries.items() if entry.thing() is None]:
            del self._entries[key]
        nbytes = sum(entry.nbytes for entry in self._entries.values())
        while nbytes > self.budget:
            nbytes -= self._entries.popitem(last=False)[1].nbytes


remembered = Memo()
"""The memo of this process."""
