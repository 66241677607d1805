"""One order for what several copies of the app do: a stream of Redis that each of them reads from its beginning.

Redis keeps three keys, all of which expire. The log: what was done, one entry each. The state: what all of it up to an entry came
to, so that the log can be cut there. The life: a random word that is another one after Redis has lost its memory.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

Entry = tuple[bytes, dict[bytes, bytes]]
"""One act in the log: its position in the order, "milliseconds-number", and its fields."""
PATIENCE, AGAIN = 2.0, 0.5
"""Seconds that Redis may take for an answer, and from one try to reach it to the next."""
RETENTION = 60.0
"""Seconds that an entry stays in the log at least; a copy that was away for half of them reads the whole state again."""
LOOK = 250
"""Milliseconds that Redis waits for the next entry before the reader looks whether it shall end."""
BASE = b"base"
"""Under this name the state says up to which entry it goes."""


class Log:
    """The log at `url`. After `start()` a thread calls

    begin(state, entries, memory_lost): all that Redis has, at first and after each absence; `memory_lost`: it has nothing from before.
    hear(entry): one act of any copy, in the order that is the same for all.
    set_away(yes): Redis stopped to answer, or answers again.

    `add` may be called from every other thread.
    """

    def __init__(
        self,
        url: str,
        begin: Callable[[Mapping[bytes, bytes], Sequence[Entry], bool], None],
        hear: Callable[[Entry], None],
        set_away: Callable[[bool], None],
        *,
        prefix: str = "atlas",
        lasts: float = 4 * 3600.0,
    ) -> None:
        self._begin, self._hear, self._tell_gone, self._lasts = begin, hear, set_away, int(lasts)
        self._log, self._state, self._life = (f"{prefix}:rooms:{name}" for name in ("log", "state", "life"))
        self._redis, self._reader = _client(url), _client(url)
        self._reads = 0  # how Redis calls the connection that waits for entries
        self._stopped, self._memory_lost = threading.Event(), False
        self.tried, self.life = threading.Event(), ""
        """Set when Redis has answered, or not, for the first time; a word that is another one when it has lost its memory."""
        self.thread = threading.Thread(target=self._read, name="rooms", daemon=True)
        self.is_gone, self.read = True, 0
        """Whether Redis does not answer; bytes that were read since the log was cut."""

    def start(self) -> None:
        """Start the thread that reads the log."""
        self.thread.start()

    def stop(self) -> None:
        """Read no more."""
        self._stopped.set()
        with suppress(redis.RedisError):
            self._redis.client_unblock(self._reads)
        self.thread.join(2 * PATIENCE)
        for client in (self._redis, self._reader):
            client.close()

    def add(self, fields: Mapping[str, str | bytes]) -> None:
        """Append an act, with its fields, to the log that all copies read. Raises ConnectionError: Redis does not answer."""
        if self.is_gone:
            raise ConnectionError
        try:
            with self._redis.pipeline(transaction=False) as all_of_it:
                all_of_it.xadd(self._log, fields)
                for name in (self._log, self._state, self._life):
                    all_of_it.expire(name, self._lasts)
                all_of_it.execute()
        except redis.RedisError as error:
            raise ConnectionError from error

    def check(self) -> None:
        """Note whether Redis has lost its data without losing its connections; the reader then starts again."""
        with suppress(redis.RedisError):
            self._memory_lost = self._memory_lost or self._life_now() != self.life

    def cut(self, state: Mapping[str, bytes], removed: Sequence[str], base: bytes) -> None:
        """Replace the log up to the entry `base` by its outcome `state`, without the names in `removed`. One copy at a time does so."""
        with suppress(redis.RedisError):
            if not self._redis.set(f"{self._state}:cut", b"", nx=True, ex=10):
                return
            oldest = f"{int((time.time() - RETENTION) * 1000)}-0".encode()
            with self._redis.pipeline() as all_of_it:
                all_of_it.hset(self._state, mapping={**state, BASE.decode(): base})
                if removed:
                    all_of_it.hdel(self._state, *removed)
                all_of_it.xtrim(self._log, minid=min(base, oldest, key=entry_position), approximate=False)
                all_of_it.expire(self._state, self._lasts)
                all_of_it.execute()
            self.read = 0

    def forget(self, name: str, belongs: Callable[[Mapping[bytes, bytes]], bool]) -> None:
        """Take a name out of the state, and what belongs to it out of the log."""
        with suppress(redis.RedisError):
            found = [entry for entry, fields in self._redis.xrange(self._log) if belongs(fields)]
            self._redis.hdel(self._state, name)
            if found:
                self._redis.xdel(self._log, *found)

    def _read(self) -> None:
        while not self._stopped.is_set():
            try:
                self._follow(self._catch_up())
            except (redis.RedisError, OSError):
                self._set_gone(True)
                self.tried.set()
                self._stopped.wait(AGAIN)

    def _catch_up(self) -> bytes:
        life = self._life_now()
        with self._redis.pipeline() as both:  # of one moment
            both.hgetall(self._state)
            both.xrange(self._log)
            state, entries = both.execute()
        memory_lost, self.life, self._memory_lost = life != self.life, life, False
        self.read = sum(len(text) for _, fields in entries for text in fields.values())
        self._set_gone(False)
        self._begin(state, entries, memory_lost)
        self.tried.set()
        return max([state.get(BASE, b"0-0"), *(entry for entry, _ in entries)], key=entry_position)

    def _follow(self, entry_id: bytes) -> None:
        heard = time.monotonic()
        with self._reader.client() as reader:  # one connection
            self._reads = reader.client_id()
            while not self._stopped.is_set() and not self._memory_lost:
                found = reader.xread({self._log: entry_id}, count=100, block=LOOK)
                if time.monotonic() - heard > RETENTION / 2:  # the log may have been cut meanwhile
                    return
                heard = time.monotonic()
                for _, entries in found or ():
                    for entry_id, fields in entries:
                        self.read += sum(map(len, fields.values()))
                        self._hear((entry_id, fields))

    def _life_now(self) -> str:
        with self._redis.pipeline() as both:  # of one moment: Redis may lose its memory between two
            both.set(self._life, secrets.token_hex(8), nx=True, ex=self._lasts)
            both.get(self._life)
            return both.execute()[1].decode()

    def _set_gone(self, yes: bool) -> None:
        if yes != self.is_gone:
            self.is_gone = yes
            self._tell_gone(yes)


def _client(url: str) -> Any:
    return redis.Redis.from_url(
        url,
        socket_timeout=PATIENCE,
        socket_connect_timeout=PATIENCE,
        retry=Retry(NoBackoff(), 0),
        protocol=2,
        decode_responses=False,
    )


def entry_position(entry: bytes) -> tuple[int, int]:
    """Return the position of an entry in the order, as a pair that compares.

    >>> entry_position(b"1700000000000-2") < entry_position(b"1700000000000-10")
    True
    """
    first, _, second = entry.partition(b"-")
    return int(first), int(second or 0)
