"""What a browser is told that a page may do, and from which pages anything may be sent here."""

from __future__ import annotations

import base64
import hashlib
import re

import pytest
import streamlit as st
from asgi_calls import call
from starlette.datastructures import Headers

from viz.classroom import light_pages
from viz.platform import security, static_files
from viz.platform.security import SameOrigin, SecurityHeaders, sent_by_us


def _answered(headers: list[tuple[bytes, bytes]], path: str = "/") -> dict[str, str]:
    async def app(scope, receive, send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": headers})

    sent = call(SecurityHeaders(app), {"type": "http", "path": path})
    assert len({name for name, _ in sent[0]["headers"]}) == len(sent[0]["headers"])
    return {name.decode(): value.decode() for name, value in sent[0]["headers"]}


def test_every_answer_has_the_headers_and_keeps_its_own():
    page = _answered([(b"content-type", b"text/html; charset=utf-8")])
    assert page["x-content-type-options"] == "nosniff" and page["referrer-policy"] == "same-origin"
    assert page["content-security-policy"] == security.policy()
    assert "content-security-policy" not in _answered([(b"content-type", b"text/javascript")])
    room = _answered([(b"content-type", b"text/html"), (b"content-security-policy", b"default-src 'none'")])
    assert room["content-security-policy"] == "default-src 'none'"


def test_the_policy_lets_in_nothing_from_elsewhere_and_of_inline_scripts_only_streamlits_own():
    rules = dict(rule.split(" ", 1) for rule in security.policy().split("; "))
    assert not re.search(r"https?:|\*|wss?:", security.policy())
    assert "'unsafe-inline'" not in rules["script-src"] and rules["object-src"] == "'none'"
    index = (static_files.FOLDER / "index.html").read_text("utf-8")
    inline = re.findall(r"<script>(.*?)</script>", index, re.DOTALL)
    for script in inline:
        assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in rules["script-src"]
    assert len(inline) == rules["script-src"].count("sha256-")


def test_who_may_show_the_app_in_a_frame_is_a_setting(monkeypatch):
    monkeypatch.delenv(security.FRAME, raising=False)
    assert security.frame_ancestors() == "'self'"
    monkeypatch.setenv(
        security.FRAME, "https://moodle.example.edu http://10.0.0.1:8080 https://*.example.org"
    )
    assert (
        security.frame_ancestors()
        == "'self' https://moodle.example.edu http://10.0.0.1:8080 https://*.example.org"
    )
    for wrong in ("*", "moodle.example.edu", "https://a; script-src *", "https://a/b", "'none'"):
        monkeypatch.setenv(security.FRAME, wrong)
        with pytest.raises(ValueError, match=security.FRAME):
            security.frame_ancestors()


def test_what_leads_a_room_is_in_no_frame_of_another_site_whatever_the_setting(monkeypatch):
    monkeypatch.setenv(security.FRAME, "https://moodle.example.edu")
    security.policy.cache_clear()
    html = [(b"content-type", b"text/html")]
    named = "frame-ancestors 'self' https://moodle.example.edu"
    for path in ("/", "/scaling", "/prefix/masks"):
        assert _answered(html, path)["content-security-policy"].endswith(named)
    for path in ("/lecture_room", "/lecture_room/", "/prefix/lecture_room"):
        assert _answered(html, path)["content-security-policy"].endswith("frame-ancestors 'self'")
    assert "frame-ancestors 'none'" in light_pages.PAGES
    security.policy.cache_clear()


@pytest.mark.parametrize(
    ("query", "sent_on"),
    [
        (b"embed=1", "?embed=true"),
        (b"text=a%20b&embed=1&masks.window=3", "?text=a%20b&embed=true&masks.window=3"),
        (b"embed=true", ""),
        (b"embed=10", ""),
        (b"reembed=1", ""),
        (b"text=embed%3D1", ""),
        (b"embed=1&text=//evil.example", "?embed=true&text=//evil.example"),
    ],
)
def test_a_short_link_to_embed_is_sent_on_to_the_same_page(query, sent_on):
    passed = []

    async def app(scope, receive, send) -> None:
        passed.append(scope)

    scope = {"type": "http", "method": "GET", "path": "/masks", "headers": [], "query_string": query}
    sent = call(security.EmbedLinks(app), scope)
    assert bool(passed) == (not sent_on)
    if sent_on:
        assert sent[0]["status"] == 307
        assert dict(sent[0]["headers"])[b"location"].decode() == sent_on


HERE = "atlas.example.edu:8501"


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({}, True),  # no browser
        ({"origin": f"http://{HERE}"}, True),
        ({"origin": "http://atlas.example.edu:9000"}, False),  # another program on the same machine
        ({"origin": "http://evil.example"}, False),
        ({"origin": f"http://evil.example/{HERE}"}, False),
        ({"origin": f"http://{HERE}.evil.example"}, False),
        ({"origin": f"http://{HERE}@evil.example"}, False),
        ({"origin": "null"}, False),
        ({"origin": "file://"}, False),
        ({"origin": "http://[::1"}, False),
        ({"origin": "http://atlas.example.edu:8501:1"}, False),
        ({"origin": "https://atlas.example.edu", "host": "atlas.example.edu"}, True),
        ({"origin": "https://atlas.example.edu", "host": "atlas.example.edu:443"}, True),
        ({"origin": "https://atlas.example.edu:8443", "host": "atlas.example.edu"}, True),  # a proxy's $host
        ({"origin": "https://school.example", "x-forwarded-host": "school.example"}, True),
        ({"origin": "http://evil.example", "sec-fetch-site": "cross-site"}, False),
        ({"origin": f"http://{HERE}", "sec-fetch-site": "same-site"}, False),
        (
            {"origin": "https://school.example", "sec-fetch-site": "same-origin"},
            True,
        ),  # the proxy renames the host
        ({"sec-fetch-site": "none"}, True),
    ],
    ids=str,
)
def test_where_a_request_comes_from(headers, allowed):
    assert sent_by_us(Headers({"host": HERE} | headers)) is allowed


def test_streamlits_own_settings_open_it_further(monkeypatch):
    evil = Headers({"host": HERE, "origin": "https://other.example"})
    settings = {"server.enableCORS": True, "server.corsAllowedOrigins": ["https://other.example"]}
    monkeypatch.setattr(st, "get_option", settings.get)
    assert sent_by_us(evil)
    settings["server.corsAllowedOrigins"] = []
    assert not sent_by_us(evil)
    settings["server.enableCORS"] = False
    assert sent_by_us(evil)


@pytest.mark.parametrize(
    ("scope", "passes"),
    [
        ({"type": "http", "method": "GET"}, True),
        ({"type": "http", "method": "HEAD"}, True),
        ({"type": "http", "method": "POST"}, False),
        ({"type": "http", "method": "PUT"}, False),
        ({"type": "websocket"}, False),
        ({"type": "lifespan"}, True),
    ],
    ids=str,
)
def test_a_page_of_another_site_may_look_and_send_nothing(scope, passes):
    reached = []

    async def app(scope, receive, send) -> None:
        reached.append(scope["type"])

    headers = [(b"host", HERE.encode()), (b"origin", b"http://evil.example")]
    sent = call(SameOrigin(app), scope | {"headers": headers}, {"type": "websocket.connect"})
    assert bool(reached) is passes and bool(sent) is not passes
    if sent:
        assert sent[0].get("status", sent[0].get("code")) in (403, 1008)
