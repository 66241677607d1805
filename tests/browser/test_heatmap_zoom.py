"""The heatmap where its cells are many or the window small: zoom, the overview and its brush, a finger."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect
from settling import drag, settle
from test_heatmap import APP as APP
from test_heatmap import Seen as Seen
from test_heatmap import entropy, head

SCROLLED = "document.querySelector('[data-testid=stMain]').scrollTop"


def turn(seen: Any, by: int) -> None:
    """A turn of the wheel that the heatmap answers."""
    before = seen.state("zoom") or ""
    seen.page.mouse.wheel(0, by)
    expect(seen.atlas).not_to_have_attribute("data-zoom", before)


@pytest.mark.slow
def test_wheel_zooms_only_with_focus_or_control(visit: Any) -> None:
    seen = visit("lenses&n=64", height=700)
    seen.hover(20, 20)
    seen.page.mouse.wheel(0, 200)  # an ordinary turn of the wheel scrolls the page
    most = "document.querySelector('[data-testid=stMain]')"
    seen.page.wait_for_function(
        f"(to) => {SCROLLED} === Math.min(to, {most}.scrollHeight - {most}.clientHeight)", arg=200
    )
    assert seen.zoom() == 1 and seen.page.evaluate(SCROLLED) > 50
    seen.page.evaluate(f"() => {{ {SCROLLED} = 0 }}")
    settle(seen.page)
    seen.hover(20, 20)
    seen.page.keyboard.down("Control")
    turn(seen, -100)
    seen.page.keyboard.up("Control")
    assert seen.zoom() > 2
    seen.frame.focus()
    bigger, there = seen.zoom(), seen.page.evaluate(SCROLLED)
    turn(seen, -100)
    assert seen.zoom() > bigger and seen.page.evaluate(SCROLLED) == there
    turn(seen, 3000)
    assert seen.zoom() == 1
    seen.page.mouse.wheel(0, 300)  # nothing left to gain: the page has its wheel back
    seen.page.wait_for_function(f"(least) => {SCROLLED} > least", arg=there + 50)


@pytest.mark.slow
def test_zoom_keeps_the_cell_under_the_pointer_and_walking_scrolls_along(visit: Any) -> None:
    seen = visit("lenses&n=64")
    assert not seen.button("Numbers").is_visible(), "nobody reads so many"
    x, y = seen.at(40, 30)
    seen.page.mouse.move(x, y)
    assert seen.state("hover") == "40,30"
    before = seen.pane.bounding_box()
    seen.page.keyboard.down("Control")
    for _ in range(3):
        turn(seen, -40)
    seen.page.keyboard.up("Control")
    seen.page.mouse.move(x + 1, y)
    assert seen.state("hover") == "40,30"
    after = seen.pane.bounding_box()
    assert (after["x"], after["y"]) == (before["x"], before["y"])
    assert seen.atlas.locator(".scroller").evaluate("(s) => s.scrollTop") > 50
    seen.page.mouse.move(2, 2)
    seen.frame.focus()
    seen.press(*"++++")
    assert seen.zoom() > 4
    seen.press("ArrowDown", "Control+End")
    settle(seen.page)
    assert seen.state("hover") == "63,63" and seen.tip.is_visible()
    seen.press("ArrowUp")
    settle(seen.page)
    assert seen.state("hover") == "62,63"
    seen.press("0")
    assert seen.zoom() == 1


@pytest.mark.slow
def test_two_fingers_zoom_one_scrolls_the_page_and_a_tap_replaces_hover(visit: Any) -> None:
    seen = visit("lenses&n=24", width=390, height=700, has_touch=True)
    seen.pane.scroll_into_view_if_needed()
    x, y = seen.at(10, 10)
    touch = seen.page.context.new_cdp_session(seen.page)

    def fingers(kind: str, *apart: float) -> None:
        points = [{"x": x + d, "y": y, "id": i} for i, d in enumerate(apart)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    fingers("touchStart", -20, 20)
    for d in (25, 35, 50, 60):
        fingers("touchMove", -d, d)
    fingers("touchEnd")
    assert 2 < seen.zoom() < 3.5
    assert seen.pane.evaluate("(p) => getComputedStyle(p).touchAction") == "pan-x pan-y"
    seen = visit("lenses", width=390, height=800, has_touch=True)
    seen.page.touchscreen.tap(*seen.at(2, 1))
    seen.says("chosen (2, 1)")
    assert seen.state("hover") == "2,1" and seen.tip.is_visible()
    seen.page.touchscreen.tap(*seen.at(4, -1))
    assert seen.state("hover") == "4,-1"


def by(place: dict[str, float], off: float, right: float = 0, down: float = 0) -> tuple[float, float]:
    """A place within a box, moved."""
    return place["x"] + off + right, place["y"] + off + down


def test_a_long_text_opens_a_window_and_its_brush_is_dragged_resized_and_steered(visit: Any) -> None:
    _, weights, _, _ = head(300)
    seen = visit("lenses&n=300")
    assert seen.window() == [[0, 31], [0, 31]]
    said, overview = seen.atlas.locator(".said"), seen.atlas.locator(".overview")
    assert said.get_attribute("role") == "status"
    assert said.inner_text().split("; ") == [f"{side} 0–31, She to white" for side in ("query", "key")]
    assert overview.is_visible() and "2 \u00d7 2 cells" in overview.inner_text()
    before, box = len(seen.sent), seen.brush.bounding_box()
    drag(seen.page, by(box, 8), by(box, 8, 80, 40))
    (top, _), (left, _) = seen.window()
    assert (top, left) == (50, 100)  # 240 pixels are 300 tokens
    seen.hover(3, 4)
    assert seen.state("hover") == "53,104"
    assert seen.numbers("weight")[0] == pytest.approx(weights[53, 104], abs=5e-4)
    assert seen.numbers("entropy")[0] == pytest.approx(entropy(weights[53]), abs=0.2)  # of the whole row
    corner = seen.atlas.locator(".handle").bounding_box()
    drag(seen.page, by(corner, 12), by(corner, 12, 40, 16))
    assert seen.window() == [[50, 101], [100, 181]]
    seen.brush.focus()
    for key, window in (
        ("ArrowDown", [[63, 114], [100, 181]]),
        ("Shift+ArrowLeft", [[63, 114], [100, 173]]),
        ("End", [[248, 299], [226, 299]]),
        ("Home", [[0, 51], [0, 73]]),
    ):
        seen.press(key)
        assert seen.window() == window, key
    assert "query 0\u201351" in seen.brush.get_attribute("aria-label")
    field = seen.atlas.locator(".field").bounding_box()
    seen.page.mouse.click(*by(field, 0, 200, 120))  # elsewhere: the window comes there
    assert seen.window() == [[124, 175], [213, 286]]
    assert len(seen.sent) == before


@pytest.mark.slow
def test_a_cell_of_a_window_is_a_cell_of_the_text(visit: Any) -> None:
    seen = visit("lenses&n=300")
    seen.brush.focus()
    seen.press("End")
    seen.page.mouse.click(*seen.at(31, 30))
    seen.says("chosen (299, 298)")
    assert seen.window() == [[268, 299], [268, 299]]
    seen.frame.focus()
    seen.press("Control+Home", "ArrowUp", "ArrowUp")  # over the edge of the window: it comes along
    assert seen.state("hover") == "266,268" and seen.window()[0] == [266, 297]


@pytest.mark.slow
@pytest.mark.parametrize("n", [512, 1024])
def test_very_long_texts_stay_usable(visit: Any, n: int) -> None:
    seen = visit(f"lenses&causal&n={n}")
    assert seen.window() == [[0, 31 if n == 512 else 47]] * 2
    seen.brush.focus()
    took = seen.brush.evaluate(
        """async (brush) => {
            const times = [];
            for (let i = 0; i < 15; i++) {
                const start = performance.now();
                brush.dispatchEvent(new KeyboardEvent('keydown', { key: i % 5 ? 'ArrowDown' : 'ArrowRight', bubbles: true }));
                times.push(performance.now() - start);
                await new Promise(requestAnimationFrame);
            }
            return Math.min(...times);
        }"""
    )
    print(f"a step of the window over {n} tokens: {took:.1f} ms")
    assert took <= 100
    assert seen.window() != [[0, 31]] * 2


@pytest.mark.slow
def test_a_small_brush_is_dragged_too(visit: Any) -> None:
    seen = visit("lenses&n=1000")
    box = seen.brush.bounding_box()
    assert box["width"] < 12
    drag(seen.page, by(box, 7), by(box, 7, 48, 24))
    assert seen.window() == [[100, 147], [200, 247]]  # 240 pixels are 1000 tokens
    corner = seen.atlas.locator(".handle").bounding_box()
    drag(seen.page, by(corner, 8), by(corner, 8, 12))
    assert seen.window() == [[100, 147], [200, 297]]


@pytest.mark.slow
@pytest.mark.parametrize("query", ["lenses&n=300", "odd", "tall&n=200"])
def test_a_phone_needs_no_sideways_scroll(visit: Any, query: str) -> None:
    seen = visit(query, width=390, height=700, has_touch=True)
    assert seen.width() <= 390
    parts = seen.page.locator(".atlas :is(.tools, .frame, .legend, .field, .handle)")
    assert parts.evaluate_all("(all) => Math.max(...all.map((e) => e.getBoundingClientRect().right))") <= 391
    small = "(all) => all.filter((e) => e.offsetParent).map((e) => Math.min(e.offsetWidth, e.offsetHeight))"
    assert min(seen.atlas.locator("button").evaluate_all(small), default=24) >= 24
    if query == "tall&n=200":
        assert seen.window() == [[0, 31], [0, 4]]


GROUNDS = """(unit) => {
  const pen = CanvasRenderingContext2D.prototype, rect = pen.fillRect;
  window.grounds = [];
  pen.fillRect = function (...box) { grounds.push([box[3], this.getTransform().b !== 0]); return rect.apply(this, box); };
}"""


@pytest.mark.slow
def test_the_label_of_a_marked_column_leaves_its_neighbours_readable(visit: Any) -> None:
    seen = visit("lenses&n=14", width=520)
    unit = seen.numbers("place")[2]
    assert 17 <= unit < 28, "labels that are all written, and close together"
    seen.page.evaluate(GROUNDS)
    seen.hover(3, 6)
    seen.page.wait_for_function("grounds.some(([, slanted]) => slanted)")
    turned = [height for height, slanted in seen.page.evaluate("grounds") if slanted]
    assert max(turned) <= unit * 0.7072 + 0.01, "no ground is wider than the lane between two slanted labels"


@pytest.mark.slow
@pytest.mark.parametrize("n", [128, 12])
def test_hover_costs_less_than_a_frame(visit: Any, n: int) -> None:
    seen = visit(f"lenses&n={n}")
    assert not seen.atlas.locator(".overview").is_visible(), "all of it is in sight"
    took = seen.pane.evaluate(
        """(pane, [left, top, unit]) => {
            const box = pane.getBoundingClientRect(), times = [];
            for (let i = 0; i < 30; i++) {
                const start = performance.now();
                pane.dispatchEvent(new PointerEvent('pointermove', { bubbles: true, pointerType: 'mouse',
                    clientX: box.x + left + (i % 12 + 0.5) * unit, clientY: box.y + top + (11.5 - i % 11) * unit }));
                times.push(performance.now() - start);
            }
            return Math.min(...times);
        }""",
        seen.numbers("place"),
    )
    print(f"hover over {n} tokens: {took:.1f} ms")
    assert took <= 16
