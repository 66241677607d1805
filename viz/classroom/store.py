"""The rooms of this server, by their codes, in the memory of one process; `shared.py` shares them among several."""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Protocol

from viz.classroom.room import Room
from viz.classroom.seats import Refusal
from viz.languages import mark

SIGNS, LENGTH = "23456789BCDFGHJKMNPQRSTVWXYZ", 6
"""No character that is mistaken for another (0 O, 1 I L), and no vowel, so that no word comes out."""
MOST_ROOMS, IDLE = 100, 60.0
"""Rooms at a time; seconds after which one without anybody, the lecturer included, gives its place to another where there is none left."""
WINDOW, MOST_WRONG, MOST_WRONG_IN_ALL = 60.0, 20, 300
"""Seconds in which one address may try so many wrong codes, and all addresses together."""
NO_ROOM = (
    404,
    mark("There is no room with this code."),
    mark("A code has {length} characters, letters and digits."),
    mark("Check the code on the wall, and type it again."),
)
BARRED = (
    429,
    mark("Too many wrong codes were tried."),
    mark("An address may try {most} wrong codes per minute."),
    mark("Wait a minute, or scan the QR code on the wall."),
)


class Rooms(Protocol):
    """The store of rooms, as the rest of the atlas uses it."""

    shared: bool
    """Whether several copies of the app have the same rooms."""

    def open(self) -> tuple[Room, str]:
        """Open a room; return it and the secret that controls it."""
        ...

    def find(self, code: str) -> Room | None:
        """Return the open room of this code, however it was typed."""
        ...

    def enter(self, code: str, address: str, door: str = "") -> Room:
        """Return the room of a code that somebody tries. Raises Refusal: there is none, or too many were tried."""
        ...

    def find_ended(self, code: str, address: str | None = None) -> Room | None:
        """Return the room of this code if it ended recently, else None. Raises Refusal where this address tried too many codes."""
        ...

    def sweep(self) -> None:
        """End the rooms that are over, and forget those that ended long ago."""
        ...

    def close(self) -> None:
        """End all rooms."""
        ...


def plain(code: str) -> str:
    """Return a code as it is stored, however it was typed.

    >>> plain(" k7m-3xp ")
    'K7M3XP'
    """
    return "".join(sign for sign in code.upper() if sign.isalnum())


def spoken_code(code: str) -> str:
    """Return a code in two groups of three, as it is read aloud.

    >>> spoken_code("K7M3XP")
    'K7M 3XP'
    """
    return f"{code[: LENGTH // 2]} {code[LENGTH // 2 :]}"


class Guesses:
    """Wrong codes per address: for a minute, by a hash of the address that means nothing outside this process.

    >>> clock = [0.0]; guesses = Guesses(lambda: clock[0])
    >>> for _ in range(MOST_WRONG): guesses.wrong("a")
    >>> guesses.barred("a"), guesses.barred("b"); clock[0] = 61.0; guesses.barred("a")
    (True, False)
    False
    """

    MOST_ADDRESSES = 1024

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now, self.salt = now, secrets.token_bytes(16)
        self._by: OrderedDict[bytes, deque[float]] = OrderedDict()
        self._all: deque[float] = deque(maxlen=MOST_WRONG_IN_ALL)

    def wrong(self, address: str) -> None:
        """Count a wrong code from this address."""
        self.count_wrong_code(self.hashed(address))

    def count_wrong_code(self, address_hash: bytes) -> None:
        """Count a wrong code from the address with this hash (see `hashed`)."""
        tries = self._by.setdefault(address_hash, deque(maxlen=MOST_WRONG))
        self._by.move_to_end(address_hash)
        for one in (tries, self._all):
            one.append(self._now())
        while len(self._by) > self.MOST_ADDRESSES:
            self._by.popitem(last=False)

    def barred(self, address: str) -> bool:
        """Return whether this address has to wait."""
        return any(
            len(tries) == tries.maxlen and self._now() - tries[0] < WINDOW
            for tries in (self._by.get(self.hashed(address), deque(maxlen=1)), self._all)
        )

    def hashed(self, address: str) -> bytes:
        """Return the hash under which an address is counted."""
        return hashlib.blake2b(address.encode(), key=self.salt, digest_size=8).digest()


