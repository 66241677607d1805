"""The light pages of a room, without a Streamlit session; by themselves they show nothing of any room."""

from __future__ import annotations

import html
import json
from pathlib import Path

import streamlit as st
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from viz import theme
from viz.instruments.kit.component import variables
from viz.languages import LANGUAGES, preferred, using
from viz.languages.script_words import SCRIPT, ScriptWords

PAGE_FOLDER = Path(__file__).parent / "page"
TYPES = {".js": "text/javascript", ".css": "text/css"}
PAGES = (
    "default-src 'none'; script-src 'self' blob:; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'"
)


def _vega() -> str:
    """Return the name of Streamlit's file that loads Vega, which draws the charts of these pages."""
    found = sorted((Path(st.__file__).parent / "static" / "static" / "js").glob("loadVegaEmbed.*.js"))
    return found[0].name if found else ""


def _page(name: str) -> str:
    text = (PAGE_FOLDER / name).read_text("utf-8").replace("%%STYLE%%", variables())
    return text.replace("%%VEGA%%", _vega()).replace("%%TWINS%%", html.escape(json.dumps(theme.dark_twins())))


PAGE, PRESENTER, NOTES = _page("follow.html"), _page("presenter.html"), _page("notes.html")
WORDS = ScriptWords(PAGE + PRESENTER + NOTES, *sorted(PAGE_FOLDER.glob("*.js")))
ASSETS = {
    path.name: (path.read_bytes().replace(b"../../languages/", b"./"), TYPES[path.suffix])
    for path in (*PAGE_FOLDER.iterdir(), SCRIPT)
    if path.suffix in TYPES
}
"""The scripts and style sheets, all in one folder of the server."""


async def follower_page(request: Request) -> Response:
    """Answer with the page that followers read on their phones; it is the page of the wall, too."""
    return _html(request, PAGE)


async def presenter(request: Request) -> Response:
    """Answer with the presenter's page: notes, clock and answers."""
    return _html(request, PRESENTER)


async def notes(request: Request) -> Response:
    """Respond with the page for a lesson's notes; another tab of the same browser fills it."""
    return _html(request, NOTES)


def _html(request: Request, text: str) -> Response:
    language = LANGUAGES[reader_language(request)]
    with using(language.code):
        told = json.dumps(WORDS.page_language())
    filled = text.replace("%%LANG%%", language.code).replace("%%DIR%%", language.direction)
    filled = filled.replace("%%LANGUAGE%%", html.escape(told))
    depth = request.url.path.rpartition("/room")[2].count("/")
    return HTMLResponse(
        filled.replace(
            "%%BASE%%", "../" * depth or "./"
        ),  # a proxy may put a prefix before it that only the browser knows
        headers={
            "Content-Security-Policy": PAGES,
            "Cache-Control": "no-store",
            "Referrer-Policy": "no-referrer",
        },
    )


def reader_language(request: Request) -> str:
    """Return the code of the language for who reads this answer: that of the link (`?lang=es`), else the one that the browser asks for."""
    code = request.query_params.get("lang", "")
    return code if code in LANGUAGES else preferred(request.headers.get("accept-language", ""))


async def asset(request: Request) -> Response:
    """Answer with a script or a style sheet of these pages."""
    file = ASSETS.get(request.path_params["name"])
    if file is None:
        return Response(status_code=404)
    return Response(file[0], media_type=file[1], headers={"Cache-Control": "no-cache"})
