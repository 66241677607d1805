"""Results of everybody in one least-recently-used cache with a budget in bytes."""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import nn

ENTRY_BYTES = 512
"""What an entry weighs beside its key and its value, so that a million empty results are not free."""

MISSING = object()
"""What `ByteCache.get` returns for an unknown key: a result may be None."""

_PASSED_OVER = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType, nn.Module, int, float, type(None))


def parts(value: object) -> Iterator[Any]:
    """Every object that a result keeps alive, each once: into containers, attributes and slots.

    Networks, and models that own one, are passed over: the registry holds those, whatever the cache does.
    """
    stack, seen = [value], set[int]()
    while stack:
        item = stack.pop()
        if id(item) in seen or isinstance(item, _PASSED_OVER):
            continue
        seen.add(id(item))
        own = getattr(item, "__dict__", {})
        if isinstance(own.get("network"), nn.Module):
            continue
        yield item
        if isinstance(item, Mapping):
            stack.extend(item.keys())
            stack.extend(item.values())
        elif isinstance(item, (list, tuple, set, frozenset)):
            stack.extend(item)
        elif not isinstance(item, (np.ndarray, torch.Tensor)):
            stack.extend(own.values())
            names = (name for kind in type(item).__mro__ for name in _slots(kind))
            stack.extend(getattr(item, name) for name in names if hasattr(item, name))


def weigh(value: object) -> int:
    """Bytes that a value keeps in memory.

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
        if isinstance(item, torch.Tensor):
            storage = item.untyped_storage()
            buffers[storage.data_ptr()] = max(storage.nbytes(), buffers.get(storage.data_ptr(), 0))
        elif isinstance(item, np.ndarray):
            while isinstance(item.base, np.ndarray):
                item = item.base
            buffers[item.ctypes.data] = max(item.nbytes, buffers.get(item.ctypes.data, 0))
        elif isinstance(item, (str, bytes, bytearray, Mapping, list, tuple, set, frozenset)):
            others += sys.getsizeof(item)
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
    """Keeps what was used last, as long as all entries together weigh at most `budget` bytes.

    Law: after any sequence of calls the cache holds the longest run of most recently used entries that fits. A value
    heavier than the budget drives nothing out: the last such value has a place of its own if it weighs at most `heavy`
    bytes, and is else not kept. Safe to use from many threads.

    >>> cache = ByteCache(budget=2 * (ENTRY_BYTES + 8))
    >>> [cache.put(name, np.zeros(1)) for name in (1, 2)], cache.get(1), cache.put(3, np.zeros(1)), cache.keys()
    ([True, True], array([0.]), True, (1, 3))
    """

    def __init__(self, budget: int, heavy: int = 0) -> None:
        self.budget, self.heavy = budget, heavy
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, tuple[object, int]] = OrderedDict()
        self._light = 0
        self._alone: tuple[Hashable, object, int] | None = None

    @property
    def nbytes(self) -> int:
        """What is kept now, in bytes."""
        with self._lock:
            return self._light + (self._alone[2] if self._alone else 0)

    def keys(self) -> tuple[Hashable, ...]:
        """Keys kept now, the least recently used first; that of a value heavier than the budget last."""
        with self._lock:
            return (*self._entries, *((self._alone[0],) if self._alone else ()))

    def get(self, key: Hashable) -> object:
        """The value, now the most recently used, or `MISSING`."""
        with self._lock:
            if self._alone and self._alone[0] == key:
                return self._alone[1]
            if key not in self._entries:
                return MISSING
            self._entries.move_to_end(key)
            return self._entries[key][0]

    def put(self, key: Hashable, value: object) -> bool:
        """Keep a value as the most recently used; False if it alone is too heavy."""
        nbytes = ENTRY_BYTES + weigh(key) + weigh(value)
        with self._lock:
            self._forget(key)
            if nbytes > self.budget:
                if nbytes <= self.heavy:
                    self._alone = key, value, nbytes
                return nbytes <= self.heavy
            self._entries[key] = (value, nbytes)
            self._light += nbytes
            while self._light > self.budget:
                self._light -= self._entries.popitem(last=False)[1][1]
            return True

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()
            self._light, self._alone = 0, None

    def _forget(self, key: Hashable) -> None:
        if self._alone and self._alone[0] == key:
            self._alone = None
        self._light -= self._entries.pop(key, (None, 0))[1]


def _slots(kind: type) -> tuple[str, ...]:
    names = kind.__dict__.get("__slots__", ())
    return (names,) if isinstance(names, str) else tuple(names)
