"""The heatmap in a real browser: lenses, bars, zoom, overview, links; state is read from data attributes."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect
from settling import settle
from small_app import Visit

DATA = """
import numpy as np

def head(n, causal=False):
    random = np.random.default_rng(n)
    scores = random.normal(size=(n, n)) * 2
    allowed = np.tri(n, dtype=bool) if causal else np.ones((n, n), bool)
    exp = np.exp(scores) * allowed
    return scores, exp / exp.sum(1, keepdims=True), allowed, np.abs(random.normal(size=n)) + .5
"""
APP = (
    DATA
    + """
import streamlit as st
from viz.instruments import heatmap

words = "She has a white car and a red house near the old river .".split()
asked = st.query_params
n, show = int(asked.get("n", 6)), asked.get("show", "lenses")
scores, weights, allowed, sizes = head(n, "causal" in asked)
names = [words[i % len(words)] for i in range(n)]
st.title("Heatmap")
if show == "lenses":
    chosen = heatmap(weights, names, names, key="h", allowed=allowed, scores=scores, values=sizes, title="L2.H5",
                     axis=("reading (query)", "read (key)"), python="heatmap(...)")
    st.text(f"chosen {chosen.cell}")
if show == "sums":
    logs = np.log(np.where(allowed, np.exp(scores), 0).sum(1))
    heatmap(weights, names, names, key="h", allowed=allowed, log_sums=logs)
if show == "linked":
    heatmap(weights, names, names, key="one", group="pair", title="Pattern")
    heatmap(scores, names, names, key="two", scale="score", group="pair", title="Scores")
    heatmap(weights, names, names, key="alone", title="Alone")
if show == "difference":
    heatmap(weights - weights[::-1], names, names, key="d", scale="difference", limit=1.0)
if show == "odd":
    one = weights.copy()
    one[:] = 0
    one[:, 2] = 1
    one[1, 3], one[4, 4] = np.nan, np.inf
    heatmap(one, ["x" * 300, "<b>", "  ", "\\n", *names[4:]], names, key="odd", title="<i>odd</i>")
if show == "lone":
    may = allowed.copy()
    may[2], may[:, 4] = False, False
    heatmap(np.where(may, weights, 0), names, names, key="l", allowed=may, lone=([2], [4]))
if show == "few":
    heatmap(np.zeros((0, 0)), [], [], key="none")
    heatmap([[1.0]], ["only"], ["only"], key="one")
if show == "tall":
    heatmap(weights[:, :5] / weights[:, :5].sum(1, keepdims=True), names, names[:5], key="tall")
for _ in range(30):
    st.text("below")
