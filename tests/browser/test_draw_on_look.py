"""Look at a picture on a phone: what a finger draws is told to be something, and its map is shown."""

from __future__ import annotations

from itertools import pairwise
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from settling import settle

import core
from core.data import doodles
from core.maths import softmax
from viz.labels import percent

MODEL = "vit-doodles"
DIAMOND = (
    [(0.5, 0.9), (0.1, 0.35), (0.3, 0.1), (0.7, 0.1), (0.9, 0.35), (0.5, 0.9)],
    [(0.1, 0.35), (0.9, 0.35)],
)
"""Strokes: parts of the canvas from the left and from above."""


@pytest.fixture
def phone(new_page: Any) -> Any:
    return new_page(levels=(), viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)


def drawn(page: Any, line: list[tuple[float, float]]) -> None:
    """One stroke of a finger."""
    pane, session = page.locator(".sketch .pane canvas"), page.context.new_cdp_session(page)
    pane.scroll_into_view_if_needed()
    box = pane.bounding_box()

    def send(kind: str, *points: tuple[float, float]) -> None:
        touched = [{"x": box["x"] + x * box["width"], "y": box["y"] + y * box["height"]} for x, y in points]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touched})

    send("touchStart", line[0])
    for (x0, y0), (x1, y1) in pairwise(line):
        for i in range(1, 7):
            send("touchMove", (x0 + (x1 - x0) * i / 6, y0 + (y1 - y0) * i / 6))
    send("touchEnd")


def linked(page: Any) -> str:
    """The drawing in the link."""
    return parse_qs(urlsplit(page.url).query).get("text", [""])[0]


@pytest.mark.slow
def test_a_doodle_drawn_by_a_finger_is_told_and_its_map_is_shown(phone: Any, app_url: str) -> None:
    phone.goto(app_url)
    settle(phone)
    phone.get_by_text("Look at a picture", exact=True).tap()
    phone.locator(".sketch").wait_for()
    settle(phone)
    phone.locator(".sketch").get_by_role("button", name="Clear").tap()
    settle(phone)
    for line in DIAMOND:
        was = linked(phone)
        drawn(phone, line)
        phone.wait_for_function("(was) => new URL(location).searchParams.get('text') !== was", arg=was)
    settle(phone)
    text = linked(phone)
    assert doodles.from_text(text).any() and doodles.from_text(text).shape == (28, 28)
    run = core.open_model(MODEL).run(text)
    chances = softmax(run.classes)
    told = f"{run.model.config.classes[int(chances.argmax())]} {percent(float(chances.max()))}"
    assert phone.get_by_text("classifies the picture").locator("strong").inner_text() == told
    layer, head = phone.locator(".picture .title").inner_text().removeprefix("L").split(".H")
    row = run.attention("self").weights[int(layer), int(head), 0]
    shown = phone.locator(".picture .key").evaluate_all("keys => keys.map(key => Number(key.dataset.weight))")
    assert shown == pytest.approx(row.tolist(), abs=1.5e-3), "each patch has the weight that the run gives it"
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    assert phone.evaluate("(document.querySelector('[data-testid=stMain]') ?? document.body).scrollTop") < 300
