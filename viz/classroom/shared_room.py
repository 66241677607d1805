"""A room as one copy of the app has it: all copies apply its changes in the order of their log."""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from viz.classroom.ask import Question, is_new_question
from viz.classroom.log import entry_position
from viz.classroom.pictures import RoomPicture
from viz.classroom.room import Room
from viz.classroom.seats import Refusal
from viz.languages import mark

FIRST = 1_767_225_600_000
"""The beginning of 2026 in milliseconds: numbers of changes count from it."""
UNREACHABLE = (
    503,
    mark("The room cannot be reached now."),
    mark("The copies of this server share it through Redis, which does not answer."),
    mark("Wait a little: it goes on by itself."),
)


class Unreachable(Refusal):
    """The refusal of a change while Redis does not answer.

    >>> Unreachable().status
    503
    """

    def __init__(self) -> None:
        super().__init__(*UNREACHABLE)


class Keeper(Protocol):
    """The part of the shared store that a room needs."""

    position: bytes
    """The entry of the log that is done now, or was last."""
    is_draining: bool
    """Whether this copy ends."""

    @property
    def is_stale(self) -> bool:
        """Return whether Redis does not answer."""
        ...

    @property
    def applies(self) -> bool:
        """Return whether this thread applies the log."""
        ...

    def do(self, act: str, code: str, args: Sequence[Any] = (), more: Mapping[str, Any] | None = None) -> Any:
        """Call the method `act` of the room `code` in every server process, and return the result of this one."""
        ...

    def forget(self, code: str) -> None:
        """Remove all of a room from Redis."""
        ...

    def remember(self, code: str) -> None:
        """Write the state of a room of this process into the log in Redis, as its first entry about the room."""
        ...

    def publish_counts_soon(self) -> None:
        """Ask the background thread to publish soon, and not at its next regular time, which seats are connected to this process."""
        ...


def _by_all_copies(act: Callable[..., Any], *, keeps: bool = False) -> Callable[..., Any]:
    """Return the act as done by all copies; `keeps`: while Redis does not answer, the last call waits for it."""
    name = act.__name__

    def done(self: SharedRoom, *args: Any, **more: Any) -> Any:
        if self.rooms.applies:
            return act(self, *args, **more)
        self.late.pop(name, None)
        try:
            return self.rooms.do(name, self.code, args, more)
        except Unreachable:
            if not keeps:
                raise
            self.late[name] = (args, more)
        return None

    return done


ACTS: dict[str, Callable[..., Any]] = {
    act.__name__: act
    for act in (
        Room.show,
        Room.touch,
        Room.pause,
        Room.command,
        Room.set_address,
        Room.show_plan,
        Room.end,
        Room.take_seat,
        Room.answer,
        Room.say,
        Room.clear_sentences,
        Room.accept,
        Room.drop,
        Room.set_question,
        Room.vote_again,
        Room.reveal,
    )
}
"""The changes of a room, by their names in the log."""


class SharedRoom(Room):
    """A room as one copy has it."""

    def __init__(
        self, rooms: Keeper, code: str, secret: str, *, now: Callable[[], float] = time.time
    ) -> None:
        super().__init__(code, secret, now=now)
        self.rooms, self.position = rooms, b"0-0"
        self.late: dict[str, tuple[Any, Any]] = {}
        self.connected_here: Counter[str] = Counter()

    reveal = _by_all_copies(Room.reveal, keeps=True)
    pause = _by_all_copies(Room.pause, keeps=True)
    vote_again = _by_all_copies(Room.vote_again, keeps=True)
    set_address = _by_all_copies(Room.set_address, keeps=True)
    clear_sentences = _by_all_copies(Room.clear_sentences, keeps=True)
    accept = _by_all_copies(Room.accept, keeps=True)
    drop = _by_all_copies(Room.drop, keeps=True)
    touch = _by_all_copies(Room.touch)
    command = _by_all_copies(Room.command)
    _show, _set_question, _end = (
        _by_all_copies(act, keeps=True) for act in (Room.show, Room.set_question, Room.end)
    )
    _show_plan = _by_all_copies(Room.show_plan, keeps=True)
    _take_seat, _answer, _say = (_by_all_copies(act) for act in (Room.take_seat, Room.answer, Room.say))

    @property
    def is_stale(self) -> bool:
        return self.rooms.is_stale

    @property
    def is_draining(self) -> bool:
        return self.rooms.is_draining

    def show(self, view: Mapping[str, Any], pictures: Mapping[str, RoomPicture]) -> None:
        self._show(view, pictures)

    def set_question(self, question: Question | None) -> None:
        if self.rooms.applies or is_new_question(question, self.question):
            if question:
                question.id = question.id or secrets.token_hex(4)
            self._set_question(question)

    def show_plan(self, message: Mapping[str, Any]) -> None:
        if self.rooms.applies or message != self.plan:
            self._show_plan(message)

    def end(self) -> None:
        self._end()
        if not self.rooms.applies:
            self.rooms.forget(self.code)
            self.rooms.remember(self.code)

    def take_seat(self, seat: str, new: str = "") -> str:
        return seat if self.has_seat(seat) else self._take_seat(seat, new or secrets.token_urlsafe(12))

    def answer(self, seat: str, question: str, answer: Any) -> None:
        if self.rooms.applies or self._seats.ready(seat):
            self._answer(seat, question, answer)

    def say(self, seat: str, sentence: str) -> None:
        if self.rooms.applies or self._seats.ready(seat):
            self._say(seat, sentence)

    def connect(self, seat: str, by: int) -> None:
        """Count a connection at this copy; the copies exchange their counts, and those of a lost copy are removed."""
        self.connected_here[seat] += by
        if not self.connected_here[seat]:
            del self.connected_here[seat]
        self.rooms.publish_counts_soon()

    def present(self, server: str, seats: Sequence[str]) -> None:
        """Note the seats that are connected at a copy."""
        with self._lock:
            self._seats.present(server, set(seats))
            self._people()
        self._topics.notify(leading=True)

    def wake(self) -> None:
        """Wake all listeners."""
        self._topics.notify()

    def _least(self) -> int:
        first, second = entry_position(self.rooms.position)  # the same number at all copies
        return (first - FIRST) * 1000 + min(second, 99) * 10