"""
)
space: dict[str, Any] = {}
exec(DATA, space)
head = space["head"]


class Seen(Visit):
    """One instrument of an open page."""

    tall = 1100

    def __init__(self, page: Any, sent: list[Any] | None = None, which: int = 0) -> None:
        super().__init__(page, [] if sent is None else sent)
        self.atlas = page.locator(".atlas").nth(which)
        self.frame, self.pane, self.tip = (
            self.atlas.locator(f".{name}") for name in ("frame", "pane", "tip")
        )
        self.brush = self.atlas.locator(".brush")

    def other(self, which: int) -> Seen:
        return Seen(self.page, self.sent, which)

    def state(self, name: str) -> str | None:
        return self.atlas.get_attribute(f"data-{name}")

    def place(self) -> tuple[float, float, float]:
        left, top, unit = (float(v) for v in str(self.state("place")).split(","))
        return left, top, unit

    def at(self, row: float, column: float) -> tuple[float, float]:
        """The middle of a cell; -1 is the label of a line."""
        left, top, unit = self.place()
        box = self.pane.bounding_box()
        x = left - 20 if column < 0 else left + (column + 0.5) * unit
        y = top - 10 if row < 0 else top + (row + 0.5) * unit
        return box["x"] + x, box["y"] + y

    def hover(self, row: float, column: float) -> None:
        self.page.mouse.move(*self.at(row, column))

    def button(self, name: str) -> Any:
        return self.atlas.get_by_role("button", name=name, exact=True)

    def zoom(self) -> float:
        return float(str(self.state("zoom")))

    def window(self) -> list[list[int]]:
        return [[int(i) for i in axis.split("-")] for axis in str(self.state("window")).split(",")]


def entropy(row: np.ndarray) -> float:
    row = row[row > 0]
    return float(-(row * np.log2(row)).sum())


# ---------------------------------------------------------------- hover, choice, bars


def test_hover_says_query_key_weight_score_and_both_bars(visit: Any) -> None:
    scores, weights, _, sizes = head(6, causal=True)
    seen = visit("lenses&causal")
    before = len(seen.sent)
    seen.hover(4, 2)
    assert seen.state("hover") == seen.state("emphasis") == "4,2"
    for name, value in (
        ("weight", weights[4, 2]),
        ("score", scores[4, 2]),
        ("contribution", weights[4, 2] * sizes[2]),
    ):
        assert float(seen.state(name)) == pytest.approx(value, rel=1e-5), name
    assert float(seen.state("entropy")) == pytest.approx(entropy(weights[4]), rel=1e-5)
    assert float(seen.state("received")) == pytest.approx(weights[:, 2].sum(), rel=1e-5)
    said = seen.tip.inner_text()
    assert said.startswith("car \u2192 a")
    for words in (
        "weight",
        "score",
        "value-weighted",
        "entropy of this query",
        "of at most 2.32 bits",
        "received by this key",
    ):
        assert words in said
    seen.hover(1, 5)
    assert seen.state("value") == "masked" and "masked" in seen.tip.inner_text()
    settle(seen.page)
    assert len(seen.sent) == before


def test_the_score_stands_beside_a_weight_before_anybody_asks_for_its_lens(visit: Any) -> None:
    scores, weights, _, _ = head(6, causal=True)
    seen = visit("sums&causal")
    seen.hover(4, 2)
    assert float(seen.state("weight")) == pytest.approx(weights[4, 2], rel=1e-5)
    assert float(seen.state("score")) == pytest.approx(scores[4, 2], abs=1e-5)
    assert f"score: {scores[4, 2]:.4f}".replace("-", "\u2212") in (seen.tip.text_content() or "")
    seen.hover(1, 5)
    assert seen.state("value") == "masked" and seen.state("score") is None


def test_the_score_stands_there_in_the_window_of_a_long_text_too(visit: Any) -> None:
    scores, weights, _, _ = head(300)
    seen = visit("sums&n=300")
    row, column = (int(i) for i in np.unravel_index(weights[:30, :30].argmax(), (30, 30)))
    seen.hover(row, column)
    assert seen.state("hover") == f"{row},{column}"
    assert float(seen.state("weight")) == pytest.approx(weights[row, column], rel=1e-2)
    assert float(seen.state("score")) == pytest.approx(scores[row, column], abs=2e-2)


def test_labels_and_bars_are_hovered_too(visit: Any) -> None:
    seen = visit("lenses&n=12")
    left, top, unit = seen.place()
    box = seen.pane.bounding_box()
    seen.hover(3, -1)
    assert seen.state("hover") == "3,-1" and seen.tip.inner_text().startswith("white query 3")
    seen.page.mouse.move(box["x"] + left + 12 * unit + 20, box["y"] + top + 7.5 * unit)  # its entropy
    assert seen.state("hover") == "7,-1" and "bits" in seen.tip.inner_text()
    seen.page.mouse.move(
        box["x"] + left + 8.5 * unit, box["y"] + top + 12 * unit + 15
    )  # what the key receives
    assert seen.state("hover") == "-1,8" and "of all" in seen.tip.inner_text()
    assert seen.state("received") and not seen.state("entropy")


def test_a_click_and_enter_choose_a_cell_for_python(visit: Any) -> None:
    seen = visit("lenses")
    seen.page.mouse.click(*seen.at(4, 3))
    seen.page.get_by_text("chosen (4, 3)").wait_for()
    seen.page.mouse.move(5, 5)
    assert (seen.state("cell"), seen.state("emphasis"), seen.state("hover")) == ("4,3", "4,3", "")
    seen.frame.focus()
    for key in ("ArrowDown", "ArrowDown", "Home", "End", "ArrowLeft", "Enter"):
        seen.page.keyboard.press(key)
    seen.page.get_by_text("chosen (5, 4)").wait_for()


def test_bars_belong_to_rows_that_share_out_one_look(visit: Any) -> None:
    assert visit("lenses").state("margins") == "on"
    seen = visit("difference")
    assert (seen.state("margins"), seen.state("range")) == ("off", "-1,1")
    assert "difference" in seen.atlas.locator(".legend").inner_text()


# ---------------------------------------------------------------- lenses and numbers


def test_lenses_change_the_scale_without_a_message(visit: Any) -> None:
    scores, weights, _, sizes = head(6)
    seen = visit("lenses")
    before, picture = len(seen.sent), "(c) => c.toDataURL()"
    canvas = seen.pane.locator("canvas").first
    pictures = [canvas.evaluate(picture)]
    assert (seen.state("lens"), seen.state("range")) == ("weight", "0,1")
    limit = abs(scores).max()
    for lens, low, high in (("score", -limit, limit), ("value-weighted", 0, (weights * sizes).max())):
        seen.button(lens).click()
        assert [float(v) for v in seen.state("range").split(",")] == pytest.approx([low, high], rel=1e-5)
        assert seen.button(lens).get_attribute("aria-pressed") == "true"
        pictures.append(canvas.evaluate(picture))
    assert len(set(pictures)) == 3
    seen.hover(2, 2)
    assert float(seen.state("value")) == pytest.approx(weights[2, 2] * sizes[2], rel=1e-5)
    seen.button("weight").click()
    assert canvas.evaluate(picture) == pictures[0]
    assert len(seen.sent) == before
    seen.button("score").click()
    seen.page.mouse.click(*seen.at(1, 1))
    seen.page.get_by_text("chosen (1, 1)").wait_for()
    assert seen.state("lens") == "score"  # a run of the page does not take the lens away


def test_only_lenses_with_numbers_are_offered(visit: Any) -> None:
    seen = visit("linked")
    assert seen.atlas.locator(".segment").count() == 0
    assert visit("lenses").atlas.locator(".segment").all_inner_texts() == [
        "weight",
        "score",
        "value-weighted",
    ]


@pytest.mark.parametrize("n", [6, 32])
def test_numbers_are_written_on_wish(visit: Any, n: int) -> None:
    seen = visit(f"lenses&n={n}")
    before = len(seen.sent)
    assert seen.state("numbers") == ""
    seen.button("Numbers").click()
    assert seen.state("numbers") == "written" and seen.place()[2] >= 30
    assert seen.button("Numbers").get_attribute("aria-pressed") == "true"
    seen.button("Numbers").click()
    assert seen.state("numbers") == "" and seen.zoom() == 1
    assert len(seen.sent) == before


def test_above_32_tokens_no_numbers_are_offered(visit: Any) -> None:
    assert not visit("lenses&n=40").button("Numbers").is_visible()


# ---------------------------------------------------------------- zoom


def test_wheel_zooms_only_with_focus_or_control(visit: Any) -> None:
    seen = visit("lenses&n=64", height=700)
    scrolled = "() => document.querySelector('[data-testid=stMain]').scrollTop"
    arrived = "(to) => { const main = document.querySelector('[data-testid=stMain]'); return main.scrollTop === Math.min(to, main.scrollHeight - main.clientHeight); }"

    def turn(by: int) -> None:
        """A turn of the wheel that the heatmap answers."""
        before = seen.state("zoom") or ""
        seen.page.mouse.wheel(0, by)
        expect(seen.atlas).not_to_have_attribute("data-zoom", before)

    seen.hover(20, 20)
    seen.page.mouse.wheel(0, 200)  # an ordinary turn of the wheel scrolls the page
    seen.page.wait_for_function(arrived, arg=200)
    assert seen.zoom() == 1 and seen.page.evaluate(scrolled) > 50
    seen.page.evaluate("() => { document.querySelector('[data-testid=stMain]').scrollTop = 0 }")
    settle(seen.page)
    seen.hover(20, 20)
    seen.page.keyboard.down("Control")
    turn(-100)
    seen.page.keyboard.up("Control")
    assert seen.zoom() > 2
    seen.frame.focus()
    bigger, there = seen.zoom(), seen.page.evaluate(scrolled)
    turn(-100)
    assert seen.zoom() > bigger and seen.page.evaluate(scrolled) == there
    turn(3000)
    assert seen.zoom() == 1
    seen.page.mouse.wheel(0, 300)  # nothing left to gain: the page has its wheel back
    seen.page.wait_for_function(f"(least) => ({scrolled})() > least", arg=there + 50)


def test_zoom_keeps_the_cell_under_the_pointer_and_the_labels(visit: Any) -> None:
    seen = visit("lenses&n=64")
    spot = seen.at(40, 30)
    seen.page.mouse.move(*spot)
    assert seen.state("hover") == "40,30"
    before = seen.pane.bounding_box()
    seen.page.keyboard.down("Control")
    for _ in range(3):
        before_turn = seen.state("zoom") or ""
        seen.page.mouse.wheel(0, -40)
        expect(seen.atlas).not_to_have_attribute("data-zoom", before_turn)
    seen.page.keyboard.up("Control")
    seen.page.mouse.move(spot[0] + 1, spot[1])
    assert seen.state("hover") == "40,30"
    after = seen.pane.bounding_box()
    assert (after["x"], after["y"]) == (before["x"], before["y"])
    assert seen.atlas.locator(".scroller").evaluate("(s) => s.scrollTop") > 50


def test_keys_zoom_and_walking_scrolls_along(visit: Any) -> None:
    seen = visit("lenses&n=64")
    seen.frame.focus()
    for _ in range(4):
        seen.page.keyboard.press("+")
    assert seen.zoom() > 4
    for key in ("ArrowDown", "Control+End"):
        seen.page.keyboard.press(key)
    settle(seen.page)
    assert seen.state("hover") == "63,63" and seen.tip.is_visible()
    seen.page.keyboard.press("ArrowUp")
    settle(seen.page)
    assert seen.state("hover") == "62,63"
    seen.page.keyboard.press("0")
    assert seen.zoom() == 1


def test_two_fingers_zoom_and_one_scrolls_the_page(visit: Any) -> None:
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


def test_a_tap_replaces_hover(visit: Any) -> None:
    seen = visit("lenses", width=390, height=800, has_touch=True)
    seen.page.touchscreen.tap(*seen.at(2, 1))
    seen.page.get_by_text("chosen (2, 1)").wait_for()
    assert seen.state("hover") == "2,1" and seen.tip.is_visible()
    seen.page.touchscreen.tap(*seen.at(4, -1))
    assert seen.state("hover") == "4,-1"


# ---------------------------------------------------------------- overview


def test_a_long_text_opens_a_window_that_is_announced(visit: Any) -> None:
    seen = visit("lenses&n=300")
    assert seen.window() == [[0, 31], [0, 31]]
    said = seen.atlas.locator(".said")
    assert said.get_attribute("role") == "status"
    assert said.inner_text() == "query 0\u201331, She to white; key 0\u201331, She to white"
    assert (
        seen.atlas.locator(".overview").is_visible()
        and "2 \u00d7 2 cells" in seen.atlas.locator(".overview").inner_text()
    )
    assert not visit("lenses&n=128").atlas.locator(".overview").is_visible()


def test_the_brush_is_dragged_resized_and_steered(visit: Any) -> None:
    _, weights, _, _ = head(300)
    seen = visit("lenses&n=300")
    before = len(seen.sent)
    box = seen.brush.bounding_box()
    mouse = seen.page.mouse
    mouse.move(box["x"] + 8, box["y"] + 8)
    mouse.down()
    mouse.move(box["x"] + 8 + 80, box["y"] + 8 + 40, steps=4)
    mouse.up()
    (top, _), (left, _) = seen.window()
    assert (top, left) == (50, 100)  # 240 pixels are 300 tokens
    seen.hover(3, 4)
    assert seen.state("hover") == "53,104"
    assert float(seen.state("weight")) == pytest.approx(weights[53, 104], abs=5e-4)
    assert float(seen.state("entropy")) == pytest.approx(entropy(weights[53]), abs=0.2)  # of the whole row
    corner = seen.atlas.locator(".handle").bounding_box()
    mouse.move(corner["x"] + 12, corner["y"] + 12)
    mouse.down()
    mouse.move(corner["x"] + 12 + 40, corner["y"] + 12 + 16, steps=4)
    mouse.up()
    assert seen.window() == [[50, 101], [100, 181]]
    seen.brush.focus()
    for key, window in (
        ("ArrowDown", [[63, 114], [100, 181]]),
        ("Shift+ArrowLeft", [[63, 114], [100, 173]]),
        ("End", [[248, 299], [226, 299]]),
        ("Home", [[0, 51], [0, 73]]),
    ):
        seen.page.keyboard.press(key)
        assert seen.window() == window, key
    assert "query 0\u201351" in seen.brush.get_attribute("aria-label")
    field = seen.atlas.locator(".field").bounding_box()
    mouse.click(field["x"] + 200, field["y"] + 120)  # elsewhere: the window comes there
    assert seen.window() == [[124, 175], [213, 286]]
    assert len(seen.sent) == before


def test_a_cell_of_a_window_is_a_cell_of_the_text(visit: Any) -> None:
    seen = visit("lenses&n=300")
    seen.brush.focus()
    seen.page.keyboard.press("End")
    seen.page.mouse.click(*seen.at(31, 30))
    seen.page.get_by_text("chosen (299, 298)").wait_for()
    assert seen.window() == [[268, 299], [268, 299]]
    seen.frame.focus()
    seen.page.keyboard.press("Control+Home")
    for _ in range(2):
        seen.page.keyboard.press("ArrowUp")  # over the edge of the window: it comes along
    assert seen.state("hover") == "266,268" and seen.window()[0] == [266, 297]


@pytest.mark.parametrize("n", [512, 1024])
def test_very_long_texts_stay_usable(visit: Any, n: int) -> None:
    seen = visit(f"lenses&causal&n={n}")
    assert seen.window() == [[0, 31 if n == 512 else 47]] * 2
    seen.brush.focus()
    took = seen.page.evaluate(
        """async () => {
            const atlas = document.querySelector('.atlas') ?? [...document.querySelectorAll('*')].map((e) => e.shadowRoot?.querySelector('.atlas')).find(Boolean);
            const brush = atlas.querySelector('.brush'), times = [];
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


def test_a_small_brush_is_dragged_too(visit: Any) -> None:
    seen = visit("lenses&n=1000")
    box = seen.brush.bounding_box()
    assert box["width"] < 12
    mouse = seen.page.mouse
    mouse.move(box["x"] + 7, box["y"] + 7)
    mouse.down()
    mouse.move(box["x"] + 7 + 48, box["y"] + 7 + 24, steps=4)
    mouse.up()
    assert seen.window() == [[100, 147], [200, 247]]  # 240 pixels are 1000 tokens
    corner = seen.atlas.locator(".handle").bounding_box()
    mouse.move(corner["x"] + 8, corner["y"] + 8)
    mouse.down()
    mouse.move(corner["x"] + 8 + 12, corner["y"] + 8, steps=4)
    mouse.up()
    assert seen.window() == [[100, 147], [200, 297]]


def test_a_tall_matrix_has_an_overview_too(visit: Any) -> None:
    seen = visit("tall&n=200")
    assert seen.window() == [[0, 31], [0, 4]]


# ---------------------------------------------------------------- links


def test_hover_in_one_marks_the_other_of_its_group(visit: Any) -> None:
    seen = visit("linked")
    before = len(seen.sent)
    seen.hover(3, 1)
    assert seen.other(1).state("linked") == seen.other(1).state("emphasis") == "3,1"
    assert not seen.other(2).state("linked")
    assert seen.other(1).state("hover") in (None, "")
    seen.hover(4, -1)
    assert seen.other(1).state("linked") == "4,-1"
    seen.page.mouse.move(2, 2)
    assert seen.other(1).state("linked") == ""
    assert len(seen.sent) == before


# ---------------------------------------------------------------- saving


def test_what_is_shown_is_saved(visit: Any, tmp_path: Path) -> None:
    scores, weights, allowed, sizes = head(6, causal=True)
    seen = visit("lenses&causal", accept_downloads=True)
    seen.button("score").click()
    arrays = np.load(seen.saved("npz", tmp_path))
    for name, values in (
        ("weights", weights),
        ("scores", scores * allowed),
        ("contributions", weights * sizes),
    ):
        assert np.allclose(arrays[name], values, rtol=1e-6), name
    assert np.array_equal(arrays["allowed"], allowed)
    assert np.allclose(arrays["received"], weights.sum(0)) and np.allclose(
        arrays["entropy_bits"][3], entropy(weights[3])
    )
    with seen.saved("csv", tmp_path).open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == [
        "query position",
        "key position",
        "query",
        "key",
        "weight",
        "score",
        "contribution",
        "allowed",
    ]
    assert len(rows) == 37 and rows[2][4:] == ["", "", "", "0"] and rows[7][7] == "1"
    assert [float(v) for v in rows[7][4:6]] == pytest.approx([weights[1, 0], scores[1, 0]], rel=1e-6)
    drawn = seen.saved("svg", tmp_path).read_text("utf-8")
    for words in ("L2.H5", "She", "received", "entropy", "masked", "score", "read (key)"):
        assert words in drawn, words
    assert "<image" not in drawn  # clean lines and boxes
    assert seen.saved("png", tmp_path).read_bytes()[:4] == b"\x89PNG"


def test_the_page_that_stands_alone_opens_as_the_picture_is_now(
    visit: Any, chromium: Any, tmp_path: Path
) -> None:
    seen = visit("lenses&n=300", accept_downloads=True)
    seen.brush.focus()
    seen.page.keyboard.press("End")
    seen.button("score").click()
    file = seen.saved("html", tmp_path)
    page = chromium.new_page()
    page.goto(file.as_uri())
    page.wait_for_selector(".atlas[data-window]")
    alone = Seen(page)
    assert (alone.state("lens"), alone.window()) == ("score", seen.window())
    alone.hover(3, 3)
    assert alone.state("hover") == "271,271"
    page.close()


# ---------------------------------------------------------------- what is not ordinary


def test_odd_values_and_words_are_marked_and_literal(visit: Any) -> None:
    seen = visit("odd")
    legend = seen.atlas.locator(".legend").inner_text()
    assert "not a finite number" in legend
    assert seen.state("margins") == "on"
    seen.hover(1, 3)
    assert "not a finite number" in seen.tip.inner_text()
    seen.hover(4, 4)
    assert "+\u221e" in seen.tip.inner_text()
    seen.hover(2, 2)
    assert (seen.state("weight"), float(seen.state("entropy"))) == ("1", 0)  # all weight on one key
    seen.hover(0, -1)
    assert "x" * 300 in seen.tip.inner_text().replace("\n", "")
    seen.hover(1, -1)
    assert seen.tip.inner_text().startswith("<b> query 1")
    assert seen.atlas.locator(".title").inner_text() == "<i>odd</i>"


def test_no_token_and_one_token(visit: Any) -> None:
    seen = visit("few")
    assert seen.atlas.inner_text() == "There are no tokens to look at yet."
    one = seen.other(1)
    one.hover(0, 0)
    assert (one.state("weight"), one.state("entropy"), one.state("received")) == ("1", "0", "1")


@pytest.mark.parametrize("query", ["lenses&n=12", "lenses&n=64", "lenses&n=300", "odd", "tall&n=200"])
def test_a_phone_needs_no_sideways_scroll(visit: Any, query: str) -> None:
    seen = visit(query, width=390, height=700, has_touch=True, device_scale_factor=2)
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= 390
    parts = seen.page.locator(".atlas :is(.tools, .frame, .legend, .field, .handle)")
    assert parts.evaluate_all("(all) => Math.max(...all.map((e) => e.getBoundingClientRect().right))") <= 391
    small = "(all) => all.filter((e) => e.offsetParent).map((e) => Math.min(e.offsetWidth, e.offsetHeight))"
    assert min(seen.atlas.locator("button").evaluate_all(small), default=24) >= 24


@pytest.mark.parametrize("n", [12, 128])
def test_hover_costs_less_than_a_frame(visit: Any, n: int) -> None:
    seen = visit(f"lenses&n={n}")
    left, top, unit = seen.place()
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
        [left, top, unit],
    )
    print(f"hover over {n} tokens: {took:.1f} ms")
    assert took <= 16


