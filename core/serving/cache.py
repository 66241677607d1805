"""A cache of results for all visitors with a budget in bytes; results requested repeatedly stay longest."""

from __future__ import annotations

import functools
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

ENTRY_BYTES = 512
"""The bytes of an entry beside its key and its value, so that a million empty results are not free."""

MISSING = object()
"""The answer of `ByteCache.get` for an unknown key: a result may be None."""

_PASSED_OVER = (
    type,
    ModuleType,
    FunctionType,
    BuiltinFunctionType,
    MethodType,
    nn.Module,
    int,
    float,
    type(None),
)


class _Kind(NamedTuple):
    """The way to look into the objects of a class."""

    passed_over: bool
    mapping: bool
    sequence: bool
    atomic: bool
    slots: tuple[str, ...]


@functools.lru_cache(1024)
def _kind(cls: type) -> _Kind:
    return _Kind(
        issubclass(cls, _PASSED_OVER),
        issubclass(cls, Mapping),
        issubclass(cls, (list, tuple, set, frozenset)),
        issubclass(cls, (np.ndarray, torch.Tensor, str, bytes)),
        tuple(name for kind in cls.__mro__ for name in _slots(kind)),
    )


def parts(value: object) -> Iterator[Any]:
    """Yield every object that a result keeps alive, each once, looking into containers, attributes and slots.

    Networks, and models that own one, are passed over: the registry holds those, whatever the cache does.
    """
    stack: list[Any] = [value]
    seen = set[int]()
    plain = (int, float, bool, type(None))  # most of what a chart's rows hold
    while stack:
        item = stack.pop()
        if id(item) in seen:
            continue
        kind = _kind(type(item))
        if kind.passed_over:
            continue
        seen.add(id(item))
        if kind.atomic:
            yield item
            continue
        own = getattr(item, "__dict__", {})
        if isinstance(own.get("network"), nn.Module):
            continue
        yield item
        if kind.mapping:
            stack += [part for part in item if type(part) not in plain and id(part) not in seen]
            stack += [part for part in item.values() if type(part) not in plain]
        elif kind.sequence:
            stack += [part for part in item if type(part) not in plain]
        else:
            stack.extend(own.values())
            stack.extend(getattr(item, name) for name in kind.slots if hasattr(item, name))


def weigh(value: object) -> int:
    """Return the bytes that a value keeps in memory.

    A value that knows its own size says so with an integer attribute `nbytes`. Of anything else the arrays and
    tensors inside are counted, a buffer that several share once, a slice with all that it keeps alive; texts and
    containers count too.

    >>> weigh(np.zeros(3, dtype=np.float32)), weigh([torch.zeros(10)[:2]]) - sys.getsizeof([None])
    (12, 40)
    """
    nbytes = getattr(value, "nbytes", None)
    if isinstance(nbytes, int) and not isinstance(value, (np.ndarray, torch.Tensor)):
        return nbytes
    buffers: dict[int, int] = {}
    others = 0
    for item in parts(value):
        if isinstance(item, (str, bytes, bytearray, Mapping, list, tuple, set, frozenset)):
            others += sys.getsizeof(item)
        elif isinstance(item, torch.Tensor):
            storage = item.untyped_storage()
            buffers[storage.data_ptr()] = max(storage.nbytes(), buffers.get(storage.data_ptr(), 0))
        elif isinstance(item, np.ndarray):
            while isinstance(item.base, np.ndarray):
                item = item.base
            buffers[item.ctypes.data] = max(item.nbytes, buffers.get(item.ctypes.data, 0))
    return sum(buffers.values()) + others


def seal(value: object) -> None:
    """Make the numpy arrays inside a result read-only: what many visitors share, no page can change for the others.

    (Tensors need nothing: torch refuses to change a tensor of inference mode in place.)

    >>> counts = {"row": np.zeros(2)}
    >>> seal(counts)
    >>> counts["row"][0] = 1
    Traceback (most recent call last):
    ValueError: assignment destination is read-only
    """
    for item in parts(value):
        if isinstance(item, np.ndarray):
            item.setflags(write=False)


