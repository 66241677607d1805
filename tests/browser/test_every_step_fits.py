"""In Present every step of every exhibit is on the screen as a whole, at every size of a projector, and however Present was reached."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from every_page import go, open_room
from playwright.sync_api import TimeoutError as PlaywrightTimeout
from sampling import sampled
from settling import settle
from walked_steps import halves

from viz.shell import pages
from viz.workspace.shared import toolbar

PROJECTOR = (1920, 1080)
OTHERS = ((1280, 720), (1366, 768), (1440, 900), (2560, 1440))
CUT_OFF = (Path(__file__).parent / "cut_off.js").read_text("utf-8")
LAYOUT = """() => [Number(document.documentElement.style.getPropertyValue("--atlas-room")),
  document.querySelector(".st-key-atlas-page").offsetHeight,
  ...[...document.querySelectorAll("svg.marks, .main-svg")].map((chart) => chart.getBoundingClientRect().width)]"""
"""The scale of the page, its height before it is enlarged, and the widths of its charts."""
SLACK = 2
"""Pixels by which two layouts may differ; browsers round."""
FIFTH = 5
REMAINS = 20_000
"""Milliseconds after which what is cut off remains so."""


def _resize(page: Any, window: tuple[int, int]) -> None:
    page.set_viewport_size({"width": window[0], "height": window[1]})
    settle(page)


def _has_scale(page: Any, scale: float) -> None:
    """Assert this size of the page; it is sought some frames after the window has changed."""
    with suppress(PlaywrightTimeout):
        page.wait_for_function(
            f"(scale) => Math.abs(({LAYOUT})()[0] - scale) < 0.001", arg=scale, timeout=REMAINS
        )
    assert page.evaluate(LAYOUT)[0] == pytest.approx(scale)


def _has_layout(page: Any, layout: list[float], how: str) -> None:
    """Assert this layout of the page; a chart is drawn again some frames after its frame has changed."""
    settle(page)
    with suppress(PlaywrightTimeout):
        page.wait_for_function(
            f"([layout, slack]) => {{ const seen = ({LAYOUT})(); return seen.length === layout.length && seen.every((value, at) => Math.abs(value - layout[at]) <= slack); }}",
            arg=[layout, SLACK],
            timeout=REMAINS,
        )
    assert page.evaluate(LAYOUT) == pytest.approx(layout, abs=SLACK), how


def _steps(*exhibits: pages.Entry) -> list[tuple[pages.Entry, int]]:
    """Return the steps of these exhibits, or of all."""
    return [
        (entry, step)
        for entry in exhibits or pages.exhibits()
        for step in range(1, max(1, len(entry.steps)) + 1)
    ]


def _cut_off(
    page: Any,
    app_url: str,
    steps: list[tuple[pages.Entry, int]],
    windows: list[tuple[tuple[int, int], ...]],
    before: Callable[[Any], None] = lambda page: None,
) -> dict[str, list[str]]:
    """Return what is cut off, by step and window; one load in the first window, then the next step by the right arrow key, another one by its address.

    `before` does something with each step before it is looked at.
    """
    cut, following = {}, set(pairwise((entry.slug, step) for entry, step in _steps()))
    for at, ((entry, step), sizes) in enumerate(zip(steps, windows, strict=True)):
        page.set_viewport_size({"width": sizes[0][0], "height": sizes[0][1]})
        link = f"/{entry.slug}?{entry.slug}.step={step}&present=1"
        last = (steps[at - 1][0].slug, steps[at - 1][1])
        if not at:
            page.goto(app_url + link)
        elif (last, (entry.slug, step)) in following:
            page.keyboard.press("ArrowRight")
            page.wait_for_function(
                "([slug, step]) => location.pathname.endsWith('/' + slug) && (step === '1' || new URLSearchParams(location.search).get(`${slug}.step`) === step)",
                arg=[entry.slug, str(step)],
            )
        else:
            go(page, link)
        settle(page)
        before(page)
        for size in sizes:
            if page.viewport_size != {"width": size[0], "height": size[1]}:
                _resize(page, size)
            if found := _still_cut_off(page):
                cut[f"{entry.slug} {step} at {size[0]} x {size[1]}"] = found
    return cut


def _still_cut_off(page: Any) -> list[str]:
    """Return what is cut off and remains so; a page at rest may await an instrument whose script is being imported."""
    cut = page.evaluate(CUT_OFF)
    if cut:
        with suppress(PlaywrightTimeout):
            page.wait_for_function(f"() => !({CUT_OFF})().length", polling=100, timeout=REMAINS)
        cut = page.evaluate(CUT_OFF)
    return cut


def test_every_other_step_is_whole_on_a_projector(visitor: Any, app_url: str) -> None:
    steps, _ = halves()
    assert _cut_off(visitor, app_url, steps, [(PROJECTOR,)] * len(steps)) == {}


@pytest.mark.slow
def test_every_step_is_whole_on_a_projector_and_a_fifth_when_the_window_changes(
    visitor: Any, app_url: str
) -> None:
    steps = _steps()
    windows = [
        (PROJECTOR, OTHERS[at // FIFTH % len(OTHERS)], PROJECTOR) if at % FIFTH == 0 else (PROJECTOR,)
        for at in range(len(steps))
    ]
    assert _cut_off(visitor, app_url, steps, windows) == {}


@pytest.mark.slow
@pytest.mark.parametrize("window", OTHERS, ids=str)
def test_every_step_is_whole_at_the_other_sizes(visitor: Any, app_url: str, window: tuple[int, int]) -> None:
    steps = _steps()
    assert _cut_off(visitor, app_url, steps, [(window,)] * len(steps)) == {}


def _is_whole(page: Any, url: str) -> None:
    """Assert that a page is whole in the smallest window, and when the window is enlarged to a projector's."""
    page.set_viewport_size({"width": OTHERS[0][0], "height": OTHERS[0][1]})
    page.goto(url)
    settle(page)
    for window in (OTHERS[0], PROJECTOR):
        _resize(page, window)
        cut = _still_cut_off(page)
        assert not cut, f"{page.evaluate(LAYOUT)} in {page.viewport_size}: {cut}"


