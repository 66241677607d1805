"""Who follows: one seat a browser, a random number and nothing else; and how fast a seat may send."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from core.errors import InputError

LEAD, SEAT = "atlas_lead", "atlas_seat"
"""Cookies of a browser: that it leads a room (its code and secret), that it follows (its seat)."""
MOST_SEATS, AWAY = 1000, 120.0
"""Followers of one room; seconds without a connection after which a seat without an answer may be given to another."""
BURST, RATE = 10.0, 4.0
"""What one seat may send at once, and how much a second after that."""


class Refusal(InputError):
    """What is refused, in words; `status` says the same in HTTP.

    >>> Refusal(*FAST).status
    429
    """

    def __init__(self, status: int, wrong: str, rule: str, remedy: str) -> None:
        super().__init__(wrong, rule, remedy)
        self.status = status


FULL = (
    503,
    "The room is full.",
    f"A room has {MOST_SEATS} seats.",
    "Look at the wall, or ask the lecturer to open a second room.",
)
FAST = (
    429,
    "That was too fast.",
    f"A seat may send {RATE:g} messages a second.",
    "Wait a moment and send it again.",
)
CLOSED = (403, "You are not in this room.", "Only those who have joined can see it.", "Join with the code.")


@dataclass
class Seat:
    """One browser that follows: through which servers it is connected, when that changed last, and what it may still send."""

    left: float
    sent: float
    allowance: float = BURST
    through: dict[str, int] = field(default_factory=dict)


class Seats:
    """The seats of one room; not safe to use from several threads by itself.

    >>> seats = Seats(lambda: 0.0); seat = seats.sit("", ())
    >>> seats.sit(seat, ()) == seat, seat in seats, "guessed" in seats, seats.joined
    (True, True, False, 0)
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now, self._held = now, dict[str, Seat]()
        self._lecturer = Seat(0, 0)

    def __contains__(self, seat: str) -> bool:
        return seat in self._held

    @property
    def joined(self) -> int:
        """How many browsers are connected."""
        return sum(bool(held.through) for held in self._held.values())

    @property
    def connected(self) -> bool:
        """Whether anybody is, the lecturer included."""
        return bool(self._lecturer.through or self.joined)

    def sit(self, seat: str, busy: Collection[str], new: str = "") -> str:
        """The seat of who comes: his own again, or a `new` one (drawn if ""); of the old ones those that are `busy` stay.

        Raises:
            Refusal: there is none left.
        """
        if seat not in self._held:
            if len(self._held) >= MOST_SEATS:
                now = self._now()
                gone = [
                    name
                    for name, held in self._held.items()
                    if not held.through and now - held.left > AWAY and name not in busy
                ]
                for name in gone:
                    del self._held[name]
            if len(self._held) >= MOST_SEATS:
                raise Refusal(*FULL)
            self._held[seat := new or secrets.token_urlsafe(12)] = Seat(self._now(), self._now())
        return seat

    def connect(self, seat: str, by: int) -> None:
        """A connection begins (1) or ends (-1); that of the lecturer has the seat ""."""
        if held := self._held.get(seat) if seat else self._lecturer:
            self._through(held, "", held.through.get("", 0) + by)

    def present(self, server: str, seats: Collection[str]) -> None:
        """Those who are connected through this server are these, and no others."""
        for seat, held in (*self._held.items(), ("", self._lecturer)):
            if (seat in seats) != (server in held.through):
                self._through(held, server, int(seat in seats))

    def _through(self, held: Seat, server: str, connections: int) -> None:
        held.left = self._now()
        held.through[server] = connections
        if connections <= 0:
            del held.through[server]

    def ready(self, seat: str) -> bool:
        """Whether a message of this seat would be taken now; none is counted. Raises Refusal as `may_send` does."""
        held = self._held.get(seat)
        if held is None:
            raise Refusal(*CLOSED)
        if held.allowance + RATE * (self._now() - held.sent) < 1:
            raise Refusal(*FAST)
        return True

    def may_send(self, seat: str) -> None:
        """Count one message of this seat.

        Raises:
            Refusal: it is none, or it sends too fast.
        """
        held, now = self._held.get(seat), self._now()
        if held is None:
            raise Refusal(*CLOSED)
        held.allowance = min(BURST, held.allowance + RATE * max(0.0, now - held.sent))
        held.sent = now
        if held.allowance < 1:
            raise Refusal(*FAST)
        held.allowance -= 1

    def clear(self) -> None:
        """Everybody has gone."""
        self._held.clear()

    def state(self) -> dict[str, Any]:
        """All of it as JSON has it."""
        held = {seat: [h.left, h.sent, h.allowance, h.through] for seat, h in self._held.items()}
        return {"held": held, "lecturer": self._lecturer.through}

    def become(self, state: Mapping[str, Any]) -> None:
        """Hold what `state()` gave."""
        self._held = {
            seat: Seat(left, sent, allowance, dict(through))
            for seat, (left, sent, allowance, through) in state["held"].items()
        }
        self._lecturer.through = dict(state["lecturer"])


def hashed(secret: str) -> bytes:
    """What is kept of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()
