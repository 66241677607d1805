"""Who is let in, and how the server says that it is full or that its first screen failed."""

from __future__ import annotations

import itertools
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
from asgi_calls import call
from shown_values import states
from streamlit.testing.v1 import AppTest

import core
from core.errors import InputError
from viz import limits
from viz.platform import admission, start
from viz.platform.admission import JOINING, NEWCOMER, RETURNING, Door
from viz.widgets import training_jobs
from viz.workspace.about import page

ROOT = Path(__file__).parents[2]

BROWSER = [(b"accept", b"text/html,*/*")]
SOCKET = b"sec-websocket-protocol"


async def app(scope, receive, send) -> None:
    await send({"type": "let in"})


def answer(
    kind: str, path: str = "/", headers: list[tuple[bytes, bytes]] | None = None
) -> list[dict[str, Any]]:
    return call(Door(app), {"type": kind, "method": "GET", "path": path, "headers": headers or []})


@pytest.fixture
def free(monkeypatch) -> Any:
    """Sets how many more files may be opened."""
    monkeypatch.setattr(limits, "file_limit", lambda: 1000)
    return lambda count: monkeypatch.setattr(limits, "open_files", lambda: 1000 - count)


def test_a_newcomer_is_refused_in_words_before_those_who_are_on_the_way(free) -> None:
    free(NEWCOMER)
    assert answer("http", headers=BROWSER) == [{"type": "let in"}]
    free(NEWCOMER - 1)
    head, body = answer("http", "/scaling", BROWSER)
    assert head["status"] == 503 and b"no room" in body["body"] and b"1,000 open files" in body["body"]
    assert answer("http", "/static/js/a.js") == answer("websocket", "/_stcore/stream") == [{"type": "let in"}]
    free(JOINING - 1)
    assert answer("websocket", "/_stcore/stream")[0]["type"] == "websocket.close"
    back = [(SOCKET, b"streamlit, xsrf, 123")]
    assert answer("websocket", "/_stcore/stream", back) == [{"type": "let in"}]
    free(RETURNING - 1)
    assert answer("websocket", "/_stcore/stream", back)[0]["type"] == "websocket.close"


def test_a_first_screen_that_failed_is_not_called_healthy(monkeypatch) -> None:
    assert answer("http", "/_stcore/health") == [{"type": "let in"}]
    monkeypatch.setattr(
        start,
        "REPORT",
        start.Report(
            "The first screen cannot be drawn (error): see the server's log.", ("gpt-mini: damaged",)
        ),
    )
    head, body = answer("http", "/_stcore/health")
    assert head["status"] == 503 and body["body"]
    lines = page.running()
    assert states(lines[0], "error") and states(lines[1], "gpt-mini: damaged")


