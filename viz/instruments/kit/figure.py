"""A picture as a file for a paper: its page is opened in Chromium, which is not seen, and makes the file that its button Save makes.

Chromium is one of this machine (`CHROMIUM` may name it), or one that playwright has installed; the page is opened without a network.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from numbers import Real
from typing import Any, TypeVar

from core.errors import InputError

T = TypeVar("T")
VARIABLE = "CHROMIUM"
"""The environment variable with the path of a browser, for one that is not found by its name."""
BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
)
WIDTH, WIDTHS = 1100, (240, 4000)
"""The width of a picture in pixels of the page, as its own page draws it in a wide window; the least and the most."""
SCALE, SCALES = 2, (1, 10)
"""Pixels of a PNG for one of the page, as its button Save makes it; the least and the most."""
HEIGHT, PADDING = 720, 16
ADDRESS = "https://picture.invalid/"
"""The address of the page in that browser; nothing is asked of the network for it."""
AT_REST = """
    .atlas { max-width: none !important }
    *, ::before, ::after { animation: none !important; transition: none !important }
"""
"""The page as wide as its window; what fades ends at once, so that the same picture is the same file."""
FILE_OF_PAGE = """async ([kind, ratio]) => {
    await document.fonts.ready;
    let quiet = 0;
    const watch = new MutationObserver(() => { quiet = 0; });
    watch.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
    for (let frame = 0; quiet < 3 && frame < 600; frame += 1) {
        quiet += 1;
        await new Promise(requestAnimationFrame);
    }
    watch.disconnect();
    return (await globalThis.attentionAtlas.fileOf?.(kind, ratio)) ?? null;
}"""
"""The question to the page. Its answer, once nothing has changed for three frames: the file of a kind in base64, or null where nothing can be saved."""
SHEET = "<!doctype html><style>@page { margin: 0 } body { margin: 0 } svg { display: block }</style>"


def figure_file(
    page: str, kind: str, *, width: float = WIDTH, dark: bool = False, scale: float = SCALE
) -> bytes:
    """Return the picture of `page`, a page that works alone, as the bytes of a file: `kind` is "svg", "png" or "pdf".

    Works where an event loop runs, as in a notebook. Raises InputError where playwright or Chromium is missing, naming what to install.
    """
    width, scale = _number("width", width, WIDTHS, WIDTH), _number("scale", scale, SCALES, SCALE)
    return _in_chromium(
        kind, lambda browser: file_in(browser, page, kind, width=width, dark=dark, scale=scale)
    )


def latex_files(page: str, name: str, *, width: float = WIDTH, dark: bool = False) -> dict[str, bytes]:
    """Return the picture of `page` for a LaTeX document, {"pdf", "tex", "bib"}: the graphic, called `name`, its figure and the references."""
    width = _number("width", width, WIDTHS, WIDTH)

    def make(browser: Any) -> dict[str, bytes]:
        with _opened(browser, page, width, dark) as tab:
            drawn = _resting_file(tab, "svg", SCALE).decode()
            text, references = tab.evaluate("(name) => globalThis.attentionAtlas.figureText(name)", name)
            return {"pdf": _print(tab, drawn), "tex": text.encode(), "bib": references.encode()}

    return _in_chromium("tex", make)


def printed_pages(pages: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return each page as PDF, by the same names: on paper of the page's own size or A4, once it marks itself as ready (`data-ready` of its body), or at once without scripts.

    Raises InputError where playwright or Chromium is missing, naming what to install.
    """

    def make(browser: Any) -> dict[str, bytes]:
        files = {}
        for name, page in pages.items():
            with _opened(browser, page.decode(), WIDTH, dark=False) as tab:
                if b'id="print"' in page:
                    tab.wait_for_selector("body[data-ready]")
                files[name] = tab.pdf(
                    format="A4", prefer_css_page_size=True, print_background=True, tagged=True
                )
        return files

    return _in_chromium("pdf", make)


