"""One lecture room: what the lecturer shows, what is asked, who is there. Safe to use from any thread.

All that followers see is a handful of topics ("view", "ask", "touch" ...), each with the number of its last change. Who was at
number n is told the topics that changed since, each as it is now: a latecomer, one who lost his connection and one who is slow
get the newest state and never a line of old ones.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.errors import InputError
from viz.server.rooms.ask import Question
from viz.server.rooms.seats import Seats
from viz.server.rooms.topics import LEADING, Topics

LASTS = 4 * 3600.0
"""Seconds from the last event to the end."""
MOST_SENTENCES, LONGEST_SENTENCE = 200, 300
MOST_PICTURES, MOST_BYTES = 4, 4_000_000
"""Pictures that follow at a time, and the bytes of all their parts."""


@dataclass(frozen=True)
class Shown:
    """One picture: what a browser needs to draw it, as JSON, and the parts that it is made of."""

    told: Mapping[str, Any]
    parts: Mapping[str, bytes] = field(default_factory=dict)


class Room:
    """A room that was opened; `secret` steers it and is known to the lecturer alone: of it a hash is kept.

    >>> from viz.server.rooms.ask import Form
    >>> room = Room("BCDFGH", "secret")
    >>> room.show({"title": "Look"}, {})
    >>> seat = room.sit("")
    >>> room.asks(Question("own", "Which?", Form("choice", ("a", "b"))))
    >>> room.answer(seat, room.question.id, 1); room.answer(seat, room.question.id, 0)
    >>> room.reveal(truth=[0]); room.question.shown()["counts"]
    [1, 0]
    >>> [topic for topic, number, told in room.since(0)]
    ['view', 'ask']
    """

    def __init__(self, code: str, secret: str, *, now: Callable[[], float] = time.monotonic) -> None:
        self.code, self.door, self._now = code, secrets.token_urlsafe(9), now
        self._secret = hashed(secret)
        self._lock = threading.RLock()
        self._topics = Topics(self._least)
        self._parts: dict[str, Mapping[str, bytes]] = {}
        self._seats = Seats(now)
        self._said: dict[str, str] = {}
        self.question: Question | None = None
        self.paused = self.ended = False
        self.plan: dict[str, Any] = {}
        self.last = now()

    # ------------------------------------------------------------- who may

    def steers(self, secret: str) -> bool:
        """Whether this is the lecturer's secret."""
        return hmac.compare_digest(hashed(secret), self._secret)

    def over(self) -> bool:
        """Whether it ended: by the lecturer, or by itself."""
        return self.ended or self._now() - self.last > LASTS

    @property
    def waits(self) -> bool:
        """Whether what it is kept in does not answer now."""
        return False

    @property
    def leaves(self) -> bool:
        """Whether this server ends and the room goes on at another one."""
        return False

    def empty(self) -> bool:
        """Whether nobody is connected."""
        return not self._seats.connected

    # ------------------------------------------------------------- what is shown

    def show(self, view: Mapping[str, Any], pictures: Mapping[str, Shown]) -> None:
        """The lecturer's page and its pictures, in their order; what did not change is not told again."""
        with self._lock:
            kept: dict[str, Shown] = {}
            room = MOST_BYTES
            for key, shown in pictures.items():
                size = sum(map(len, shown.parts.values()))
                if size <= room and len(kept) < MOST_PICTURES:
                    kept[key], room = shown, room - size
            for key in self._parts.keys() - kept:
                self._topics.drop(f"picture.{key}")
            self._parts = {key: shown.parts for key, shown in kept.items()}
            self._set("view", {**view, "pictures": list(kept)})
            for key, shown in kept.items():
                self._set(f"picture.{key}", {"key": key, **shown.told})
        self._topics.wake()

    def part(self, identity: str) -> bytes | None:
        """A part of a picture in view."""
        with self._lock:
            return next((held[identity] for held in self._parts.values() if identity in held), None)

    def touch(self, what: str, group: str, at: Any) -> None:
        """Where the lecturer points in the pictures of a group ("hover"), or which word he touched ("word"); None for nowhere."""
        self._tell("touch", {"what": what, "group": group, "at": at})

    def pause(self, paused: bool) -> None:
        """Eyes up: the followers' screens are dimmed, or not."""
        self.paused = paused
        self._tell("pause", {"paused": paused})

    def command(self, act: str, **more: Any) -> None:
        """What a second device asks of the lecturer's page."""
        self._tell("command", {"act": act, **more})

    def stands(self, address: str, qr: str) -> None:
        """Where others reach the room: its address, and a picture of it to scan."""
        self._tell("place", {"address": address, "qr": qr, "code": self.code})

    def plans(self, told: Mapping[str, Any]) -> None:
        """Where the lecturer is in his lesson, and what he wants to say; nothing for one who walks through none."""
        if told != self.plan:
            self.plan = dict(told)
            self._tell("plan", told)

    def end(self) -> None:
        """It is over: everything is forgotten, whoever is connected is told."""
        with self._lock:
            self.ended, self.question, self._parts = True, None, {}
            self._topics.clear()
            self._seats.clear()
            self._said.clear()
        self._tell("end", {})

    # ------------------------------------------------------------- followers

    def sits(self, seat: str) -> bool:
        """Whether this is a seat of the room."""
        return seat in self._seats

    def sit(self, seat: str, new: str = "") -> str:
        """The seat of who comes: his own again, or a `new` one (drawn if ""). Raises Refusal: there is none left."""
        with self._lock:
            asked = self.question
            busy = {*self._said, *(asked.answers if asked else ()), *(asked.first if asked else ())}
            seat = self._seats.sit(seat, busy, new)
            self._people()
        self._topics.wake(leading=True)
        return seat

    def connect(self, seat: str, by: int) -> None:
        """A connection of a seat begins (1) or ends (-1)."""
        with self._lock:
            self._seats.connect(seat, by)
            self._people()
        self._topics.wake(leading=True)

    def answer(self, seat: str, question: str, given: Any) -> None:
        """What a seat answers; until the reveal it may be changed, and counts once.

        Raises:
            InputError: it has no seat, is too fast, or this is no answer to what is asked now.
        """
        with self._lock:
            self._seats.may_send(seat)
            asked = self.question
            if asked is None or asked.id != question or asked.revealed:
                raise InputError(
                    "This question is closed.",
                    "An answer counts until the lecturer reveals.",
                    "Wait for the next question.",
                )
            asked.answers[seat] = asked.form.read(given)
            self._people()
        self._topics.wake(leading=True)

    def say(self, seat: str, sentence: str) -> None:
        """A sentence for the lecturer, who alone reads it; a second one takes the place of the first.

        Raises:
            InputError: it has no seat, is too fast, empty or too long, or there are too many.
        """
        words = " ".join(sentence.split())
        with self._lock:
            self._seats.may_send(seat)
            if not words or len(words) > LONGEST_SENTENCE:
                raise InputError(
                    "The sentence cannot be sent.",
                    f"It has 1 to {LONGEST_SENTENCE} letters.",
                    "Write a shorter one." if words else "Write a sentence.",
                )
            if seat not in self._said and len(self._said) >= MOST_SENTENCES:
                raise InputError(
                    "The lecturer has enough sentences.",
                    f"A room keeps {MOST_SENTENCES}.",
                    "Wait until some have been read.",
                )
            self._said[seat] = words
            self._set("said", {"sentences": list(self._said.values())})
            self._people()
        self._topics.wake(leading=True)

    def sentences(self) -> list[str]:
        """What was sent, oldest first."""
        with self._lock:
            return list(self._said.values())

    def read(self) -> None:
        """The lecturer has read the sentences: they are forgotten."""
        with self._lock:
            self._said.clear()
            self._set("said", {"sentences": []})
            self._people()
        self._topics.wake(leading=True)

    # ------------------------------------------------------------- what is asked

    def asks(self, question: Question | None) -> None:
        """Ask this; the same question once more goes on, None takes the question away."""
        with self._lock:
            if (question and question.same) == (self.question and self.question.same):
                return
            if question:
                question.id = question.id or secrets.token_hex(4)
            self.question = question
            self._asked()
        self._topics.wake()

    def again(self) -> None:
        """Peer instruction: the room discusses what it is asked, and everybody answers once more; nothing is shown between."""
        with self._lock:
            asked = self.question
            if asked and asked.answers and not asked.first and not asked.revealed:
                asked.again()
                self._asked()
        self._topics.wake()

    def reveal(self, truth: Sequence[int] | float | None = None, why: str = "") -> None:
        """The answers are closed and shown, beside the truth where there is one."""
        with self._lock:
            if asked := self.question:
                asked.revealed, asked.truth, asked.why = True, truth, why
                self._asked()
        self._topics.wake()

    def _asked(self) -> None:
        self._set("ask", self.question.shown() if self.question else {})
        self._people()

    # ------------------------------------------------------------- who hears

    def listen(self, wake: Callable[[], None], *, leads: bool = False) -> Callable[[], None]:
        """`wake()` is called, from any thread, when something has changed that it may hear; returns what ends it."""
        return self._topics.listen(wake, leads=leads)

    def since(self, number: int, *, leads: bool = False) -> list[tuple[str, int, str]]:
        """The topics that changed after `number`, each (topic, its number, JSON), oldest change first."""
        return self._topics.since(number, leads=leads)

    @property
    def number(self) -> int:
        """The number of the last change."""
        return self._topics.number

    def _people(self) -> None:
        asked = self.question
        self._set(
            "people",
            {
                "joined": self._seats.joined,
                "answered": len(asked.answers) if asked else 0,
                "asked": bool(asked and not asked.revealed),
                "first": len(asked.first) if asked else 0,
                "sentences": len(self._said),
            },
        )

    def _tell(self, topic: str, told: Mapping[str, Any]) -> None:
        with self._lock:
            self._set(topic, told, again=topic == "command")
        self._topics.wake(leading=topic in LEADING)

    def _set(self, topic: str, told: Mapping[str, Any], *, again: bool = False) -> None:
        if topic != "people":
            self.last = self._now()
        self._topics.set(topic, told, again=again)

    def _least(self) -> int:
        """The least number that a change may have now."""
        return 0

    # ------------------------------------------------------------- a copy of it

    def state(self) -> dict[str, Any]:
        """All that the room holds but who listens, as JSON has it."""
        with self._lock:
            return {
                "secret": self._secret.hex(),
                "door": self.door,
                "topics": self._topics.state(),
                "parts": {key: _texts(held) for key, held in self._parts.items()},
                "seats": self._seats.state(),
                "said": self._said,
                "question": self.question.state() if self.question else None,
                "paused": self.paused,
                "ended": self.ended,
                "last": self.last,
            }

    def become(self, state: Mapping[str, Any], *, now: bool = False) -> None:
        """Hold what `state()` of another copy gave; who listens goes on listening, and is told all of it if it is so from `now` on."""
        with self._lock:
            self._secret, self.door = bytes.fromhex(state["secret"]), state["door"]
            self._topics.become(state["topics"], now=now)
            self._parts = {key: _bytes(held) for key, held in state["parts"].items()}
            self._seats.become(state["seats"])
            self._said = dict(state["said"])
            self.question = Question.of(state["question"]) if state["question"] else None
            self.paused, self.ended, self.last = state["paused"], state["ended"], state["last"]
        self._topics.wake()


def hashed(secret: str) -> bytes:
    """What is kept of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()


def _texts(parts: Mapping[str, bytes]) -> dict[str, str]:
    return {name: base64.b64encode(data).decode() for name, data in parts.items()}


def _bytes(parts: Mapping[str, str]) -> dict[str, bytes]:
    return {name: base64.b64decode(text) for name, text in parts.items()}
