"""One lecture room: what the lecturer shows, what is asked, who is there. Safe to use from any thread.

Followers see a handful of topics ("view", "ask", "touch" ...), each with the number of its last change. A follower who was at
number n gets the topics that changed since, each as it is now: latecomers, slow followers and those who lost the connection
get the newest state and never a queue of old ones.
"""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from core.errors import InputError
from viz.classroom.ask import Question, is_new_question
from viz.classroom.pictures import Parts, RoomPicture
from viz.classroom.record import Record
from viz.classroom.seats import Seats, hashed
from viz.classroom.sentences import Sentences
from viz.classroom.topics import LEADING, Topics

LASTS = 4 * 3600.0
"""Seconds from the last event to the end, and from the end until what was shown is forgotten."""


class Room:
    """An open room; `secret`, of which only a hash is stored, gives control of it and is known to the lecturer alone.

    >>> from viz.classroom.ask import AnswerFormat
    >>> room = Room("BCDFGH", "secret")
    >>> room.show({"title": "Look"}, {}); seat = room.take_seat("")
    >>> room.set_question(Question("own", "Which?", AnswerFormat("choice", ("a", "b"))))
    >>> room.answer(seat, room.question.id, 0); room.reveal(truth=[0]); room.question.public_state()["counts"]
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

    def accepts_secret(self, secret: str) -> bool:
        """Return whether this is the lecturer's secret."""
        return hmac.compare_digest(hashed(secret), self._secret)

    def is_over(self) -> bool:
        """Return whether the room has ended, by the lecturer or after its time."""
        return self.ended or self._now() - self.last > LASTS

    def is_forgotten(self) -> bool:
        """Return whether it ended so long ago that nothing of it remains."""
        return self.ended and self._now() - self.last > LASTS

    @property
    def is_stale(self) -> bool:
        """Return whether the store does not answer, so that the room may be out of date."""
        return False

    @property
    def is_draining(self) -> bool:
        """Return whether this server ends while the room goes on at another one."""
        return False

    def is_empty(self) -> bool:
        """Return whether nobody is connected."""
        return not self._seats.connected

    # ------------------------------------------------------------- what is shown

    def show(self, view: Mapping[str, Any], pictures: Mapping[str, RoomPicture]) -> None:
        """Show the lecturer's page and its pictures, in their order; only changes are sent."""
        with self._lock:
            before = set(self._parts)
            kept = self._parts.keep(pictures)
            for key in before - kept.keys():
                self._topics.drop(f"picture.{key}")
            self._set("view", {**view, "pictures": list(kept)})
            self.record.note_page({**view, "pictures": list(kept)})
            for key, shown in kept.items():
                self._set(f"picture.{key}", {"key": key, **shown.message})
        self._topics.notify()

    def part(self, identity: str) -> bytes | None:
        """Return a part of a picture in view."""
        with self._lock:
            return self._parts.part(identity)

    def touch(self, kind: str, group: str, target: Any) -> None:
        """Show where the lecturer points in the pictures of a group ("hover"), or the word that was touched ("word"); None for nowhere."""
        self._tell("touch", {"what": kind, "group": group, "at": target})

    def pause(self, paused: bool) -> None:
        """Dim the followers' screens, or brighten them again."""
        self.paused = paused
        self._tell("pause", {"paused": paused})

    def command(self, act: str, **more: Any) -> None:
        """Send the lecturer's page a command of a second device."""
        self._tell("command", {"act": act, **more})

    def set_address(self, address: str, qr: str) -> None:
        """Set the address at which others join the room, and its QR code."""
        self._tell("place", {"address": address, "qr": qr, "code": self.code})

    def show_plan(self, message: Mapping[str, Any]) -> None:
        """Show the lecturer's devices the stop of the lesson with its note; nothing without a lesson."""
        if message != self.plan:
            self.plan = dict(message)
            self._tell("plan", message)

    def end(self) -> None:
        """End the room: everything is deleted except the record, which can be read with the code for a while."""
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

    def has_seat(self, seat: str) -> bool:
        """Return whether this is a seat of the room."""
        return seat in self._seats

    def take_seat(self, seat: str, new: str = "") -> str:
        """Return the seat of a browser: its own again, or a `new` one (random if ""). Raises Refusal: the room is full."""
        with self._lock:
            asked = self.question
            busy = {*self._sentences, *(asked.answers if asked else ()), *(asked.first if asked else ())}
            seat = self._seats.take_seat(seat, busy, new)
            self._people()
        self._topics.notify(leading=True)
        return seat

    def connect(self, seat: str, by: int) -> None:
        """Note that a connection of a seat begins (1) or ends (-1)."""
        with self._lock:
            self._seats.connect(seat, by)
            self._people()
        self._topics.notify(leading=True)

    def answer(self, seat: str, question: str, answer: Any) -> None:
        """Count the answer of a seat once; until the reveal it may be changed.

        Raises:
            InputError: there is no such seat, it sends too fast, or the answer does not fit the open question.
        """
        with self._lock:
            self._seats.may_send(seat)
            asked = self.question
            if asked is None or asked.id != question or asked.revealed:
                raise InputError(
                    "This question is closed.",
                    "Answers count until the lecturer reveals them.",
                    "Wait for the next question.",
                )
            asked.answers[seat] = asked.form.read(answer)
            self._people()
        self._topics.notify(leading=True)

    def say(self, seat: str, sentence: str) -> None:
        """Send a sentence of this seat to the lecturer alone; a second one replaces the first.

        Raises:
            InputError: there is no such seat, it sends too fast, or the sentence is empty, too long or one too many.
        """
        with self._lock:
            self._seats.may_send(seat)
            self._sentences.say(seat, sentence)
            self._sent()
        self._topics.notify(leading=True)

    def sentences(self) -> list[str]:
        """Return the sentences that wait for the lecturer, oldest first."""
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
        self._topics.notify()

    def drop(self, identity: str) -> None:
        """Delete one sentence, on the wall too."""
        with self._lock:
            self._sentences.drop(identity)
            self._sent()
        self._topics.notify()

    def clear_sentences(self) -> None:
        """Delete all sentences, on the wall too."""
        with self._lock:
            self._sentences.clear()
            self._sent()
        self._topics.notify()

    def _sent(self) -> None:
        self._set("said", {"sentences": self._sentences.waiting()})
        if self._sentences.accepted() or self._topics.has("accepted"):
            self._set("accepted", {"sentences": self._sentences.accepted()})
        self._people()

    # ------------------------------------------------------------- what is asked

    def set_question(self, question: Question | None) -> None:
        """Open a question, or close the open one with None. If the same question is open, keep its answers and take over its right answer."""
        with self._lock:
            if not is_new_question(question, self.question):
                return
            if question and self.question and question.identity == self.question.identity:
                self.question.truth = question.truth  # of another run of the same page
                self._votes()
            else:
                if question:
                    question.id = question.id or secrets.token_hex(4)
                self.question = question
                self._publish_question()
        self._topics.notify()

    def vote_again(self) -> None:
        """Begin the second vote of peer instruction, after a discussion; the first one is not shown in between."""
        with self._lock:
            asked = self.question
            if asked and asked.answers and not asked.first and not asked.revealed:
                asked.start_second_vote()
                self._publish_question()
        self._topics.notify()

    def reveal(self, truth: Sequence[int] | float | None = None, explanation: str = "") -> None:
        """Close the question and show the answers, with the right one if there is one."""
        with self._lock:
            if asked := self.question:
                asked.revealed, asked.truth, asked.explanation = True, truth, explanation
                self.record.note_votes(asked)
                self._publish_question()
        self._topics.notify()

    def _publish_question(self) -> None:
        self._set("ask", self.question.public_state() if self.question else {})
        self._people()

    # ------------------------------------------------------------- who hears

    def listen(self, wake: Callable[[], None], *, leads: bool = False) -> Callable[[], None]:
        """Call `wake()`, from any thread, after each change of a topic that this listener may see; return a function that stops it."""
        return self._topics.listen(wake, leads=leads)

    def since(self, number: int, *, leads: bool = False) -> list[tuple[str, int, str]]:
        """Return the topics that changed after `number`, each (topic, its number, JSON), oldest change first."""
        return self._topics.since(number, leads=leads)

    joined = property(lambda self: self._seats.joined, doc="How many browsers follow now.")
    number = property(lambda self: self._topics.number, doc="The number of the last change.")

    def own_answer(self, seat: str) -> dict[str, Any] | None:
        """Return the answer of a seat to the open question, for this seat alone."""
        with self._lock:
            return self.question.votes_of(seat) if self.question else None

    def _votes(self) -> None:
        if self.question or self._topics.has("votes"):
            self._set("votes", self.question.lecturer_state() if self.question else {})

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

    def _tell(self, topic: str, message: Mapping[str, Any]) -> None:
        with self._lock:
            self._set(topic, message, resend=topic == "command")
        self._topics.notify(leading=topic in LEADING)

    def _set(self, topic: str, message: Mapping[str, Any], *, resend: bool = False) -> None:
        if topic not in ("people", "votes"):
            self.last = self._now()
        self._topics.set(topic, message, resend=resend)

    def _least(self) -> int:
        return 0

    # ------------------------------------------------------------- a copy of it

    def state(self) -> dict[str, Any]:
        """Return all of the room except its listeners, as JSON has it."""
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

    def restore(self, state: Mapping[str, Any], *, now: bool = False) -> None:
        """Take over the `state()` of another copy. Listeners stay; `now`: all of it counts as changed now, so that they get it once more."""
        with self._lock:
            self._secret, self.door = bytes.fromhex(state["secret"]), state["door"]
            self._topics.restore(state["topics"], now=now)
            self._parts.restore(state["parts"])
            self._seats.restore(state["seats"])
            self._sentences.restore(state)
            self.record.restore(state.get("record", {}))
            self.question = Question.from_state(state["question"]) if state["question"] else None
            self.paused, self.ended, self.last = state["paused"], state["ended"], state["last"]
        self._topics.notify()