def test_the_citation_is_whole_and_names_nobody_who_is_not_known() -> None:
    """Braces close, fields are set apart by commas, the author is an organisation, version and title are this program's."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    entry = page.CITE.format(version=project["version"])
    head, body = entry.removesuffix("\n}").split(",\n", 1)
    fields = dict(line.strip(" }").split("= {", 1) for line in body.split(",\n"))
    fields = {name.strip(): value for name, value in fields.items()}
    names = {"author", "title", "version", "year", "license"} | ({"url"} if "urls" in project else set())
    assert (head, {*fields}) == ("@software{attention_atlas", names)
    assert fields["author"] == "{Attention Atlas" and fields["title"].startswith("Attention Atlas")
    assert (fields["version"], fields["license"]) == (project["version"], project["license"])
    assert fields["year"].isdigit()


def test_a_cap_of_memory_refuses_in_words(monkeypatch) -> None:
    assert limits.refusal_reason(0) == ""
    monkeypatch.setenv(limits.VARIABLE, "1 MB")
    assert states(limits.refusal_reason(0), "1 MB")
    monkeypatch.setenv(limits.VARIABLE, "much")
    with pytest.raises(ValueError, match="such as 2G"):
        limits.memory_limit()
    monkeypatch.setenv(limits.ARENAS, "two")
    with pytest.raises(ValueError, match="such as 2"):
        limits.arena_limit()


def test_a_newcomer_waits_for_memory_that_is_soon_free(monkeypatch) -> None:
    monkeypatch.setenv(limits.VARIABLE, "100M")
    monkeypatch.setattr(admission, "PAUSE", 0.0)
    for short, status in ((admission.WAITS - 1, "let in"), (10**6, "http.response.start")):
        used = itertools.chain(itertools.repeat(95 * 2**20, short), itertools.repeat(80 * 2**20))
        monkeypatch.setattr(limits, "memory_in_use", lambda used=used: next(used))
        assert answer("http", headers=BROWSER)[0]["type"] == status


def test_the_limits_are_read_from_the_system_and_said(monkeypatch) -> None:
    before = limits.open_files()
    with open(os.devnull):
        assert limits.open_files() == before + 1
    monkeypatch.setattr(limits, "file_limit", lambda: 4321)
    monkeypatch.setattr(limits, "memory_in_use", lambda: 900 * 2**20)
    monkeypatch.setenv(limits.VARIABLE, "2G")
    said = " ".join(page.running())
    assert states(said, "4,321 files") and states(said, "900 MB", "2,048")


def test_a_profile_sets_what_is_not_set_and_about_says_it(monkeypatch) -> None:
    for name in (limits.PROFILE, *limits.PROFILES["small"]):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    limits.apply_profile()
    assert not {*limits.PROFILES["small"]} & {*os.environ} and limits.warms_up()
    monkeypatch.setenv(limits.PROFILE, "small")
    monkeypatch.setenv(limits.UPLOAD, "1")
    limits.apply_profile()
    assert limits.memory_limit() == 700 * 2**20 and limits.cache_limit() < limits.memory_limit() / 10
    assert limits.upload_limit() > 0 and not limits.allows_hub()
    assert not limits.warms_up()
    with pytest.raises(InputError):
        training_jobs.start("copy")
    assert states(" ".join(page.running()), "small") and limits.PROFILES["small"].items() - {
        tuple(setting.split("=")) for setting in limits.profile_settings()
    } == {(limits.UPLOAD, "0")}


def test_pages_of_libraries_that_nobody_changed_are_given_back(monkeypatch) -> None:
    before = limits.memory_in_use()
    limits.return_freed_memory()
    assert limits.memory_in_use() < before and core.open_model("copy-gru").run("ab").ids


def test_only_the_code_of_libraries_is_given_back_never_what_the_loader_filled_in() -> None:
    def mapped(begin: int, access: str, name: str, resident: int, changed: int) -> list[str]:
        head = f"{begin:x}000-{begin + 8:x}000 {access} 00000000 fe:00 1 {name}\n"
        return [head, f"Rss: {resident} kB\n", f"Anonymous: {changed} kB\n"]

    maps = [
        mapped(0x100, "r--p", "/lib/libtorch.so", 4096, 0),
        mapped(0x200, "r-xp", "/lib/libtorch.so", 4096, 0),
        mapped(0x300, "r--p", "/lib/libtorch.so", 4096, 4096),
        mapped(0x400, "rw-p", "/lib/libtorch.so", 64, 64),
        mapped(0x500, "r--s", "/models/model.safetensors", 9000, 0),
        mapped(0x600, "r-xp", "/lib/patched.so.2", 4096, 4),
        mapped(0x700, "rw-p", "", 5000, 0),
        mapped(0x800, "r-xp", "/lib/small.so", 100, 0),
        mapped(0x900, "r-xp", "/lib/blas.so.3", 2000, 0),
    ]
    lines = [line for each in maps for line in each]
    assert [*limits.library_code(lines)] == [(0x200000, 0x208000), (0x900000, 0x908000)]


def test_who_waits_for_a_model_is_told(monkeypatch) -> None:
    test = AppTest.from_string("from viz.platform import start\nstart._opening('gpt-mini')").run()
    assert [toast.value for toast in test.toast] == ["Opening gpt-mini."]
