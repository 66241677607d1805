"""A walk through all pages of the app: what axe finds in each by day and by night, how it is laid out, what its charts save."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from settling import asked, settle

from viz.shell import pages

AXE = (Path(__file__).parent / "axe.min.js").read_text("utf-8")
SCHEMES: dict[str, dict[str, Any]] = {"light": {}, "dark": {"runOnly": ["color-contrast"]}}
"""By day axe judges everything, at night only what depends on colours."""
JUDGED = """([parts, how]) => axe.run({ ...(parts.length && { include: parts }), exclude: ["[data-testid=stToast]"] }, { iframes: false, resultTypes: ["violations"], ...how })"""
"""Streamlit gives a toast, which says that a model is being opened, no name."""
GO = "(address) => { history.pushState({}, '', address); dispatchEvent(new PopStateEvent('popstate')); }"
BEATS = "your_model"
"""It asks each second while heads are surveyed behind it; what it asks once one has left within the app nobody answers, and a page that waits for it never rests."""
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
  unfilled: [...document.querySelectorAll("p, li, td, th, label, summary, button, h1, h2, h3, text")].filter((e) => !e.closest(".katex, pre, code")).map((e) =>
    [...e.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data).join(" ")).filter((words) => /\\{[A-Za-z_]+([.[][^{}\\s]*)?\\}/.test(words)).length,
})"""
LIT = (
    """(scheme) => getComputedStyle(document.querySelector('[data-testid="stApp"]')).colorScheme === scheme"""
)
"""Streamlit hears of it some frames after the browser."""
FADED = """() => {
  const faded = (root) => !root.getAnimations().some((one) => one instanceof CSSTransition) && [...root.querySelectorAll("*")].every((e) => !e.shadowRoot || faded(e.shadowRoot));
  return faded(document);
}"""
"""Colours change in a while, those of instruments too, which a document does not count among its own."""

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


EVERY = 20


def some_pages() -> list[pages.Entry]:
    """Return every twentieth page, and the first of them; all pages are walked in the long tests."""
    return pages.discover()[::EVERY]


def go(page: Any, address: str) -> None:
    """Go to an address within the app, as the button Back of a browser does; the page has asked for it then."""
    before = asked(page)
    page.evaluate(GO, address)
    page.wait_for_function("(before) => wire.asked > before", arg=before)


def walk(
    browser: Any, url: str, scheme: str, anew: bool = False, entries: Sequence[pages.Entry] = ()
) -> Iterator[tuple[str, Any]]:
    """Draw the pages of `entries`, or every page: gone to within the app, as the button Back of a browser does, or each loaded `anew`."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    left = None
    for entry in entries or pages.discover():
        if anew or left in (None, BEATS):
            page.goto(url + entry.address, wait_until="commit")
        else:
            go(page, entry.address)
        settle(page)
        page.wait_for_function(DRAWN, polling=150)
        yield entry.slug, page
        left = entry.slug
    context.close()


def serious(page: Any, scheme: str, parts: Sequence[str] = ()) -> list[str]:
    """Return the serious findings of axe in these parts of a page, or in all of it; in the dark only those on colours."""
    if not page.evaluate("globalThis.axe !== undefined"):
        page.evaluate(AXE)
    return [
        f"{rule['id']}: {node['html'][:160]}"
        for rule in page.evaluate(JUDGED, [list(parts), SCHEMES[scheme]])["violations"]
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ]


FOCUSED = """() => {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  if (!at || at === document.body) return null;
  const ring = (e) => { const s = getComputedStyle(e); return (s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 1.5) || s.boxShadow !== "none"; };
  const shown = [at];
  for (let e = at, i = 0; i < 4 && e.parentElement; i++) shown.push(e = e.parentElement);   // a hidden input: its label or thumb shows the ring
  const hidden = at.matches("input, textarea, canvas, [data-testid=stDataFrame] *") || at.getBoundingClientRect().width < 4;
  const name = `${at.localName}.${at.className} ${at.getAttribute("aria-label") ?? at.textContent.slice(0, 40)}`;
  return [name, hidden ? shown.some((e) => ring(e) || [...e.children].some(ring)) || at.matches("input:not([type=range]), textarea") : ring(at)];
}"""


def shows_focus(page: Any) -> set[str]:
    """Walk by the Tab key: each place that has the focus shows it; their names."""
    seen: dict[str, bool] = {}
    for _ in range(70):
        page.keyboard.press("Tab")
        at = page.evaluate(FOCUSED)
        if at is not None:
            seen[at[0]] = at[1]
    assert len(seen) > 12 and [name for name, shown in seen.items() if not shown] == []
    return {*seen}


def fits_sideways(page: Any, width: int) -> None:
    """Nothing scrolls sideways in a window so wide, and every instrument has a name."""
    assert page.evaluate(
        "[document.documentElement.scrollWidth, document.querySelector('[data-testid=stMain]').scrollWidth]"
    ) == [width, width]
    boxes = [instrument.bounding_box() for instrument in page.locator(".atlas[data-mode]").all()]
    assert boxes and all(box["x"] >= 0 and box["x"] + box["width"] <= width for box in boxes)
    for place in page.locator(".atlas [role=application], .atlas [role=img], .atlas [role=group]").all():
        assert place.get_attribute("aria-label") or place.get_attribute("aria-labelledby"), place.evaluate(
            "(e) => e.outerHTML.slice(0, 200)"
        )


def lists_keys(page: Any) -> None:
    """A question mark opens the list of keys, behind which nothing moves, and Escape shuts it."""
    keys, before = page.locator("dialog[data-keys]"), page.url
    assert not keys.is_visible()
    page.keyboard.press("?")
    assert keys.is_visible()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("r")
    settle(page)
    assert page.url == before and keys.is_visible(), "behind the list nothing moves"
    page.keyboard.press("Escape")
    assert not keys.is_visible()


def disordered(page: Any) -> list[str]:
    """Headings that skip a level; folds and charts without a name; placeholders that nothing filled in."""
    told = page.evaluate(OUTLINE)
    levels = told["headings"]
    in_order = levels.count(1) == 1 == levels[0] and all(
        after <= before + 1 for before, after in pairwise(levels)
    )
    wrong = [f"{told[name]} {name}" for name in ("nameless", "marks", "charts", "unfilled") if told[name]]
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


def lit(page: Any, scheme: str) -> None:
    """The page by day or at night, its colours as they stay."""
    page.emulate_media(color_scheme=scheme)
    page.wait_for_function(LIT, arg=scheme)
    settle(page)
    page.wait_for_function(FADED)


def met(browser: Any, url: str, folder: Path) -> list[Met]:
    """Draw every twentieth page once: judged by day and its charts saved, judged at night; as one was left, the next is drawn."""
    seen, schemes = [], [*SCHEMES]
    for slug, page in walk(browser, url, schemes[0], entries=some_pages()):
        wrong: dict[str, list[str]] = {}
        charts: list[Chart] = []
        for scheme in schemes:
            lit(page, scheme)
            wrong[scheme] = serious(page, scheme) + disordered(page)
            if scheme == "light":
                charts = saved_charts(page, folder, every=False)
        schemes.reverse()
        seen.append(Met(slug, wrong, charts))
    return seen


def open_room(page: Any, url: str) -> str:
    """Open a lecture room and return its code."""
    page.goto(f"{url}/lecture_room")
    settle(page)
    page.get_by_role("button", name="Open a room").click()
    return page.locator(".room-bar[data-live] b").inner_text().replace(" ", "")