WORKSPACE = ("", "decode", *toolbar.TOOLS)
"""The pages with a picture on which one works freely; the others are lists to read, and a list may be longer than a wall."""


@pytest.mark.quick(4)
@pytest.mark.parametrize("slug", WORKSPACE)
def test_a_page_of_the_workspace_is_whole_in_the_smallest_window_and_on_a_projector(
    visitor: Any, app_url: str, slug: str
) -> None:
    _is_whole(visitor, f"{app_url}/{slug}?present=1")


VIEWS = (
    "?view=heads",
    "?model=vit-doodles",
    "decode?decode.n=12",
    "decode?decode.beam=3&decode.n=6",
    "decode?decode.show=Prompts",
    "decode?decode.show=Training and inference",
    "find?find.by=kinds",
    "find?find.by=sketch",
    "figures?figures.figure=special",
    "importance?importance.by=many",
    "importance?importance.by=words",
    "many_texts?many_texts.by=heads",
    "many_texts?many_texts.by=patterns",
    "compare?compare.panes=gpt-mini~causal~0.0|gpt-mini~causal~1.3|gpt-mini~causal~3.1|gpt-mini~causal~4.3",
)
"""Pages of the workspace in a view other than the one that they open with."""


@pytest.mark.slow
@pytest.mark.parametrize("address", VIEWS)
def test_a_view_of_the_workspace_is_whole_in_the_smallest_window_and_on_a_projector(
    visitor: Any, app_url: str, address: str
) -> None:
    _is_whole(visitor, f"{app_url}/{address}&present=1")


@pytest.mark.slow
def test_a_picture_is_as_large_on_a_projector_as_its_place(visitor: Any, app_url: str) -> None:
    visitor.set_viewport_size({"width": PROJECTOR[0], "height": PROJECTOR[1]})
    visitor.goto(f"{app_url}/figures?present=1")
    visitor.locator('[data-testid="stImage"] img').wait_for()
    settle(visitor)
    places = ('[data-testid="stImage"] img', '[data-testid="stElementContainer"]:has(img)')
    drawn, place = (visitor.locator(name).first.bounding_box()["width"] for name in places)
    assert abs(drawn - place) < 2 and place > PROJECTOR[0] / 3


OPEN = '[class*="st-key-asked-"]:not(:has([class*="st-key-verdict-"])) button:enabled'
"""The options of a question that is not answered yet, or the button that commits a number."""


