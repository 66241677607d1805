"""Faults around the server: each ends in a sentence, or the app works all the same."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import uvicorn
from websockets.sync.client import connect

import core.serving.engine
from tests import library_sets
from tests.app_server import ROOT, free_port, started_app
from tests.bench.wire import Visit
from viz import application, limits
from viz.platform import security, shutdown, start
from viz.shell import pages

COMMAND = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless", "true", "--server.port"]


def test_a_variable_that_cannot_be_read_ends_the_start_in_a_sentence(monkeypatch):
    for name, value in (
        (limits.VARIABLE, "lots"),
        (limits.UPLOAD, "yes please"),
        (limits.PROFILE, "tiny"),
        (limits.CACHE, "some"),
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
    monkeypatch.setattr(limits, "memory_in_use", lambda: 640 * 2**20)
    monkeypatch.delenv(limits.VARIABLE, raising=False)
    assert start.memory_problem() == ""
    monkeypatch.setenv(limits.VARIABLE, "700M")
    assert "700 MB" in start.memory_problem() and "640 MB" in start.memory_problem()
    needed = start.memory_problem().partition("Set it to ")[2].partition(" ")[0]
    monkeypatch.setenv(limits.VARIABLE, needed)
    assert start.memory_problem() == "" and not limits.refusal_reason(0)


def test_the_warm_up_leaves_a_part_of_a_small_memory_to_visitors(monkeypatch):
    opened, ended = [], threading.Event()
    monkeypatch.setattr(start, "REPORT", start.Report())
    monkeypatch.setattr(start, "PAUSE", 0)
    monkeypatch.setattr(start, "_parts", lambda: ((str(n), partial(opened.append, n)) for n in range(9)))
    monkeypatch.setattr(limits, "memory_in_use", lambda: (400 + 50 * len(opened)) * 2**20)
    monkeypatch.setattr(core.serving.engine, "default", SimpleNamespace)
    for cap, models in (("700M", 2), ("", 9)):
        monkeypatch.setenv(limits.VARIABLE, cap)
        opened.clear()
        ended.clear()
        asyncio.run(_warmed(ended))
        assert len(opened) == models and start.REPORT.over and start.REPORT.failures == ()


async def _warmed(ended: threading.Event) -> None:
    start.warm_up_in_background((), ended.set)
    assert await asyncio.to_thread(ended.wait, 10)


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


def _ended(port: int, cwd: Path = ROOT, **variables: str) -> tuple[int, str]:
    """Return the status and the words of a start that ends by itself."""
    found = subprocess.run(
        [*COMMAND, str(port)],
        cwd=cwd,
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


@pytest.fixture
def checkout(tmp_path):
    """Return a copy of the project whose files a test may damage."""
    place = tmp_path / "app"
    shutil.copytree(ROOT, place, copy_function=os.link, ignore=shutil.ignore_patterns(".git", "__pycache__"))
    return place


def _damage(file: Path, keep: int | None) -> None:
    """Leave so many bytes of a file, or None of it; the original, which a copy shares, stays whole."""
    start = file.read_bytes()[:keep]
    file.unlink()
    if keep is not None:
        file.write_bytes(start)


async def _read(url: str, visited: dict[str, dict[str, str]]) -> dict[str, bytes]:
    """Return what each page shows; a page that fails is an error."""
    seen = {}
    for page, values in visited.items():
        visit = await Visit.opened(url, keeps_view=True)
        answer = await visit.ask(page, values)
        assert not answer.wrong, (page, answer.wrong)
        seen[page] = b" ".join(answer.view.values())
        await visit.close()
    return seen


@pytest.mark.slow
def test_pages_say_in_a_sentence_which_file_that_ships_is_damaged(tmp_path, checkout):
    models = checkout / "assets/models"
    _damage(models / "gpt-mini/model.safetensors", 1000)
    _damage(models / "bert-mini/config.json", None)
    _damage(checkout / "assets/sounds/words.npz", 100)
    for run in (checkout / "assets/runs").glob("*/*.*"):
        _damage(run, 60)
    for text in ("heads_en.txt", "concepts.tsv", "battery.tsv"):
        _damage(checkout / "assets/texts" / text, 30)
    visited = {
        "": {"model": "gpt-mini"},
        "masked_words": {},
        "letters_over_frames": {},
        "training": {},
        "frozen_or_full": {},
        "find": {"model": "translator-en-es"},
        "decode": {},
        "models": {},
        "about": {},
        "course": {},
    }
    with started_app(tmp_path, cwd=checkout, PYTHONPATH=str(checkout)) as server:
        seen = asyncio.run(_read(server.url, visited))
    assert b"gpt-mini/model.safetensors is cut off: 1,000 of" in seen[""]
    assert b"bert-mini/config.json is missing" in seen["masked_words"]
    assert b"words.npz, cannot be read" in seen["letters_over_frames"]
    assert b"bert-mini is not served" in seen["models"]


@pytest.mark.slow
@pytest.mark.parametrize("keep", [None, 50])
def test_a_text_that_every_page_reads_ends_the_start_in_a_sentence(checkout, keep):
    _damage(checkout / "assets/texts/presets.tsv", keep)
    status, words = _ended(free_port(), cwd=checkout, PYTHONPATH=str(checkout))
    assert status and "presets.tsv" in words and "from the repository again" in words
    assert "Traceback" not in words


@pytest.mark.slow
def test_every_page_is_drawn_with_all_patches_off(tmp_path):
    with started_app(tmp_path, ATLAS_PATCHES="off") as server:
        seen = asyncio.run(_read(server.url, {entry.slug: {} for entry in pages.discover()}))
    assert len(seen) > 50 and min(map(len, seen.values())) > 1000
    assert b"no patch of Streamlit is applied" in seen["about"]


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