def test_it_says_what_it_is_to_a_screen_reader(visit: Any) -> None:
    seen = visit("lenses", scheme="dark")
    assert seen.state("mode") == "dark"
    words = seen.frame.get_attribute("aria-label")
    assert "L2.H5: 6 reading (query) rows, 6 read (key) columns, weight" in words
    assert seen.atlas.get_by_role("group", name="What is shown").count() == 1
    for button in seen.atlas.get_by_role("button").all():
        button.focus()
        assert button.evaluate("(b) => b.getRootNode().activeElement === b")


LEGEND = "(all) => all.map((entry) => entry.textContent)"


def test_a_word_without_a_counterpart_is_grey_and_called_so(visit: Any) -> None:
    seen = visit("lone")
    legend = seen.atlas.locator(".legend .entry").evaluate_all(LEGEND)
    assert "no counterpart" in legend and "masked" not in legend
    seen.hover(2, 1)
    assert seen.tip.inner_text().startswith("a \u2192 has no counterpart")
    left, top, unit = (float(value) for value in (seen.state("place") or "").split(","))
    spots = [(left + (c + 0.5) * unit, top + (r + 0.5) * unit) for r, c in ((2, 1), (2, 3), (0, 4), (5, 4))]
    colours = seen.atlas.locator("canvas").first.evaluate(
        "(canvas, spots) => spots.map(([x, y]) => [...canvas.getContext('2d').getImageData(x * canvas.width / canvas.offsetWidth, y * canvas.height / canvas.offsetHeight, 1, 1).data].join())",
        spots,
    )
    assert len(set(colours)) == 1, "one grey, no hatching"
    both = visit("lone&causal").atlas.locator(".legend .entry").evaluate_all(LEGEND)
    assert {"no counterpart", "masked"} <= set(both), "a mask still closes the others"


GROUNDS = """(unit) => {
  const pen = CanvasRenderingContext2D.prototype, rect = pen.roundRect;
  window.grounds = [];
  pen.roundRect = function (...box) { grounds.push([box[3], this.getTransform().b !== 0]); return rect.apply(this, box); };
}"""


def test_the_label_of_a_marked_column_leaves_its_neighbours_readable(visit: Any) -> None:
    seen = visit("lenses&n=14", width=520)
    unit = float((seen.state("place") or "").split(",")[2])
    assert 17 <= unit < 28, "labels that are all written, and close together"
    seen.page.evaluate(GROUNDS)
    seen.hover(3, 6)
    seen.page.wait_for_function("grounds.length >= 2")
    turned = [height for height, slanted in seen.page.evaluate("grounds") if slanted]
    assert turned and max(turned) <= unit * 0.7072 + 0.01, (
        "no ground is wider than the lane between two slanted labels"
    )