def _answer(page: Any) -> None:
    """Answer every question of a step by its first option, or by the number at which its slider stands; a page answers in its own time."""
    while page.locator(OPEN).count():
        asked = page.locator('[class*="st-key-verdict-"]').count()
        page.locator(OPEN).first.click()
        page.wait_for_function(
            "(asked) => document.querySelectorAll('[class*=\"st-key-verdict-\"]').length > asked", arg=asked
        )
        settle(page)


@pytest.mark.slow
@pytest.mark.parametrize("entry", pages.exhibits(), ids=attrgetter("slug"))
def test_every_step_is_whole_once_it_is_answered(visitor: Any, app_url: str, entry: pages.Entry) -> None:
    steps = _steps(entry)
    assert _cut_off(visitor, app_url, steps, [(PROJECTOR,)] * len(steps), _answer) == {}


LEFT = """() => { document.querySelector(".st-key-atlas-page").remove(); dispatchEvent(new Event("resize"));
  return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))); }"""
"""The page goes before the next one comes, and the window changes meanwhile."""
CHARTED = ("feed_forward?feed_forward.step=3", "residual_norm?residual_norm.step=2")
"""A step with a Vega chart and one with a Plotly chart, whose ordinary pages are higher than the window."""


@pytest.mark.parametrize("address", sampled(CHARTED))
def test_link_button_and_an_enlarged_window_give_one_layout(visitor: Any, app_url: str, address: str) -> None:
    visitor.set_viewport_size({"width": PROJECTOR[0], "height": PROJECTOR[1]})
    visitor.goto(f"{app_url}/{address}&present=1")
    settle(visitor)
    linked = visitor.evaluate(LAYOUT)
    assert linked[0] == pytest.approx(1.5) and linked[2:], "enlarged to the window, with a chart"
    visitor.goto(f"{app_url}/{address}")
    settle(visitor)
    visitor.get_by_role("button", name="Present", exact=True).click()
    _has_layout(visitor, linked, "by the button")
    _resize(visitor, (1280, 720))
    _has_scale(visitor, 1)
    _resize(visitor, PROJECTOR)
    _has_layout(visitor, linked, "in an enlarged window")
    visitor.evaluate(LEFT)  # an error in the page fails the test


@pytest.mark.slow
def test_the_first_stop_of_a_lesson_has_the_layout_of_its_link(visitor: Any, app_url: str) -> None:
    visitor.set_viewport_size({"width": PROJECTOR[0], "height": PROJECTOR[1]})
    visitor.goto(f"{app_url}/lessons")
    settle(visitor)
    visitor.locator('[class*="st-key-lessons-present-"] button').first.click()
    visitor.wait_for_url("**present=1**")
    settle(visitor)
    begun = visitor.evaluate(LAYOUT)
    visitor.goto(visitor.url)
    _has_layout(visitor, begun, "by its link")


HEIGHTS = """(() => { const main = document.querySelector('[data-testid="stMain"]'); return [main.scrollHeight, main.clientHeight]; })()"""


@pytest.mark.slow
@pytest.mark.parametrize("address", ["?present=1", "decode?present=1"])
def test_a_page_of_the_workspace_fits_above_the_bar_of_a_room(
    visitor: Any, app_url: str, address: str
) -> None:
    open_room(visitor, app_url)
    visitor.set_viewport_size({"width": 1280, "height": 720})
    visitor.goto(f"{app_url}/{address}")
    settle(visitor)
    tall, window = visitor.evaluate(HEIGHTS)
    assert tall <= window + 1
    bar = visitor.locator(".room-bar").bounding_box()
    page = visitor.locator(".st-key-atlas-page").bounding_box()
    assert page["y"] + page["height"] <= bar["y"] + 4, "the bar covers the page"

    visitor.locator(".room-bar").get_by_role("button", name="Ask").click()
    dialog = visitor.get_by_role("dialog")
    dialog.get_by_label("Your question").fill("Which word does it attend to?")
    dialog.locator("textarea").first.fill("yes\n* no\nneither")
    dialog.get_by_role("button", name="Ask", exact=True).click()
    visitor.locator("[data-asked] h2").wait_for()
    settle(visitor)
    tall, window = visitor.evaluate(HEIGHTS)
    assert tall <= window + 1, "an own question moves the picture out of the window"
