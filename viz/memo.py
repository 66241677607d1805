"""What is made from a thing that many reruns share (a run, a survey, a model, a figure), made once while that thing lives."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")
MOST = 48
"""So many answers are kept; the one that nobody asked for longest goes first."""


class Memory:
    """Answers about things, `most` of them.

    >>> class Thing: pass
    >>> thing, memory = Thing(), Memory()
    >>> memory(thing, "n", lambda: 1), memory(thing, "n", lambda: 2), memory(Thing(), "n", lambda: 3)
    (1, 1, 3)
    """

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self._made: OrderedDict[tuple[int, Hashable], tuple[weakref.ref[Any], Any]] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, thing: Any, name: Hashable, make: Callable[[], T]) -> T:
        """`make()`, or what it gave for this very `thing` and `name` before. It must depend on nothing else."""
        key = (id(thing), name)
        with self._lock:
            found = self._made.get(key)
            if found is not None and found[0]() is thing:  # another thing may stand where one was
                self._made.move_to_end(key)
                return found[1]
        made = make()
        with self._lock:
            self._made[key] = (weakref.ref(thing), made)
            for gone in [other for other, (ref, _) in self._made.items() if ref() is None]:
                del self._made[gone]
            while len(self._made) > self.most:
                self._made.popitem(last=False)
        return made


remembered = Memory()
