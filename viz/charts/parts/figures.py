"""The figures of everybody: each is drawn once for the same numbers and labels, and dressed once for each look in which it is sent."""

from __future__ import annotations

import functools
import hashlib
import pickle
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
MOST = 512
"""Figures at a time, see `viz.memo`; the one that nobody asked for longest goes first."""
LARGEST = 2**18
"""Bytes of numbers and labels; a figure of more is drawn each time."""


class _Drawn(NamedTuple):
    figure: Any
    trees: dict[Hashable, Any]


class FigureStore:
    """At most `most` figures by what they draw, each with its trees by look. Safe to use from many threads.

    >>> store = FigureStore(most=1)
    >>> bars = store.figure("bars", lambda: ["bars"])
    >>> store.figure("bars", list) is bars, store.tree(bars, "dark", lambda: 1), store.tree(bars, "dark", lambda: 2)
    (True, 1, 1)
    >>> _ = store.figure("lines", lambda: ["lines"])
    >>> store.tree(bars, "dark", lambda: 3), len(store)  # a figure that is not here is dressed each time
    (3, 1)
    """

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self._lock = threading.Lock()
        self._drawn: OrderedDict[Hashable, _Drawn] = OrderedDict()
        self._keys: dict[int, Hashable] = {}

    def __len__(self) -> int:
        return len(self._drawn)

    def figures(self) -> dict[Hashable, Any]:
        """Return the figures by what they draw."""
        with self._lock:
            return {key: drawn.figure for key, drawn in self._drawn.items()}

    def figure(self, key: Hashable, draw: Callable[[], T]) -> T:
        """Return the figure of a key, drawn now if it is not here."""
        with self._lock:
            if key in self._drawn:
                self._drawn.move_to_end(key)
                return self._drawn[key].figure
        figure = draw()
        with self._lock:
            if key not in self._drawn:  # else two drew it at once, and the first one counts
                self._drawn[key] = _Drawn(figure, {})
                self._keys[id(figure)] = key
            figure = self._drawn[key].figure
            while len(self._drawn) > self.most:
                _, gone = self._drawn.popitem(last=False)
                self._keys.pop(id(gone.figure), None)
        return figure

    def tree(self, figure: Any, look: Hashable, dress: Callable[[], T]) -> T:
        """Return the tree of a figure in a look, dressed now if it is not here."""
        with self._lock:
            drawn = self._drawn.get(self._keys.get(id(figure)))
        if drawn is None or drawn.figure is not figure:
            return dress()
        if look not in drawn.trees:
            drawn.trees[look] = dress()
        return drawn.trees[look]

    def clear(self) -> None:
        """Forget all figures."""
        with self._lock:
            self._drawn.clear()
            self._keys.clear()


FIGURES = FigureStore()
"""The figures of this process."""


def draw_once(draw: Callable[P, T]) -> Callable[P, T]:
    """Decorate a pure function that draws: the same numbers and labels give the very same figure. Nobody changes it but in a copy.

    >>> calls = []
    >>> @draw_once
    ... def bars(values, names=()):
    ...     calls.append(names)
    ...     return [*values]
    >>> bars([1, 2], names=["a"]) is bars([1, 2], names=["a"]), bars([1, 2]) == [1, 2], calls
    (True, True, [['a'], ()])
    """

    @functools.wraps(draw)
    def figure(*args: P.args, **options: P.kwargs) -> T:
        inputs = pickle.dumps((args, options))
        if len(inputs) > LARGEST:
            return draw(*args, **options)
        key = draw.__module__, draw.__qualname__, hashlib.blake2b(inputs, digest_size=20).digest()
        return FIGURES.figure(key, lambda: draw(*args, **options))

    return figure