class InMemory:
    """The rooms of this process.

    >>> rooms = InMemory(); room, secret = rooms.open()
    >>> rooms.find(room.code.lower()) is room, room.accepts_secret(secret), rooms.find("222222")
    (True, True, None)
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.shared = False
        self._now, self._rooms, self._lock = now, dict[str, Room](), threading.Lock()
        self.guesses = Guesses(now)

    def open(self) -> tuple[Room, str]:
        """Open a room; return it and the secret that controls it. Raises Refusal: there are too many."""
        secret = secrets.token_urlsafe(16)
        while True:
            room = self._new("".join(secrets.choice(SIGNS) for _ in range(LENGTH)), secret)
            if room:
                return room, secret

    def _new(self, code: str, secret: str) -> Room | None:
        """Return a room with this random code; None where it is taken."""
        return self._admit(Room(code, secret, now=self._now))

    def _admit(self, room: Room) -> Room | None:
        """Add a room, unless its code is taken. Raises Refusal: there are too many."""
        self.sweep()
        with self._lock:
            if room.code in self._rooms:
                return None
            for code in [code for code, other in self._rooms.items() if other.ended][: -MOST_ROOMS or None]:
                del self._rooms[code]
            open_rooms = {code: other for code, other in self._rooms.items() if not other.ended}
            if len(open_rooms) >= MOST_ROOMS:
                for code, other in list(open_rooms.items()):
                    if other.is_empty() and self._now() - other.last > IDLE:
                        open_rooms.pop(code)
                        self._rooms.pop(code).end()
            if len(open_rooms) >= MOST_ROOMS:
                raise Refusal(
                    503,
                    "No more rooms can be opened.",
                    "This server holds {most} at a time.",
                    "Try again when a lecture has ended.",
                    most=MOST_ROOMS,
                )
            self._rooms[room.code] = room
        return room

    def find(self, code: str) -> Room | None:
        """Return the open room of this code, however it was typed."""
        room = self._rooms.get(plain(code[:40]))
        return None if room is None or room.is_over() else room

    def enter(self, code: str, address: str, door: str = "") -> Room:
        """Return the room of a code that somebody tries; `door`, which only the QR code has, opens even to a barred address."""
        room = self.find(code)
        if room is not None and door and secrets.compare_digest(door.encode(), room.door.encode()):
            return room
        if self.guesses.barred(address):
            raise Refusal(*BARRED, most=MOST_WRONG)
        if room is None:
            self._wrong(address)
            raise Refusal(*NO_ROOM, length=LENGTH)
        return room

    def find_ended(self, code: str, address: str | None = None) -> Room | None:
        """Return the room of this code if it ended recently, else None. Raises Refusal where this address tried too many codes."""
        if address is not None and self.guesses.barred(address):
            raise Refusal(*BARRED, most=MOST_WRONG)
        room = self._rooms.get(plain(code[:40]))
        return room if room and room.ended and not room.is_forgotten() else None

    def _wrong(self, address: str) -> None:
        """Count a wrong code of this address."""
        self.guesses.wrong(address)

    def sweep(self) -> None:
        """End the rooms that are over, and forget those that ended long ago."""
        with self._lock:
            for code, room in list(self._rooms.items()):
                if room.is_forgotten():
                    del self._rooms[code]
                elif room.is_over() and not room.ended:
                    Room.end(room)  # by itself, wherever the room is kept

    def close(self) -> None:
        """End all rooms."""
        with self._lock:
            for room in self._rooms.values():
                room.end()
            self._rooms.clear()


ROOMS: Rooms = InMemory()
"""The rooms of this server."""
