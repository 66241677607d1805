"""The topics of a room for its listeners, each as it is now, with the number of its last change."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from typing import Any

LEADING = ("people", "votes", "said", "command", "place", "plan")
"""Topics for the lecturer alone."""


class Topics:
    """The topics of one room; safe to use from any thread.

    least: the least number that a change may have now; numbers only grow.

    >>> topics = Topics(lambda: 0); topics.set("view", {"title": "Look"}); topics.set("people", {"joined": 1})
    >>> topics.since(0), topics.since(1, leads=True)
    ([('view', 1, '{"title":"Look"}')], [('people', 2, '{"joined":1}')])
    """

    def __init__(self, least: Callable[[], int]) -> None:
        self._least, self._lock = least, threading.RLock()
        self._messages: dict[str, tuple[int, str]] = {}
        self._listeners: dict[Callable[[], None], bool] = {}
        self.number = 0
        """The number of the last change."""

    def set(self, topic: str, message: Mapping[str, Any], *, resend: bool = False) -> None:
        """Set the message of a topic; the same one is no change, unless `resend` sends it once more."""
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        with self._lock:
            if resend or self._messages.get(topic, (0, ""))[1] != text:
                self.number = max(self.number + 1, self._least())
                self._messages[topic] = self.number, text

    def has(self, topic: str) -> bool:
        """Return whether the topic has a message."""
        with self._lock:
            return topic in self._messages

    def drop(self, topic: str) -> None:
        """Remove a topic."""
        with self._lock:
            self._messages.pop(topic, None)

    def clear(self) -> None:
        """Remove all topics."""
        with self._lock:
            self._messages.clear()

    def since(self, number: int, *, leads: bool = False) -> list[tuple[str, int, str]]:
        """Return the topics that changed after `number`, each (topic, its number, JSON), oldest change first."""
        with self._lock:
            if number > self.number:  # of another room that had this code
                number = 0
            found = [
                (topic, changed, message)
                for topic, (changed, message) in self._messages.items()
                if changed > number and (leads or topic not in LEADING)
            ]
        return sorted(found, key=lambda one: one[1])

    def listen(self, wake: Callable[[], None], *, leads: bool = False) -> Callable[[], None]:
        """Call `wake()`, from any thread, after each change of a topic that this listener may see; return a function that stops it."""
        with self._lock:
            self._listeners[wake] = leads

        def deaf() -> None:
            with self._lock:
                self._listeners.pop(wake, None)

        return deaf

    def notify(self, *, leading: bool = False) -> None:
        """Call the functions of all listeners, or only the lecturer's if `leading`: a topic has changed."""
        with self._lock:
            called = [wake for wake, leads in self._listeners.items() if leads or not leading]
        for wake in called:
            wake()

    def state(self) -> dict[str, Any]:
        """Return all topics as a dictionary that JSON can write."""
        with self._lock:
            return {"number": self.number, "held": dict(self._messages)}

    def restore(self, state: Mapping[str, Any], *, now: bool = False) -> None:
        """Take over a `state()`; `now`: all of it counts as changed now, so that everybody gets it once more."""
        with self._lock:
            self.number = max(self.number + 1, self._least()) if now else state["number"]
            self._messages = {
                topic: (self.number if now else number, text)
                for topic, (number, text) in state["held"].items()
            }
