"""What is made from a thing that many reruns share (a run, a survey, a model), made once while that thing lives."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")
MOST = 48
"""So many answers are kept; the one that nobody asked for longest goes first."""

_made: OrderedDict[tuple[int, Hashable], tuple[weakref.ref[Any], Any]] = OrderedDict()
_lock = threading.Lock()


def remembered(thing: Any, name: Hashable, make: Callable[[], T]) -> T:
    """`make()`, or what it gave for this very `thing` and `name` before. It must depend on nothing else.

    >>> class Thing: pass
    >>> thing = Thing()
    >>> remembered(thing, "n", lambda: 1), remembered(thing, "n", lambda: 2), remembered(Thing(), "n", lambda: 3)
    (1, 1, 3)
    """
    key = (id(thing), name)
    with _lock:
        found = _made.get(key)
        if found is not None and found[0]() is thing:  # another thing may stand where one was
            _made.move_to_end(key)
            return found[1]
    made = make()
    with _lock:
        _made[key] = (weakref.ref(thing), made)
        for gone in [other for other, (ref, _) in _made.items() if ref() is None]:
            del _made[gone]
        while len(_made) > MOST:
            _made.popitem(last=False)
    return made
