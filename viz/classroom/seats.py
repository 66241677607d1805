"""The followers: one seat per browser, a random number and nothing else; and how fast a seat may send."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from core.errors import InputError
from viz.languages import mark

LEAD, SEAT = "atlas_lead", "atlas_seat"
"""Cookies of a browser: that it leads a room (its code and secret), that it follows (its seat)."""
MOST_SEATS, AWAY, NEVER_HERE = 1000, 120.0, 10.0
"""Followers of one room; seconds without a connection after which a seat without an answer may be given to another, one that never had a connection sooner."""
BURST, RATE = 10.0, 4.0
"""Messages that one seat may send at once, and per second after that."""


class Refusal(InputError):
    """A refusal in words; `status` is its HTTP status.

    >>> Refusal(*FAST, rate=RATE).status
    429
    """

    def __init__(self, status: int, wrong: str, rule: str, remedy: str, **values: Any) -> None:
        super().__init__(wrong, rule, remedy, **values)
        self.status = status


FULL = (
    503,
    mark("The room is full."),
    mark("A room has {most} seats."),
    mark("Look at the wall, or ask the lecturer to open a second room."),
)
FAST = (
    429,
    mark("That was too fast."),
    mark("A seat may send {rate:g} messages a second."),
    mark("Wait a moment and send it again."),
)
CLOSED = (
    403,
    mark("You are not in this room."),
    mark("Only those who have joined can see it."),
    mark("Join with the code."),
)


@dataclass
class Seat:
    """One browser that follows: whether it ever connected, through which servers it is connected, when that changed last, and what it may still send."""

    changed: float
    sent: float
    allowance: float = BURST
    connected: bool = False
    connections: dict[str, int] = field(default_factory=dict)


class Seats:
    """The seats of one room; not safe to use from several threads by itself.

    >>> seats = Seats(lambda: 0.0); seat = seats.take_seat("", ())
    >>> seats.take_seat(seat, ()) == seat, seat in seats, "guessed" in seats, seats.joined
    (True, True, False, 0)
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now, self._by_name = now, dict[str, Seat]()
        self._lecturer = Seat(0, 0)

    def __contains__(self, seat: str) -> bool:
        return seat in self._by_name

    @property
    def joined(self) -> int:
        """Return the number of connected browsers."""
        return sum(bool(one.connections) for one in self._by_name.values())

    @property
    def connected(self) -> bool:
        """Return whether any browser is connected, the lecturer's included."""
        return bool(self._lecturer.connections or self.joined)

    def take_seat(self, seat: str, busy: Collection[str], new: str = "") -> str:
        """Return the seat of a browser: its own again, or a `new` one (random if ""); of the old seats those that are `busy` stay.

        Raises:
            Refusal: there is none left.
        """
        if seat not in self._by_name:
            if len(self._by_name) >= MOST_SEATS:
                now = self._now()
                gone = [
                    name
                    for name, one in self._by_name.items()
                    if not one.connections
                    and now - one.changed > (AWAY if one.connected else NEVER_HERE)
                    and name not in busy
                ]
                for name in gone:
                    del self._by_name[name]
            if len(self._by_name) >= MOST_SEATS:
                raise Refusal(*FULL, most=MOST_SEATS)
            self._by_name[seat := new or secrets.token_urlsafe(12)] = Seat(self._now(), self._now())
        return seat

    def connect(self, seat: str, by: int) -> None:
        """Note that a connection begins (1) or ends (-1); the lecturer's has the seat ""."""
        if one := self._by_name.get(seat) if seat else self._lecturer:
            self._set_connections(one, "", one.connections.get("", 0) + by)

    def present(self, server: str, seats: Collection[str]) -> None:
        """Note that exactly these seats are connected through this server."""
        for seat, one in (*self._by_name.items(), ("", self._lecturer)):
            if (seat in seats) != (server in one.connections):
                self._set_connections(one, server, int(seat in seats))

    def _set_connections(self, one: Seat, server: str, connections: int) -> None:
        one.changed, one.connected = self._now(), True
        one.connections[server] = connections
        if connections <= 0:
            del one.connections[server]

    def ready(self, seat: str) -> bool:
        """Return True if a message of this seat would be accepted now, without counting one. Raises Refusal as `may_send` does."""
        one = self._by_name.get(seat)
        if one is None:
            raise Refusal(*CLOSED)
        if one.allowance + RATE * (self._now() - one.sent) < 1:
            raise Refusal(*FAST, rate=RATE)
        return True

    def may_send(self, seat: str) -> None:
        """Count one message of this seat.

        Raises:
            Refusal: it is none, or it sends too fast.
        """
        one, now = self._by_name.get(seat), self._now()
        if one is None:
            raise Refusal(*CLOSED)
        one.allowance = min(BURST, one.allowance + RATE * max(0.0, now - one.sent))
        one.sent = now
        if one.allowance < 1:
            raise Refusal(*FAST, rate=RATE)
        one.allowance -= 1

    def clear(self) -> None:
        """Remove all seats."""
        self._by_name.clear()

    def state(self) -> dict[str, Any]:
        """Return all seats and the lecturer's connections as a dictionary that JSON can write; `restore` reads it."""
        seats = {
            name: [one.changed, one.sent, one.allowance, one.connections, one.connected]
            for name, one in self._by_name.items()
        }
        return {"held": seats, "lecturer": self._lecturer.connections}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Hold what `state()` gave."""
        self._by_name = {
            seat: Seat(changed, sent, allowance, *connected, connections=dict(connections))
            for seat, (changed, sent, allowance, connections, *connected) in state["held"].items()
        }
        self._lecturer.connections = dict(state["lecturer"])


def hashed(secret: str) -> bytes:
    """Return the hash by which a secret is recognised."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()
