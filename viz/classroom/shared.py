"""The rooms of several copies of the app, through Redis: `ATLAS_ROOMS=redis://host:6379/0`.

Each copy holds every room, as if it were the only one. What changes a room is not done at once: it goes into a log, which has one
order for all (`log.py`), and every copy does it when it reads it there, so that all come to the same room: an answer counts once,
whichever copies a seat has sent it to, and a follower who comes back at another copy goes on at the same `Last-Event-ID`. The
limits hold for all copies together. The lecturer's secret stays in its copy: its hash goes into the log.

Where Redis does not answer each copy shows what it last knew, takes nothing new, and says so; what the lecturer
did meanwhile is done when it answers again. One that has lost its memory gets the rooms from the copies.
"""

from __future__ import annotations

import itertools
import json
import logging
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from core.errors import InputError
from viz.classroom.ask import Question
from viz.classroom.log import PATIENCE, Entry, Log, entry_position
from viz.classroom.pictures import RoomPicture
from viz.classroom.room import LASTS, Room
from viz.classroom.shared_room import ACTS, SharedRoom, Unreachable
from viz.classroom.store import InMemory

LOGGER = logging.getLogger(__name__)
BEAT, SOON, LOST = 5.0, 0.15, 15.0
"""Seconds from one "these are connected here" to the next, after a change, and until a copy that says nothing has gone."""
MOST_READ = 8_000_000
"""Bytes of the log after which it is cut."""


