"""The canvas in a real browser: what is drawn by finger or mouse arrives in Python as the text of a doodle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sampling import sampled
from small_app import Visitor

from core.data import doodles
from viz.instruments.sketch.sketch import BLANK

APP = """
import streamlit as st
from core.data import doodles
from viz.instruments import sketch

st.session_state.setdefault("kept", "")
keep = lambda text: st.session_state.update(kept=text)
text = sketch(st.session_state.kept, {"fish": doodles.as_text(doodles.example("fish")), "<b>": doodles.as_text(doodles.example("cat"))}, key="s", title="Your doodle", on_stroke=keep)
st.text("read " + text)
st.text("kept " + (st.session_state.kept or text))
"""
CROSS = ([(0.3, 0.2), (0.3, 0.8)], [(0.1, 0.5), (0.5, 0.5)])


def doodle(seen: Any, was: str = BLANK) -> str:
    """The text that Python read, once it is another than it `was`; what was kept of it is the same."""
    seen.page.wait_for_function(
        """(was) => {
            const [read, kept] = [...document.querySelectorAll('[data-testid=stText]')].map((text) => text.innerText.slice(5));
            return read !== undefined && read !== was && read === kept;
        }""",
        arg=was,
    )
    return seen.page.get_by_test_id("stText").first.inner_text().removeprefix("read ")


def place(seen: Any, x: float, y: float) -> dict[str, float]:
    box = seen.page.locator(".pane canvas").bounding_box()
    return {"x": box["x"] + x * box["width"], "y": box["y"] + y * box["height"]}


def by_finger(seen: Any, line: list[tuple[float, float]]) -> None:
    session = seen.page.context.new_cdp_session(seen.page)
    (x0, y0), (x1, y1) = line

    def send(kind: str, points: list[dict[str, float]]) -> None:
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    send("touchStart", [place(seen, x0, y0)])
    for i in range(1, 9):
        send("touchMove", [place(seen, x0 + (x1 - x0) * i / 8, y0 + (y1 - y0) * i / 8)])
    send("touchEnd", [])


def test_a_doodle_drawn_by_touch_arrives_as_the_text_that_python_reads(visit: Visitor) -> None:
    seen = visit("", width=390, has_touch=True)
    assert seen.page.get_by_text("Draw here").is_visible() and seen.width() <= 390
    by_finger(seen, CROSS[0])
    one = doodle(seen)
    by_finger(seen, CROSS[1])
    both = doodle(seen, one)
    pixels, ideal = doodles.from_text(both), doodles.from_strokes(CROSS)
    assert abs(pixels.astype(int) - ideal).mean() < 3, "scaled and centred as the strokes themselves are"
    shown = seen.page.locator(".read canvas").evaluate(
        "(c) => [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data].filter((_, i) => i % 4 === 0)"
    )
    side = int(len(shown) ** 0.5)
    middle = (np.arange(28) * side // 28) + side // 56
    assert (np.reshape(shown, (side, side))[np.ix_(middle, middle)] == pixels).all(), (
        "what is shown is what is read"
    )
    assert seen.page.evaluate("scrollY") == 0, "drawing does not scroll"


@pytest.mark.slow
def test_undo_redo_clear_and_a_sample_to_draw_on(visit: Visitor) -> None:
    seen = visit("")

    def press(name: str) -> None:
        seen.page.get_by_role("button", name=name, exact=True).click()

    seen.page.get_by_role("button", name="fish").focus()
    seen.page.keyboard.press("Enter")
    fish = doodle(seen)
    assert (doodles.from_text(fish) == doodles.example("fish")).all()
    seen.page.mouse.move(*place(seen, 0.1, 0.1).values())
    seen.page.mouse.down()
    seen.page.mouse.move(*place(seen, 0.9, 0.1).values(), steps=5)
    seen.page.mouse.up()
    more = doodle(seen, fish)
    pixels = doodles.from_text(more)
    assert (pixels[8:] == doodles.example("fish")[8:]).all() and pixels[2, 5:24].min() > 100
    seen.page.locator(".pane").focus()
    seen.page.keyboard.press("Control+z")
    assert doodle(seen, more) == fish
    press("Undo")
    assert doodle(seen, fish) == BLANK and seen.page.get_by_role("button", name="Undo").is_disabled()
    press("Redo")
    assert doodle(seen) == fish
    press("Clear")
    assert doodle(seen, fish) == BLANK and seen.page.get_by_text("Draw here").is_visible()
    assert seen.page.locator(".samples b").count() == 0


@pytest.mark.slow
@pytest.mark.parametrize("scheme", sampled(["dark", "light"]))
def test_a_click_is_a_dot_and_nothing_is_lost_between_quick_strokes(visit: Visitor, scheme: str) -> None:
    seen = visit("", scheme=scheme)
    assert seen.attribute("mode") == scheme
    for x in (0.2, 0.4, 0.6, 0.8):
        seen.page.mouse.click(*place(seen, x, 0.5).values())
    dots, text = 0, BLANK
    while dots < 4:
        text = doodle(seen, text)
        row = np.pad(doodles.from_text(text)[13] > 60, 1).astype(int)
        dots = int((np.diff(row) == 1).sum())
    assert dots == 4
