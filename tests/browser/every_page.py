"""A walk through all pages of the app: what axe finds in each by day and by night, how it is laid out, what its charts save."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from settling import settle

from viz.shell import pages

AXE = (Path(__file__).parent / "axe.min.js").read_text("utf-8")
SCHEMES = {  # Streamlit gives a toast, which says that a model is being opened, no name
    "light": "axe.run({exclude: ['[data-testid=stToast]']}, {iframes: false, resultTypes: ['violations']})",
    "dark": "axe.run({exclude: ['[data-testid=stToast]']}, {iframes: false, resultTypes: ['violations'], runOnly: ['color-contrast']})",
}
TABS = 3
"""Pages that load while one is judged."""
DRAWN = """() => {
  const nodes = document.querySelectorAll("*").length, still = nodes === window.before && document.querySelector('[data-testid="stApp"]')?.dataset.testScriptState === "notRunning";
  window.before = nodes;
  return still && document.querySelector('[data-testid="stMain"] h1') && !document.querySelector('[data-testid="stSkeleton"]');
}"""
OUTLINE = """() => ({
  headings: [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].filter((h) => h.checkVisibility()).map((h) => Number(h.localName[1])),
  nameless: [...document.querySelectorAll("details")].filter((fold) => !fold.getAttribute("aria-label")).length,
  marks: [...document.querySelectorAll('[data-testid="stVegaLiteChart"] svg [aria-label]')].filter((mark) => !mark.closest("[aria-hidden=true]")).length,
  charts: [...document.querySelectorAll('[data-testid="stVegaLiteChart"]')].filter((chart) => !chart.getAttribute("aria-label")).length,
})"""
FADED = "() => !document.getAnimations().some((one) => one instanceof CSSTransition)"
"""Colours change in a while."""

MOST = 8
"""Charts of a page that are saved: a browser slows down the files of one page."""
CHARTS = """() => [...document.querySelectorAll('[data-testid="stPlotlyChart"], [data-testid="stVegaLiteChart"]')].map((chart) => {
  const frame = chart.closest('[data-testid="stElementContainer"]'), labels = [...frame.querySelectorAll("button, [data-title], a[href]")].map((e) => e.dataset.title ?? e.getAttribute("aria-label") ?? e.textContent);
  return { kind: chart.dataset.testid, name: chart.getAttribute("aria-label"), whose: JSON.parse(chart.dataset.whose ?? "[]"), wide: chart.clientWidth, labels };
})"""
SAVE = """(at) => {
  const chart = document.querySelectorAll('[data-testid="stPlotlyChart"], [data-testid="stVegaLiteChart"]')[at];
  chart.closest('[data-testid="stElementContainer"]').querySelector('button[aria-label^="Download as PNG"], [data-title^="Download plot"]').dispatchEvent(new MouseEvent("click", { bubbles: true, composed: true }));
}"""
READY = """() => [...document.querySelectorAll('[data-testid="stElementContainer"]:has([data-testid="stPlotlyChart"], [data-testid="stVegaLiteChart"])')]
  .every((frame) => frame.querySelector('button[aria-label^="Download as PNG"], [data-title^="Download plot"]'))"""


@dataclass
class Chart:
    """A chart of a page: what it says of itself (`CHARTS`), and the file that its tool bar hands out, if it was asked for one."""

    told: dict[str, Any]
    file: str | None = None
    contrast: int = 0
    """Of the line above the picture, which says what it shows: between its lightest and its darkest pixel."""


@dataclass
class Met:
    """A page that was met on the walk."""

    slug: str
    wrong: dict[str, list[str]]
    """What is wrong with it, light and dark."""
    charts: list[Chart]


def walk(browser: Any, url: str, scheme: str) -> Iterator[tuple[str, Any]]:
    """Every page, drawn, `TABS` of them loading at a time."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme=scheme)
    waiting: deque[tuple[str, Any]] = deque()
    free: list[Any] = []
    for entry in [*pages.discover(), *[None] * TABS]:
        if entry is not None:
            page = free.pop() if free else context.new_page()
            page.goto(url + entry.address, wait_until="commit")
            waiting.append((entry.slug, page))
        if len(waiting) > TABS or (entry is None and waiting):
            slug, page = waiting.popleft()
            page.bring_to_front()
            page.wait_for_function(DRAWN, polling=150)
            yield slug, page
            free.append(page)
    context.close()


def serious(page: Any, scheme: str) -> list[str]:
    """What axe finds serious; in the dark only what depends on colours."""
    if not page.evaluate("globalThis.axe !== undefined"):
        page.evaluate(AXE)
    return [
        f"{rule['id']}: {node['html'][:160]}"
        for rule in page.evaluate(SCHEMES[scheme])["violations"]
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ]


def disordered(page: Any) -> list[str]:
    """Headings that skip a level; folds and charts without a name."""
    told = page.evaluate(OUTLINE)
    levels = told["headings"]
    in_order = levels.count(1) == 1 == levels[0] and all(
        after <= before + 1 for before, after in pairwise(levels)
    )
    wrong = [f"{told[name]} {name}" for name in ("nameless", "marks", "charts") if told[name]]
    return wrong if in_order else [f"headings {levels}", *wrong]


def saved_charts(page: Any, folder: Path, every: bool) -> list[Chart]:
    """The first `MOST` charts; `every` one, or the first of each kind, is saved by its tool bar if it has a name."""
    page.wait_for_function(READY)
    charts, kinds = [], set()
    for at, told in enumerate(page.evaluate(CHARTS)[:MOST]):
        charts.append(Chart(told))
        if not told["whose"] or (told["kind"] in kinds and not every):
            continue
        kinds.add(told["kind"])
        with page.expect_download() as waiting:
            page.evaluate(SAVE, at)
        path = folder / "chart.png"
        waiting.value.save_as(path)
        with Image.open(path) as image:
            above = np.asarray(image.convert("L"))[: round(40 * image.width / (told["wide"] + 32))]
        charts[-1] = Chart(told, waiting.value.suggested_filename, int(above.max()) - int(above.min()))
    return charts


def darkened(page: Any) -> None:
    """The page at night, in other colours at once."""
    page.emulate_media(color_scheme="dark")
    settle(page)
    page.wait_for_function(FADED)


def met(browser: Any, url: str, folder: Path) -> list[Met]:
    """All pages, each opened once: judged and its charts saved by day, judged again at night."""
    seen = []
    for slug, page in walk(browser, url, "light"):
        wrong = {"light": serious(page, "light") + disordered(page)}
        charts = saved_charts(page, folder, every=False)
        darkened(page)
        wrong["dark"] = serious(page, "dark") + disordered(page)
        page.emulate_media(color_scheme="light")
        seen.append(Met(slug, wrong, charts))
    return seen