class RedisRooms(InMemory):
    """The rooms of all copies that share this Redis.

    now: the clock; None for that of Redis, by the entries of the log.

    Raises:
        ValueError: this is not the address of a Redis.
    """

    def __init__(self, url: str, *, now: Callable[[], float] | None = None) -> None:
        self._clock, self._entry, self.is_draining, self.position = now, 0.0, False, b"0-0"
        super().__init__(self._time)
        self.shared = True
        self._rooms: dict[str, SharedRoom] = {}
        self.me, self._tickets = secrets.token_hex(4), itertools.count()
        self._waiting: dict[str, Future[Any]] = {}
        self._turn, self._soon, self._stopped = threading.RLock(), threading.Event(), threading.Event()
        self._known_codes: set[str] = set()
        self._changed: set[str] = set()
        self._alive: dict[str, float] = {}
        self._log = Log(url, self._begin, self._hear, self._set_gone, lasts=LASTS)
        self._heart = threading.Thread(target=self._beats, name="rooms here", daemon=True)
        self._log.start()
        self._log.tried.wait(PATIENCE)
        self._heart.start()

    # ------------------------------------------------------------- as every store

    @property
    def is_stale(self) -> bool:
        """Return whether Redis does not answer."""
        return self._log.is_gone

    def sweep(self) -> None:
        """Forget the rooms that are over, here and in Redis."""
        over = [code for code, room in list(self._rooms.items()) if room.is_over()]
        super().sweep()
        if not self.applies:
            for code in over:
                if code not in self._rooms:
                    self.forget(code)

    def close(self) -> None:
        """End this copy: followers go on at another one, and the rooms last."""
        self.is_draining = True
        self._stopped.set()
        self._soon.set()
        for room in list(self._rooms.values()):
            room.connected_here.clear()
            room.wake()
        self.say_here()
        self._heart.join(2 * PATIENCE)
        self._log.stop()

    def _new(self, code: str, secret: str) -> Room | None:
        room = SharedRoom(self, code, secret, now=self._time)
        return self._rooms.get(code) if self.do("open", code, (room.state(),)) else None

    def _wrong(self, address: str) -> None:
        try:
            self.do("wrong", "", (self.guesses.hashed(address).hex(),))
        except Unreachable:
            super()._wrong(address)

    # ------------------------------------------------------------- what is done

    @property
    def applies(self) -> bool:
        """Return whether this thread applies the log."""
        return threading.current_thread() is self._log.thread

    def do(self, act: str, code: str, args: Sequence[Any] = (), more: Mapping[str, Any] | None = None) -> Any:
        """Apply an act to all copies, and return its result at this one. Raises Refusal: Redis does not answer, or the act itself refuses."""
        ticket, done = f"{self.me}.{next(self._tickets)}", Future[Any]()
        self._waiting[ticket] = done
        try:
            self._log.add({"ticket": ticket, "act": act, "code": code, **_fields(act, args, more or {})})
            return done.result(PATIENCE)
        except (ConnectionError, TimeoutError):
            raise Unreachable from None
        finally:
            del self._waiting[ticket]

    def forget(self, code: str) -> None:
        """Remove all of a room from Redis except its end."""
        name = code.encode()
        self._log.forget(code, lambda fields: fields.get(b"code") == name and fields.get(b"act") != b"end")

    def remember(self, code: str) -> None:
        """Write the state of a room of this process into the log in Redis, as its first entry about the room."""
        with suppress(ConnectionError):
            state = self._rooms[code].state()
            self._log.add({"act": "known", "code": code, **_fields("known", (state,), {})})

    def publish_counts_soon(self) -> None:
        """Ask the background thread to publish soon, and not at its next regular time, which seats are connected to this process."""
        self._soon.set()

    def _time(self) -> float:
        if self._clock:
            return self._clock()
        return self._entry if self._entry and self.applies else time.time()

    def _hear(self, entry: Entry) -> None:
        at, fields = entry
        ticket = self._waiting.get(fields.get(b"ticket", b"").decode())
        with self._turn:
            self.position, self._entry = at, entry_position(at)[0] / 1000
            try:
                result, wrong = self._apply(fields), None
            except InputError as error:
                result, wrong = None, error
            except (LookupError, TypeError, ValueError):
                LOGGER.exception("A room could not do what a copy, of another version perhaps, has written.")
                result, wrong = None, Unreachable()
            finally:
                self._entry = 0.0
        if ticket is None:
            return
        if wrong:
            ticket.set_exception(wrong)
        else:
            ticket.set_result(result)

    def _apply(self, fields: Mapping[bytes, bytes]) -> Any:
        act, code = fields[b"act"].decode(), fields[b"code"].decode()
        args, more = _read(act, fields)
        if act == "here":
            return self._note_connected(code, *args)
        if act == "wrong":
            return self.guesses.count_wrong_code(bytes.fromhex(args[0]))
        self._changed.add(code)
        if act in ("open", "known"):
            return self._opens(code, args[0], reopened=act == "known")
        room = self._rooms.get(code)
        if room is None or entry_position(room.position) >= entry_position(self.position):
            return None
        room.position = self.position
        return ACTS[act](room, *args, **more)

    def _opens(self, code: str, state: Mapping[str, Any], *, reopened: bool) -> bool:
        """Open a room; `reopened`: one that Redis has lost and a copy still has."""
        if reopened and code in self._known_codes:
            return False
        room = self._rooms.get(code) if reopened else None
        if room is None:
            room = SharedRoom(self, code, "", now=self._time)
            if self._admit(room) is None:
                return False
        room.restore(state, now=reopened)
        room.position = self.position
        self._known_codes.add(code)
        return True

    def _note_connected(self, server: str, seats: Mapping[str, Sequence[str]]) -> None:
        now = self._alive[server] = entry_position(self.position)[0] / 1000
        lost = [other for other, heard in self._alive.items() if now - heard > LOST]
        for other in lost:
            del self._alive[other]
        for code, room in self._rooms.items():
            for one, there in ((server, seats.get(code, ())), *((other, ()) for other in lost)):
                room.present(one, there)

    # ------------------------------------------------------------- Redis comes and goes

    def _begin(self, state: Mapping[bytes, bytes], entries: Sequence[Entry], memory_lost: bool) -> None:
        with self._turn:
            self.guesses.salt = self._log.life.encode()
            if memory_lost:
                self._known_codes.clear()
            for name, text in state.items():
                if name != b"base":
                    self._knows(name.decode(), json.loads(text))
        for entry in entries:
            self._hear(entry)
        for code, room in list(self._rooms.items()):
            if code not in self._known_codes and not room.is_forgotten():
                self._log.add({"act": "known", "code": code, **_fields("known", (room.state(),), {})})
        self._soon.set()

    def _knows(self, code: str, copy: Mapping[str, Any]) -> None:
        at, first = copy["at"].encode(), code not in self._known_codes
        room = self._rooms.get(code)
        if room is None:
            room = self._rooms[code] = SharedRoom(self, code, "", now=self._time)
        if first or entry_position(at) > entry_position(room.position):
            room.restore(copy["state"])
            room.position = at
        self._known_codes.add(code)
        for server in {server for seat in copy["state"]["seats"]["held"].values() for server in seat[3]}:
            self._alive.setdefault(server, time.time())

    def _set_gone(self, yes: bool) -> None:
        for room in list(self._rooms.values()):
            room.wake()
        self._soon.set()

    def _beats(self) -> None:
        while not self._stopped.is_set():
            self._soon.wait(BEAT)
            self._soon.clear()
            if self._log.is_gone or self._stopped.is_set():
                self._stopped.wait(SOON)
                continue
            self._catch_up_late()
            self.say_here()
            self._log.check()
            if self._log.read > MOST_READ:
                self._cut()
            self._stopped.wait(SOON)

    def _catch_up_late(self) -> None:
        for room in list(self._rooms.values()):
            for name in list(room.late):
                args, more = room.late.pop(name)
                getattr(room, name)(*args, **more)

    def say_here(self) -> None:
        """Tell the other copies who is connected at this one."""
        here = {code: list(room.connected_here) for code, room in list(self._rooms.items())}
        if here:
            try:
                self._log.add({"act": "here", "code": self.me, **_fields("here", (here,), {})})
            except ConnectionError:
                self._soon.set()

    def _cut(self) -> None:
        with self._turn:
            base, changed, self._changed = self.position, self._changed, set()
            kept = {
                code: room for code in changed if (room := self._rooms.get(code)) and not room.is_forgotten()
            }
            state = {
                code: json.dumps({"at": room.position.decode(), "state": room.state()}).encode()
                for code, room in kept.items()
            }
        self._log.cut(state, sorted(changed - kept.keys()), base)


def _fields(act: str, args: Sequence[Any], more: Mapping[str, Any]) -> dict[str, str | bytes]:
    """Return the fields of an act: JSON, and the parts of pictures as they are."""
    fields: dict[str, str | bytes] = {}
    if act == "show":
        view, pictures = args
        fields = {f"part {name}": data for shown in pictures.values() for name, data in shown.parts.items()}
        args = (view, {key: [shown.message, list(shown.parts)] for key, shown in pictures.items()})
    elif act == "set_question":
        args = (args[0].state() if args[0] else None,)
    return fields | {"args": json.dumps([args, more])}


def _read(act: str, fields: Mapping[bytes, bytes]) -> tuple[list[Any], dict[str, Any]]:
    args, more = json.loads(fields[b"args"])
    if act == "show":
        args[1] = {
            key: RoomPicture(message, {name: fields[f"part {name}".encode()] for name in names})
            for key, (message, names) in args[1].items()
        }
    elif act == "set_question" and args[0]:
        args[0] = Question.from_state(args[0])
    return args, more
