"""What is told to those who listen: a handful of topics, each as it is now, with the number of its last change."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from typing import Any

LEADING = ("people", "votes", "said", "command", "place", "plan")
"""Topics that only the lecturer hears."""


class Topics:
    """The topics of one room; safe to use from any thread.

    least: the least number that a change may have now; numbers only grow.

    >>> topics = Topics(lambda: 0); topics.set("view", {"title": "Look"}); topics.set("people", {"joined": 1})
    >>> topics.since(0), topics.since(1, leads=True)
    ([('view', 1, '{"title":"Look"}')], [('people', 2, '{"joined":1}')])
    """

    def __init__(self, least: Callable[[], int]) -> None:
        self._least, self._lock = least, threading.RLock()
        self._held: dict[str, tuple[int, str]] = {}
        self._listeners: dict[Callable[[], None], bool] = {}
        self.number = 0
        """The number of the last change."""

    def set(self, topic: str, told: Mapping[str, Any], *, again: bool = False) -> None:
        """From now on it is so; what is as before is no change, unless it shall be told `again`."""
        text = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
        with self._lock:
            if again or self._held.get(topic, (0, ""))[1] != text:
                self.number = max(self.number + 1, self._least())
                self._held[topic] = self.number, text

    def has(self, topic: str) -> bool:
        """Whether anything is told of it."""
        with self._lock:
            return topic in self._held

    def drop(self, topic: str) -> None:
        """Nothing is told of it any more."""
        with self._lock:
            self._held.pop(topic, None)

    def clear(self) -> None:
        """Nothing is told of anything."""
        with self._lock:
            self._held.clear()

    def since(self, number: int, *, leads: bool = False) -> list[tuple[str, int, str]]:
        """The topics that changed after `number`, each (topic, its number, JSON), oldest change first."""
        with self._lock:
            if number > self.number:  # of another room that had this code
                number = 0
            found = [
                (topic, changed, told)
                for topic, (changed, told) in self._held.items()
                if changed > number and (leads or topic not in LEADING)
            ]
        return sorted(found, key=lambda one: one[1])

    def listen(self, wake: Callable[[], None], *, leads: bool = False) -> Callable[[], None]:
        """`wake()` is called, from any thread, when something has changed that it may hear; returns what ends it."""
        with self._lock:
            self._listeners[wake] = leads

        def deaf() -> None:
            with self._lock:
                self._listeners.pop(wake, None)

        return deaf

    def wake(self, *, leading: bool = False) -> None:
        """Call who listens; of what only the lecturer hears, only him."""
        with self._lock:
            called = [wake for wake, leads in self._listeners.items() if leads or not leading]
        for wake in called:
            wake()

    def state(self) -> dict[str, Any]:
        """What is told, as JSON has it."""
        with self._lock:
            return {"number": self.number, "held": dict(self._held)}

    def become(self, state: Mapping[str, Any], *, now: bool = False) -> None:
        """Tell what `state()` gave; `now`: all of it as changed now, so that everybody is told once more."""
        with self._lock:
            self.number = max(self.number + 1, self._least()) if now else state["number"]
            self._held = {
                topic: (self.number if now else number, text)
                for topic, (number, text) in state["held"].items()
            }
