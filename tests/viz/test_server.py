"""The real server with its shipped settings: what a visit leaves, when garbage is collected, when it calls itself healthy."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = "import viz.workspace.look.page as look\nlook.page = lambda: 1 / 0\n"
pytestmark = pytest.mark.skipif(
    not os.path.isdir("/proc/self/fd"), reason="the system does not tell how many files a process has open"
)


@contextmanager
def server(tmp_path: Path, *options: str) -> Iterator[tuple[int, int, Path]]:
    """Its port, its process, and the file with a line for each collection of the oldest generation."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log, out = tmp_path / "collections.txt", tmp_path / "log.txt"
    with out.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "tests/watched_server.py", str(log), "--server.port", str(port), *options],
            cwd=ROOT,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    try:
        until(lambda: process.poll() is not None or health(port) != 0)
        assert process.poll() is None, out.read_text("utf-8", "replace")
        yield port, process.pid, log
    finally:
        process.terminate()
        process.wait(20)


def until(fact: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not fact():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def health(port: int) -> int:
    """The status of the answer; 0 for none."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def files(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def run(visitor: ClientConnection, query: str = "") -> None:
    """One run of the page, to its end."""
    message, answer = BackMsg(), ForwardMsg()
    message.rerun_script.query_string = query
    visitor.send(message.SerializeToString())
    while not (answer.WhichOneof("type") == "script_finished" and answer.script_finished in (0, 2)):
        answer.ParseFromString(visitor.recv(60))  # type: ignore[arg-type]


@pytest.mark.slow
def test_nothing_is_left_of_visitors_and_nothing_is_collected_inside_a_run(tmp_path: Path) -> None:
    with server(tmp_path, "--server.disconnectedSessionTTL", "1") as (port, pid, log):
        address, begun = f"ws://127.0.0.1:{port}/_stcore/stream", len(log.read_text().splitlines())
        with connect(address, subprotocols=["streamlit"], max_size=None) as visitor:  # type: ignore[list-item]
            run(visitor)
        until(
            lambda: len(log.read_text().splitlines()) > begun
        )  # all that is loaded behind the first screen was frozen
        before = files(pid)
        for _ in range(8):
            with connect(address, subprotocols=["streamlit"], max_size=None) as visitor:  # type: ignore[list-item]
                for head in range(6):
                    run(visitor, f"layer=1&head={head}")
        until(lambda: files(pid) <= before)
        met = len(log.read_text().splitlines())
        until(lambda: len(log.read_text().splitlines()) > met)  # what they left was collected
        assert {line.split()[1] for line in log.read_text().splitlines()} == {"0"}


def test_the_settings_that_a_class_needs_are_the_defaults() -> None:
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))
    assert settings["runner"]["postScriptGC"] is False and settings["server"]["fileWatcherType"] == "none"


@pytest.mark.slow
def test_a_server_that_cannot_draw_its_first_screen_does_not_call_itself_healthy(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(SCRIPT, "utf-8")
    before = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = f"{tmp_path}{os.pathsep}{ROOT}"
    try:
        with server(tmp_path) as (port, _, _):
            assert health(port) == 503
            assert "first screen" in (tmp_path / "log.txt").read_text("utf-8")
    finally:
        os.environ["PYTHONPATH"] = before
