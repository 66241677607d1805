"""The whole app as a server, as a visitor would start it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Server:
    """A running server: where it answers, its process, its log."""

    url: str
    process: subprocess.Popen[bytes]
    log: Path


def free_port() -> int:
    """A port that nobody listens at now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def started(command: Sequence[str], health: str, log: Path, **how: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A server, from when it answers at the address `health` to the end of the block; its words in `log`."""
    with log.open("ab") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, **how)
    try:
        for _ in range(600):
            assert process.poll() is None, log.read_text("utf-8", "replace")
            try:
                urllib.request.urlopen(health, timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield process
    finally:
        process.terminate()
        process.wait(20)


@contextmanager
def started_app(
    folder: Path,
    *flags: str,
    command: Sequence[str] = ("streamlit", "run", "app.py"),
    cwd: Path = ROOT,
    port: int = 0,
    base: str = "",
    **variables: str,
) -> Iterator[Server]:
    """The whole app, started as a visitor would, or by another `command`, with these flags; its log in `folder`. `base` is the path that a flag puts before all addresses."""
    port = port or free_port()
    url, log = f"http://127.0.0.1:{port}", folder / "log.txt"
    words = [sys.executable, "-m", *command, "--server.port", str(port), "--server.headless", "true", *flags]
    with started(words, f"{url}{base}/_stcore/health", log, cwd=cwd, env=os.environ | variables) as process:
        yield Server(url, process, log)


COLD = ("tests.cold_server",)
"""A command that serves the same without the warm-up, for tests that open a few of the pages."""


@contextmanager
def served_app(
    folder: Path, command: Sequence[str] = ("streamlit", "run", "app.py"), **variables: str
) -> Iterator[str]:
    """The address of the whole app on a free port."""
    with started_app(folder, command=command, **variables) as server:
        yield server.url
