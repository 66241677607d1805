"""Between the browser and Streamlit."""

from __future__ import annotations

from pathlib import Path

import pytest
import streamlit
from asgi_calls import call
from streamlit.proto.BackMsg_pb2 import BackMsg

from viz.platform import static_files
from viz.platform.message_filter import MessageFilter
from viz.platform.static_files import Preloaded, Remembered

LASTING = [(b"content-type", b"text/javascript"), (b"cache-control", b"public, immutable, max-age=31536000")]
SCRIPTS = sorted(name for name in static_files.names() if name.endswith(".js"))[:2]
PARTS = [
    {"type": "http.response.body", "body": b"let ", "more_body": True},
    {"type": "http.response.body", "body": b"a = 1"},
]


class Site:
    """An application that counts how often it is asked."""

    def __init__(self, headers: list[tuple[bytes, bytes]], parts: list[dict], status: int = 200) -> None:
        self.said = [{"type": "http.response.start", "status": status, "headers": headers}, *parts]
        self.asked = 0

    async def __call__(self, scope, receive, send) -> None:
        self.asked += 1
        for message in self.said:
            await send(message)


def answered(app, path: str = "", method: str = "GET", headers: tuple = ()) -> tuple[dict, bytes]:
    """The head and the body of an answer."""
    path = path or f"/{SCRIPTS[0]}"
    sent = call(app, {"type": "http", "method": method, "path": path, "headers": headers})
    return sent[0], b"".join(part["body"] for part in sent[1:])


def test_what_never_changes_is_asked_for_once() -> None:
    site = Site(LASTING, PARTS)
    app = Remembered(site)
    first, again = answered(app), answered(app)
    assert first == again == (site.said[0], b"let a = 1")
    assert site.asked == 1
    answered(app, path=f"/{SCRIPTS[1]}")
    assert site.asked == 2


def test_one_file_is_kept_once_however_it_is_spelled() -> None:
    """Streamlit answers all of these with the same file; a copy of each would fill the memory."""
    site, name = Site(LASTING, PARTS), SCRIPTS[0]
    app = Remembered(site, base="/atlas")
    for path in (
        f"/atlas/{name}",
        f"/atlas/./{name}",
        f"/atlas//{name}",
        f"/atlas/static/../{name}",
        f"/{name}",
    ):
        answered(app, path=path)
        answered(app, path=path)
    assert set(app.cached) == {f"/atlas/{name}"} and site.asked == 9


@pytest.mark.parametrize("headers", [((b"range", b"bytes=0-1"),), ((b"if-none-match", b'"x"'),)])
def test_a_part_and_a_question_for_news_go_on(headers) -> None:
    site = Site(LASTING, PARTS)
    app = Remembered(site)
    answered(app)
    answered(app, headers=headers)
    answered(app, method="HEAD")
    assert site.asked == 3


@pytest.mark.parametrize(
    "site",
    [
        Site([(b"cache-control", b"no-cache")], PARTS),
        Site(LASTING, PARTS, status=404),
        Site(LASTING, PARTS[:1]),
    ],
    ids=["changes", "missing", "broken off"],
)
def test_nothing_else_is_kept(site: Site) -> None:
    app = Remembered(site)
    answered(app)
    answered(app)
    assert site.asked == 2 and app.cached == {}


def test_a_page_names_plotlys_script_once_it_drew_by_it(monkeypatch) -> None:
    monkeypatch.setattr(static_files, "_plotly_pages", {"scaling"})
    html = [(b"content-type", b"text/html; charset=utf-8")]
    link = dict(answered(Preloaded(Site(html, PARTS)), "/base/scaling")[0]["headers"])[b"link"].decode()
    name = link.removeprefix("<./").removesuffix(">; rel=modulepreload")
    assert (
        name.startswith("static/js/PlotlyChart.")
        and (Path(streamlit.__file__).parent / "static" / name).is_file()
    )
    assert answered(Preloaded(Site(html, PARTS)), "/weighting")[0]["headers"] == html
    own = Preloaded(
        Site(html, PARTS), own_scripts=lambda page: ["script/stage.js"] if page == "weighting" else []
    )
    assert answered(own, "/weighting")[0]["headers"][-1] == (
        b"link",
        b"<./script/stage.js>; rel=modulepreload",
    )
    assert answered(own, "/room")[0]["headers"] == html
    assert answered(Preloaded(Site(LASTING, PARTS)), "/scaling")[0]["headers"] == LASTING


def passed(*frames: bytes) -> list[bytes]:
    """The messages of one browser that reach Streamlit."""
    asked = [
        {"type": "websocket.connect"},
        *({"type": "websocket.receive", "bytes": frame} for frame in frames),
        {"type": "websocket.disconnect"},
    ]
    seen: list[bytes] = []

    async def inner(scope, receive, send) -> None:
        while (message := await receive())["type"] != "websocket.disconnect":
            if "bytes" in message:
                seen.append(message["bytes"])

    call(MessageFilter(inner), {"type": "websocket"}, *asked)
    return seen


def test_the_message_that_clears_everybodys_caches_is_kept_back() -> None:
    keep, nonsense = BackMsg(stop_script=True).SerializeToString(), b"\xff\xfe"
    assert passed(BackMsg(clear_cache=True).SerializeToString(), keep, nonsense) == [keep, nonsense]


def rerun(page: str, part: str = "") -> bytes:
    message = BackMsg()
    message.rerun_script.page_script_hash, message.rerun_script.fragment_id = page, part
    return message.SerializeToString()


def test_a_part_of_a_page_that_was_left_is_not_drawn_anew() -> None:
    by_address, part, followed, late, own = (
        rerun(""),
        rerun("look", "a"),
        rerun("find"),
        rerun("look", "a"),
        rerun("find", "b"),
    )
    assert passed(by_address, part, followed, late, own) == [by_address, part, followed, own]
    back = rerun("look")
    assert passed(followed, back, part, own) == [followed, back, part]
    assert passed(part) == [part]