def _in_chromium(kind: str, work: Callable[[Any], T]) -> T:
    """Return what `work` makes with a browser, for a file of this kind."""
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError as error:
        raise _refusal(kind, "the package playwright is not installed", "pip install playwright") from error

    def make() -> T:
        with sync_playwright() as play:
            browser = launch(play.chromium, kind)
            try:
                return work(browser)
            finally:
                browser.close()

    try:  # in a thread: a notebook's own loop runs in this one
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(make).result()
    except Error as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise InputError(
            f"Chromium could not make the file (.{kind}): {reason}.",
            "Its memory must hold the whole picture.",
            "Try a smaller width or scale, or save the picture as .html and open that in your browser.",
        ) from error


@contextmanager
def _opened(browser: Any, page: str, width: float, dark: bool) -> Iterator[Any]:
    """Open `page` in a tab without a network."""
    context = browser.new_context(
        viewport={"width": round(width) + 2 * PADDING, "height": HEIGHT},
        color_scheme="dark" if dark else "light",
    )
    try:
        tab = context.new_page()
        tab.route("**/*", lambda route: route.fulfill(body=page, content_type="text/html; charset=utf-8"))
        tab.goto(ADDRESS)
        tab.add_style_tag(content=AT_REST)
        yield tab
    finally:
        context.close()


def _resting_file(tab: Any, kind: str, scale: float) -> bytes:
    """Return the file that the page in `tab` makes when nothing in it changes any more."""
    encoded = tab.evaluate(FILE_OF_PAGE, [kind, scale])
    if encoded is None:
        raise InputError(
            "This picture has nothing to save as a graphic.",
            "A figure needs something to draw.",
            "Save it as .html, or give it values.",
        )
    return base64.b64decode(encoded)


def file_in(browser: Any, page: str, kind: str, *, width: float, dark: bool, scale: float) -> bytes:
    """Return the file that `page` makes in `browser`, a Chromium of playwright."""
    with _opened(browser, page, width, dark) as tab:
        file = _resting_file(tab, "png" if kind == "png" else "svg", scale)
        return _print(tab, file.decode()) if kind == "pdf" else file


def _print(tab: Any, svg: str) -> bytes:
    """Return a PDF with one page, of the size of the graphic."""
    width, height = re.findall(r'(?:width|height)="(\d+)"', svg[: svg.index(">")])
    tab.goto("about:blank")
    tab.set_content(SHEET + svg)
    return tab.pdf(width=f"{width}px", height=f"{height}px", print_background=True, page_ranges="1")


def launch(chromium: Any, kind: str) -> Any:
    """Start the browser that `CHROMIUM` names, else the first one that starts, for a file of this kind."""
    from playwright.sync_api import Error

    named = os.environ.get(VARIABLE)
    paths = [named] if named else filter(None, map(shutil.which, BROWSERS))
    ways = [{"executable_path": path} for path in paths]
    failures = []
    for way in ways if named else [*ways, {}, {"channel": "chrome"}, {"channel": "msedge"}]:
        try:
            return chromium.launch(**way)
        except Error as error:
            failures.append(error)
    wrong = (
        f"{VARIABLE} names '{named}', which does not start" if named else "no Chromium was found that starts"
    )
    remedy = f"python -m playwright install chromium, or name a browser in the variable {VARIABLE}"
    raise _refusal(kind, wrong, remedy) from failures[-1]


def _refusal(kind: str, wrong: str, remedy: str) -> InputError:
    return InputError(
        f"The picture cannot be saved as .{kind} here: {wrong}.",
        "Its page is opened in Chromium, driven by playwright, and makes the file as its button Save does.",
        f"Install it ({remedy}), or save the picture as .html, which needs neither.",
    )


def _number(name: str, value: float, limits: tuple[float, float], usual: float) -> float:
    """Return an option as a float. Raises InputError for one outside its limits and for what is no number."""
    least, most = limits
    if not (isinstance(value, Real) and least <= value <= most):
        raise InputError(
            f"{name}={value!r} cannot be drawn.",
            f"It is a number from {least} to {most}.",
            f"Choose {name}={usual}, say.",
        )
    return float(value)
