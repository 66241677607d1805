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
"""What was done: its place in the order, "milliseconds-number", and its fields."""
PATIENCE, AGAIN = 2.0, 0.5
"""Seconds that Redis may take for an answer, and from one try to reach it to the next."""
KEPT = 60.0
"""Seconds that an entry stays in the log at least; whoever was away for half of them begins anew."""
LOOK = 250
"""Milliseconds that Redis waits for the next entry before the reader looks whether it shall end."""
BASE = b"base"
"""Under this name the state says up to which entry it goes."""


class Log:
    """The log at `url`. From `start()` on a thread calls

    begin(state, entries, anew): what there is, at first and after each time away; `anew`: Redis knows nothing of what was before.
    hear(entry): one thing that was done, by any copy, in the order that is the same for all.
    gone(yes): Redis stopped to answer, or answers again.

    `add` may be called from every other thread.
    """

    def __init__(
        self,
        url: str,
        begin: Callable[[Mapping[bytes, bytes], Sequence[Entry], bool], None],
        hear: Callable[[Entry], None],
        gone: Callable[[bool], None],
        *,
        prefix: str = "atlas",
        lasts: float = 4 * 3600.0,
    ) -> None:
        self._begin, self._hear, self._tell_gone, self._lasts = begin, hear, gone, int(lasts)
        self._log, self._state, self._life = (f"{prefix}:rooms:{name}" for name in ("log", "state", "life"))
        self._redis, self._reader = _client(url), _client(url)
        self._reads = 0  # how Redis calls the connection that waits for entries
        self._stopped, self._anew = threading.Event(), False
        self.tried, self.life = threading.Event(), ""
        """Set when Redis has answered, or not, for the first time; a word that is another one when it has lost its memory."""
        self.thread = threading.Thread(target=self._read, name="rooms", daemon=True)
        self.is_gone, self.read = True, 0
        """Whether Redis does not answer; bytes that were read since the log was cut."""

    def start(self) -> None:
        """Read from now on."""
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
        """Something is done: from now on all copies hear of it. Raises ConnectionError: Redis does not answer."""
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
        """Begin anew where Redis has lost its memory without losing its connections."""
        with suppress(redis.RedisError):
            self._anew = self._anew or self._life_now() != self.life

    def cut(self, state: Mapping[str, bytes], gone: Sequence[str], base: bytes) -> None:
        """The log up to `base` came to this: keep that in its place, without the names that have gone. One copy at a time does so."""
        with suppress(redis.RedisError):
            if not self._redis.set(f"{self._state}:cut", b"", nx=True, ex=10):
                return
            oldest = f"{int((time.time() - KEPT) * 1000)}-0".encode()
            with self._redis.pipeline() as all_of_it:
                all_of_it.hset(self._state, mapping={**state, BASE.decode(): base})
                if gone:
                    all_of_it.hdel(self._state, *gone)
                all_of_it.xtrim(self._log, minid=min(base, oldest, key=place), approximate=False)
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
        anew, self.life, self._anew = life != self.life, life, False
        self.read = sum(len(text) for _, fields in entries for text in fields.values())
        self._set_gone(False)
        self._begin(state, entries, anew)
        self.tried.set()
        return max([state.get(BASE, b"0-0"), *(entry for entry, _ in entries)], key=place)

    def _follow(self, at: bytes) -> None:
        heard = time.monotonic()
        with self._reader.client() as reader:  # one connection
            self._reads = reader.client_id()
            while not self._stopped.is_set() and not self._anew:
                found = reader.xread({self._log: at}, count=100, block=LOOK)
                if time.monotonic() - heard > KEPT / 2:  # the log may have been cut meanwhile
                    return
                heard = time.monotonic()
                for _, entries in found or ():
                    for at, fields in entries:
                        self.read += sum(map(len, fields.values()))
                        self._hear((at, fields))

    def _life_now(self) -> str:
        self._redis.set(self._life, secrets.token_hex(8), nx=True, ex=self._lasts)
        return self._redis.get(self._life).decode()

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


def place(entry: bytes) -> tuple[int, int]:
    """Where an entry stands in the order.

    >>> place(b"1700000000000-2") < place(b"1700000000000-10")
    True
    """
    first, _, second = entry.partition(b"-")
    return int(first), int(second or 0)
