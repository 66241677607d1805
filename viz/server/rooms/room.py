"""One lecture room: what the lecturer shows, what is asked, who is there. Safe to use from any thread.

All that followers see is a handful of topics ("view", "ask", "touch" ...), each with the number of its last change. Who was at
number n is told the topics that changed since, each as it is now: a latecomer, one who lost his connection and one who is slow
get the newest state and never a line of old ones.
"""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from core.errors import InputError
from viz.server.rooms.ask import Question, replaces
from viz.server.rooms.record import Record
from viz.server.rooms.seats import Seats, hashed
from viz.server.rooms.sentences import Sentences
from viz.server.rooms.shown import Parts, Shown
from viz.server.rooms.topics import LEADING, Topics

LASTS = 4 * 3600.0
"""Seconds from the last event to the end, and from the end until what was shown is forgotten."""


class Room:
    """A room that was opened; `secret` steers it and is known to the lecturer alone: of it a hash is kept.

    >>> from viz.server.rooms.ask import Form
    >>> room = Room("BCDFGH", "secret")
    >>> room.show({"title": "Look"}, {}); seat = room.sit("")
    >>> room.asks(Question("own", "Which?", Form("choice", ("a", "b"))))
    >>> room.answer(seat, room.question.id, 0); room.reveal(truth=[0]); room.question.shown()["counts"]
    [1, 0]
    """

    def __init__(self, code: str, secret: str, *, now: Callable[[], float] = time.monotonic) -> None:
        self.code, self.door, self._now = code, secrets.token_urlsafe(9), now
        self._secret = hashed(secret)
        self._lock = threading.RLock()
        self._topics = Topics(self._least)
        self._parts = Parts()
        self._seats = Seats(now)
        self._sentences, self.record = Sentences(), Record()
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

    def forgotten(self) -> bool:
        """Whether nothing of it is to be kept any more: it ended long ago."""
        return self.ended and self._now() - self.last > LASTS

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
            before = set(self._parts)
            kept = self._parts.keep(pictures)
            for key in before - kept.keys():
                self._topics.drop(f"picture.{key}")
            self._set("view", {**view, "pictures": list(kept)})
            self.record.note_page({**view, "pictures": list(kept)})
            for key, shown in kept.items():
                self._set(f"picture.{key}", {"key": key, **shown.told})
        self._topics.wake()

    def part(self, identity: str) -> bytes | None:
        """A part of a picture in view."""
        with self._lock:
            return self._parts.part(identity)

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
        """End it: everything is forgotten but the record, which whoever has the code may read for a while."""
        with self._lock:
            if self.ended:
                return
            self.ended, self.question = True, None
            self._parts.keep({})
            self._topics.clear()
            self._seats.clear()
            self._sentences.clear()
        self._tell("end", self.record.summary())

    # ------------------------------------------------------------- followers

    def sits(self, seat: str) -> bool:
        """Whether this is a seat of the room."""
        return seat in self._seats

    def sit(self, seat: str, new: str = "") -> str:
        """The seat of who comes: his own again, or a `new` one (drawn if ""). Raises Refusal: there is none left."""
        with self._lock:
            asked = self.question
            busy = {*self._sentences, *(asked.answers if asked else ()), *(asked.first if asked else ())}
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
        with self._lock:
            self._seats.may_send(seat)
            self._sentences.say(seat, sentence)
            self._sent()
        self._topics.wake(leading=True)

    def sentences(self) -> list[str]:
        """Return what was sent and waits, oldest first."""
        with self._lock:
            return [one["words"] for one in self._sentences.waiting()]

    def on_wall(self) -> list[str]:
        """Return the sentences that the wall shows."""
        with self._lock:
            return [one["words"] for one in self._sentences.accepted()]

    def sentence(self, identity: str) -> str:
        """Return the sentence of this identity; "" where there is none."""
        with self._lock:
            return self._sentences.words(identity)

    def accept(self, identity: str) -> None:
        """Show a sentence on the wall."""
        with self._lock:
            self._sentences.accept(identity)
            self._sent()
        self._topics.wake()

    def drop(self, identity: str) -> None:
        """Delete one sentence, on the wall too."""
        with self._lock:
            self._sentences.drop(identity)
            self._sent()
        self._topics.wake()

    def read(self) -> None:
        """Delete all sentences, on the wall too."""
        with self._lock:
            self._sentences.clear()
            self._sent()
        self._topics.wake()

    def _sent(self) -> None:
        self._set("said", {"sentences": self._sentences.waiting()})
        if self._sentences.accepted() or self._topics.has("accepted"):
            self._set("accepted", {"sentences": self._sentences.accepted()})
        self._people()

    # ------------------------------------------------------------- what is asked

    def asks(self, question: Question | None) -> None:
        """Ask this; the same question once more goes on, None takes the question away."""
        with self._lock:
            if not replaces(question, self.question):
                return
            if question and self.question and question.same == self.question.same:
                self.question.truth = question.truth  # of another run of the same page
                self._votes()
            else:
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
                self.record.note_votes(asked)
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

    joined = property(lambda self: self._seats.joined, doc="How many browsers follow now.")
    number = property(lambda self: self._topics.number, doc="The number of the last change.")

    def own_answer(self, seat: str) -> dict[str, Any] | None:
        """Return what a seat has answered to the question that is asked now, for this seat alone."""
        with self._lock:
            return self.question.own(seat) if self.question else None

    def _votes(self) -> None:
        if self.question or self._topics.has("votes"):
            self._set("votes", self.question.so_far() if self.question else {})

    def _people(self) -> None:
        self._votes()
        asked = self.question
        self._set(
            "people",
            {
                "joined": self._seats.joined,
                "answered": len(asked.answers) if asked else 0,
                "asked": bool(asked and not asked.revealed),
                "first": len(asked.first) if asked else 0,
                "sentences": len(self._sentences),
            },
        )

    def _tell(self, topic: str, told: Mapping[str, Any]) -> None:
        with self._lock:
            self._set(topic, told, again=topic == "command")
        self._topics.wake(leading=topic in LEADING)

    def _set(self, topic: str, told: Mapping[str, Any], *, again: bool = False) -> None:
        if topic not in ("people", "votes"):
            self.last = self._now()
        self._topics.set(topic, told, again=again)

    def _least(self) -> int:
        return 0

    # ------------------------------------------------------------- a copy of it

    def state(self) -> dict[str, Any]:
        """All that the room holds but who listens, as JSON has it."""
        with self._lock:
            return {
                "secret": self._secret.hex(),
                "door": self.door,
                "topics": self._topics.state(),
                "parts": self._parts.state(),
                "seats": self._seats.state(),
                **self._sentences.state(),
                "record": self.record.state(),
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
            self._parts.become(state["parts"])
            self._seats.become(state["seats"])
            self._sentences.become(state)
            self.record.become(state.get("record", {}))
            self.question = Question.of(state["question"]) if state["question"] else None
            self.paused, self.ended, self.last = state["paused"], state["ended"], state["last"]
        self._topics.wake()
