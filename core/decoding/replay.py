"""Access to the steps of a decoding by number, forwards and backwards; going forward computes each step once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

StepT = TypeVar("StepT")


class Replay(Generic[StepT]):
    """Steps of a decoding by number. Forward costs one step; an earlier step starts again from the first (equal arguments
    give equal steps). It keeps only the generator's own state, `nbytes` at most, a figure for budgets of memory.

    Not for two threads at once: the engine runs one thing at a time.

    >>> replay = Replay(lambda: iter("abc"))
    >>> replay.step(1), replay.step(2), replay.step(0), replay.step(3)
    ('b', 'c', 'a', None)
    """

    def __init__(self, begin: Callable[[], Iterator[StepT]], nbytes: int = 0) -> None:
        self._begin, self.nbytes = begin, nbytes
        self._steps: Iterator[StepT] | None = None
        self._next = 0

    def step(self, index: int) -> StepT | None:
        """Return step `index`, from 0; None when the decoding ended before it."""
        if self._steps is None or index < self._next:
            self._steps, self._next = self._begin(), 0
        for step in self._steps:
            self._next += 1
            if self._next > index:
                return step
        return None
