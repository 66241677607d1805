"""Debian's Redis, as tests of rooms that several copies share start it: on a free port, nothing on disk."""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app_server import free_port

REDIS = shutil.which("redis-server")


class Redis:
    """A Redis that can go and come back."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Begin, with nothing in memory, and wait until it answers."""
        import redis

        assert REDIS
        self.process = subprocess.Popen(
            [REDIS, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
        )
        for _ in range(200):
            try:
                redis.Redis.from_url(self.url).ping()
                return
            except redis.ConnectionError:
                time.sleep(0.02)
        raise AssertionError("redis-server does not answer")

    def freeze(self, yes: bool) -> None:
        """Stop to answer without hanging up, or go on."""
        assert self.process
        self.process.send_signal(signal.SIGSTOP if yes else signal.SIGCONT)

    def stop(self) -> None:
        """End at once: all that it knew is lost."""
        if self.process:
            self.process.kill()
            self.process.wait(10)

    def clear(self) -> None:
        """Forget everything."""
        import redis

        redis.Redis.from_url(self.url).flushall()


@contextmanager
def started_redis(folder: Path) -> Iterator[Redis]:
    """A Redis with its own process."""
    server = Redis(folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()