class ByteCache:
    """A cache of at most `budget` bytes that keeps the most recently used values, first of all those requested again.

    Segmented least-recently-used (Karedla, Love and Wherry, "Caching strategies to improve disk system performance", 1994): a
    new value is among those that were asked for once, and the oldest of these goes first. Asked for again, more than
    `SOON` seconds after it came, it moves to those with a room of `KEPT` of the budget; what grows out of that room is the
    newest of the others once more. So a crowd of values that nobody asks for twice, as a slider leaves one at every move,
    passes through without driving out what a class comes back to. Within `SOON` a value is asked for by the same page.

    A value heavier than the budget drives nothing out: the last such value has a place of its own if it weighs at most
    `heavy` bytes, and is else not kept. Safe to use from many threads.

    >>> clock = iter(range(0, 100, 10))
    >>> cache = ByteCache(budget=2 * (ENTRY_BYTES + 8), now=lambda: next(clock))
    >>> [cache.put(name, np.zeros(1)) for name in (1, 2)], cache.get(1), cache.put(3, np.zeros(1)), cache.keys()
    ([True, True], array([0.]), True, (3, 1))
    """

    KEPT, SOON = 0.75, 2.0

    def __init__(self, budget: int, heavy: int = 0, now: Callable[[], float] = time.monotonic) -> None:
        self.budget, self.heavy, self._now = budget, heavy, now
        self._lock = threading.Lock()
        self._once, self._again = _Segment(), _Segment()
        self._heavy_entry: tuple[Hashable, _Entry] | None = None

    @property
    def nbytes(self) -> int:
        """Return the bytes of all entries now."""
        with self._lock:
            return self._light + (self._heavy_entry[1].nbytes if self._heavy_entry else 0)

    @property
    def _light(self) -> int:
        return self._once.nbytes + self._again.nbytes

    def keys(self) -> tuple[Hashable, ...]:
        """Return the keys in the order in which they would be dropped; that of a value heavier than the budget comes last."""
        with self._lock:
            return (
                *self._once.entries,
                *self._again.entries,
                *((self._heavy_entry[0],) if self._heavy_entry else ()),
            )

    def get(self, key: Hashable) -> object:
        """Return the value of a key, which becomes the most recently used, or `MISSING`."""
        with self._lock:
            if self._heavy_entry and self._heavy_entry[0] == key:
                return self._heavy_entry[1].value
            entry = self._again.take(key)
            if entry is None:
                entry = self._once.take(key)
                if entry is None:
                    return MISSING
                if self._now() - entry.since <= self.SOON:
                    self._once.add(key, entry)
                    return entry.value
            self._again.add(key, entry)
            while self._again.nbytes > self.KEPT * self.budget:
                self._once.add(*self._again.oldest())
            return entry.value

    def put(self, key: Hashable, value: object) -> bool:
        """Store a value as the most recently used; return False if it alone is too heavy."""
        entry = _Entry(value, ENTRY_BYTES + weigh(key) + weigh(value), self._now())
        with self._lock:
            if self._heavy_entry and self._heavy_entry[0] == key:
                self._heavy_entry = None
            self._once.take(key)
            self._again.take(key)
            if entry.nbytes > self.budget:
                if entry.nbytes <= self.heavy:
                    self._heavy_entry = key, entry
                return entry.nbytes <= self.heavy
            self._once.add(key, entry)
            while self._light > self.budget:
                (
                    self._once if len(self._once.entries) > 1 or not self._again.entries else self._again
                ).oldest()
            return True

    def drop(self, name: str) -> None:
        """Drop the results of a model: every entry whose key contains its name.

        >>> cache = ByteCache(10_000)
        >>> [cache.put(key, 0) for key in (("heads", "a"), ("heads", "ab"))], cache.drop("a"), cache.keys()
        ([True, True], None, (('heads', 'ab'),))
        """
        for key in self.keys():
            if any(part == name for part in parts(key) if isinstance(part, str)):
                with self._lock:
                    self._once.take(key)
                    self._again.take(key)
                    if self._heavy_entry and self._heavy_entry[0] == key:
                        self._heavy_entry = None

    def clear(self) -> None:
        """Drop all entries."""
        with self._lock:
            self._once, self._again, self._heavy_entry = _Segment(), _Segment(), None


class _Entry(NamedTuple):
    value: object
    nbytes: int
    since: float


class _Segment:
    """A part of the cache: entries, the least recently used first, and their weight."""

    def __init__(self) -> None:
        self.entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self.nbytes = 0

    def add(self, key: Hashable, entry: _Entry) -> None:
        self.entries[key] = entry
        self.nbytes += entry.nbytes

    def take(self, key: Hashable) -> _Entry | None:
        entry = self.entries.pop(key, None)
        self.nbytes -= entry.nbytes if entry else 0
        return entry

    def oldest(self) -> tuple[Hashable, _Entry]:
        key, entry = self.entries.popitem(last=False)
        self.nbytes -= entry.nbytes
        return key, entry


def _slots(kind: type) -> tuple[str, ...]:
    names = kind.__dict__.get("__slots__", ())
    return (names,) if isinstance(names, str) else tuple(names)
