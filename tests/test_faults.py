"""Faults around the server: each ends in a sentence, or the app works all the same."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import uvicorn
from websockets.sync.client import connect

from tests import library_sets
from tests.app_server import ROOT, free_port, started_app
from viz.platform import application, limits, security, shutdown, start

COMMAND = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless", "true", "--server.port"]


def test_a_variable_that_cannot_be_read_ends_the_start_in_a_sentence(monkeypatch):
    for name, value in (
        (limits.VARIABLE, "lots"),
        (limits.UPLOAD, "yes please"),
        (security.FRAME, "moodle.example.edu/path"),
        ("ATLAS_ROOMS", "localhost"),
    ):
        security.policy.cache_clear()
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            with pytest.raises(SystemExit) as end:
                application.check_settings()
        assert name in str(end.value) and "\n" not in str(end.value)
    security.policy.cache_clear()


def test_a_cap_of_memory_below_what_the_app_takes_is_named_with_one_that_will_do(monkeypatch):
    monkeypatch.setattr(limits, "memory", lambda: 640 * 2**20)
    monkeypatch.delenv(limits.VARIABLE, raising=False)
    assert start.memory_problem() == ""
    monkeypatch.setenv(limits.VARIABLE, "700M")
    assert "700 MB" in start.memory_problem() and "640 MB" in start.memory_problem()
    needed = start.memory_problem().partition("Set it to ")[2].partition(" ")[0]
    monkeypatch.setenv(limits.VARIABLE, needed)
    assert start.memory_problem() == "" and not limits.full(0)


def test_a_start_that_fails_says_its_sentence_and_no_trace(monkeypatch):
    monkeypatch.setattr(start, "REPORT", start.Report(problem="One sentence."))
    sent: list[dict] = []

    async def app(scope, receive, send) -> None:
        await send({"type": "lifespan.startup.failed", "message": "Traceback (most recent call last): ..."})

    async def send(message) -> None:
        sent.append(message)

    asyncio.run(start.WordedFailure(app)({"type": "lifespan"}, None, send))  # type: ignore[arg-type]
    assert sent[0]["message"] == "One sentence."


def test_the_web_server_is_known_by_its_signal_and_its_wait_has_an_end(monkeypatch):
    server = uvicorn.Server(uvicorn.Config("app:app"))
    monkeypatch.setattr(shutdown.signal, "getsignal", lambda _: server.handle_exit)
    assert shutdown.web_server() is server
    shutdown.limit_the_wait(shutdown.web_server())
    assert server.config.timeout_graceful_shutdown == shutdown.GRACE
    for other in (signal.SIG_DFL, SimpleNamespace().__init__, None):
        monkeypatch.setattr(shutdown.signal, "getsignal", lambda _, other=other: other)
        assert shutdown.web_server() is None
    shutdown.limit_the_wait(None)


def _ended(port: int, **variables: str) -> tuple[int, str]:
    """Return the status and the words of a start that ends by itself."""
    found = subprocess.run(
        [*COMMAND, str(port)],
        cwd=ROOT,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return found.returncode, found.stdout + found.stderr


def _fake(folder: Path, version: str, customized: str = "") -> dict[str, str]:
    """Return variables with which Streamlit calls itself by another version."""
    info = folder / f"streamlit-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: streamlit\nVersion: {version}\n", "utf-8")
    (folder / "sitecustomize.py").write_text(customized, "utf-8")
    return {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}


GONE = "import streamlit\nimport streamlit.runtime.scriptrunner as inside\ndel inside.get_script_run_ctx\n"


@pytest.mark.slow
@pytest.mark.parametrize(("version", "customized"), [("1.65.0", ""), ("1.66.1", ""), ("1.68.0", GONE)])
def test_a_streamlit_that_does_not_fit_ends_the_start_in_a_sentence(tmp_path, version, customized):
    status, words = _ended(free_port(), **_fake(tmp_path, version, customized))
    assert status == 1 and f"streamlit {version} is installed; Attention Atlas needs" in words
    assert "Traceback" not in words


@pytest.mark.slow
def test_a_cap_that_is_too_small_ends_the_start_in_a_sentence():
    status, words = _ended(free_port(), ATLAS_MEMORY="200M")
    assert status and "nobody could be let in. Set it to" in words and "Traceback" not in words


@pytest.mark.slow
def test_a_port_that_is_taken_ends_the_start_in_a_sentence():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        status, words = _ended(port)
    assert status == 1 and f"Port {port} is not available" in words and "Traceback" not in words


@pytest.mark.slow
def test_a_folder_with_spaces_and_umlauts_that_nobody_may_write_without_a_home(tmp_path, monkeypatch):
    place = tmp_path / "Ein Ort für Übungen"
    shutil.copytree(ROOT, place, copy_function=os.link, ignore=shutil.ignore_patterns(".git", "__pycache__"))
    for folder in (place, *(one for one in place.rglob("*") if one.is_dir())):
        folder.chmod(0o555)
    monkeypatch.delenv("HOME", raising=False)
    try:
        assert library_sets.problem(cwd=place) == ""
    finally:
        for folder in (place, *(one for one in place.rglob("*") if one.is_dir())):
            folder.chmod(0o755)


@pytest.mark.slow
def test_the_server_ends_with_visitors_inside_and_a_request_half_sent(tmp_path):
    with started_app(tmp_path) as server:
        port = int(server.url.rpartition(":")[2])
        half = socket.create_connection(("127.0.0.1", port))
        half.sendall(
            b"POST /room/ABCDEF/say HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: 100\r\n\r\n{" % port
        )
        with connect(f"ws://127.0.0.1:{port}/_stcore/stream", subprotocols=["streamlit"]):  # type: ignore[list-item]
            begun = time.monotonic()
            server.process.terminate()
            server.process.wait(60)
        assert time.monotonic() - begun < 6 * shutdown.GRACE
        half.close()
