"""The app below a prefix of another site, behind a real nginx: one that takes the prefix away, and one that passes it on."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from app_server import free_port, started, started_app
from every_page import go, open_room
from foreign_folders import write
from playwright.sync_api import expect
from test_model_brought import FILES, upload

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
PREFIX = "/school/atlas"
CONFIG = """pid nginx.pid; error_log error.log; events {}
http {
    map $http_upgrade $hop { "" ""; default upgrade; }
    access_log off; client_max_body_size 64m;
    server {
        listen 127.0.0.1:PORT;
        location PREFIX/ {
            proxy_pass TO;
            proxy_http_version 1.1;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection $hop;
            proxy_set_header Host $http_host;
            proxy_buffering off; proxy_request_buffering off;
        }
    }
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
}
"""
pytestmark = pytest.mark.skipif(NGINX is None, reason="no nginx on this machine")


@contextmanager
def behind(folder: Path, to: str) -> Iterator[str]:
    """Where the app is found below the prefix; `to` ends in "/" where the prefix is taken away."""
    port = free_port()
    text = CONFIG.replace("PORT", str(port)).replace("PREFIX", PREFIX).replace("TO;", f"{to};")
    (folder / "nginx.conf").write_text(text, "utf-8")
    command = [str(NGINX), "-p", str(folder), "-c", str(folder / "nginx.conf"), "-g", "daemon off;"]
    url = f"http://127.0.0.1:{port}{PREFIX}"
    with started(command, f"{url}/_stcore/health", folder / "nginx.log"):
        yield url


def holds_a_lecture_and_brings_a_model(new_page: Any, url: str, folder: Path) -> None:
    """Open a room, join it and control it, every request below the prefix; then upload a model."""
    wrong: list[str] = []
    teacher, phone = new_page(levels=()), new_page(levels=())
    control = teacher.context.new_page()
    for page in (teacher, phone, control):
        page.on(
            "request", lambda r: wrong.append(r.url) if urlsplit(r.url).path.startswith("/room") else None
        )
    code, bar = open_room(teacher, url), teacher.locator(".room-bar[data-live]")
    expect(teacher.get_by_text(f"{PREFIX}/room")).to_be_visible()
    phone.goto(f"{url}/room")
    phone.locator("#typed").fill(code)
    phone.get_by_role("button", name="Join").click()
    expect(bar).to_contain_text("1 joined")
    assert urlsplit(phone.url).path == f"{PREFIX}/room/{code}"
    control.goto(f"{url}/room/{code}/presenter")  # by the cookie of the first window
    expect(control.get_by_text("1 joined")).to_be_visible()
    control.get_by_role("button", name="Pause").click()
    expect(phone.locator("#paused")).to_be_visible()
    go(teacher, f"{PREFIX}/your_model")
    expect(phone.locator("#title")).to_have_text("Your model")
    phone.reload()
    expect(phone.locator("#paused")).to_be_visible()
    upload(teacher, url, write(folder), *FILES)
    with teacher.expect_response(lambda answer: answer.url.endswith("/model.safetensors")) as last:
        teacher.get_by_role("button", name="Open it").click()
    assert last.value.ok and urlsplit(last.value.url).path.startswith(f"{PREFIX}/upload/")
    assert wrong == []


@pytest.mark.slow
def test_a_proxy_that_takes_a_prefix_away(new_page, app_url, tmp_path):
    with behind(tmp_path, f"{app_url}/") as url:
        holds_a_lecture_and_brings_a_model(new_page, url, tmp_path)


@pytest.mark.slow
def test_a_base_path_of_the_app_itself(new_page, tmp_path):
    flags = ("--server.baseUrlPath", PREFIX.strip("/"))
    (tmp_path / "app").mkdir()
    with (
        started_app(tmp_path / "app", *flags, base=PREFIX, ATLAS_UPLOAD="64M") as server,
        behind(tmp_path, server.url) as url,
    ):
        holds_a_lecture_and_brings_a_model(new_page, url, tmp_path)
