"""The heatmap in a real browser: lenses, bars, zoom, overview, links; state is read from data attributes."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shown_values import states
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
if show == "linked":
    heatmap(weights, names, names, key="one", group="pair", title="Pattern")
    heatmap(scores, names, names, key="two", scale="score", group="pair", title="Scores")
    heatmap(weights, names, names, key="alone", title="Alone")
if show in ("sums", "linked"):
    logs = np.log(np.where(allowed, np.exp(scores), 0).sum(1))
    heatmap(weights, names, names, key="h", allowed=allowed, log_sums=logs)
if show == "linked":
    heatmap(weights * np.linspace(0.9, 0.4, n)[:, None], names, names, key="s", allowed=allowed, sink=True)
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


def has_score(seen: Any, n: int, near: float) -> None:
    """The score stands beside a weight before anybody asks for its lens."""
    scores, weights, _, _ = head(n)
    row, column = (int(i) for i in np.unravel_index(weights[:30, :30].argmax(), weights[:30, :30].shape))
    seen.hover(row, column)
    assert seen.state("hover") == f"{row},{column}"
    assert float(seen.state("weight")) == pytest.approx(weights[row, column], rel=near)
    assert float(seen.state("score")) == pytest.approx(scores[row, column], abs=2 * near)
    if n == 6:
        assert f"score: {scores[row, column]:.4f}".replace("-", "\u2212") in seen.tip.text_content()


@pytest.mark.slow
def test_the_score_stands_beside_a_weight_of_a_long_text(visit: Any) -> None:
    """In its window, where the numbers are rounded."""
    has_score(visit("sums&n=300"), 300, 1e-2)


@pytest.mark.slow
def test_hover_in_one_marks_the_other_of_its_group_and_a_sink_and_a_score_are_told(visit: Any) -> None:
    seen = visit("linked")
    assert seen.atlas.locator(".segment").count() == 0, "only lenses with numbers are offered"
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
    sums, sink = seen.other(3), seen.other(4)
    sums.pane.scroll_into_view_if_needed()
    has_score(sums, 6, 1e-5)
    sink.pane.scroll_into_view_if_needed()
    for row, whole in ((0, 0.9), (5, 0.4)):
        sink.hover(row, 0)
        assert float(sink.state("sunk")) == pytest.approx(1 - whole, abs=1e-5)
        said = f"taken by the learned sink: {100 * (1 - whole):.0f}%; the keys have {100 * whole:.0f}%"
        assert said in " ".join(sink.tip.text_content().split())
    assert states(sink.atlas.inner_text(), "less than 1", "learned sink")


@pytest.mark.slow
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


def test_hover_and_lenses_say_their_numbers_without_a_message_and_a_click_and_enter_choose_a_cell(
    visit: Any,
) -> None:
    scores, weights, allowed, sizes = head(6, causal=True)
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
    seen.page.mouse.move(5, 5)
    picture = "(c) => c.toDataURL()"
    canvas = seen.pane.locator("canvas").first
    pictures = [canvas.evaluate(picture)]
    assert (seen.state("lens"), seen.state("range"), seen.state("margins")) == ("weight", "0,1", "on")
    assert seen.atlas.locator(".segment").all_inner_texts() == ["weight", "score", "value-weighted"]
    words = seen.frame.get_attribute("aria-label")
    assert states(words, "L2.H5", "6 reading (query) rows", "6 read (key) columns", "weight")
    assert seen.atlas.get_by_role("group", name="What is shown").count() == 1
    for button in seen.atlas.get_by_role("button").all():
        button.focus()
        assert button.evaluate("(b) => b.getRootNode().activeElement === b")
    limit = abs(scores[allowed]).max()
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
    assert seen.page.locator(".atlas[translate=no]").count() == 1, (
        "the browser translates no token and no number"
    )
    seen.page.mouse.click(*seen.at(4, 3))
    seen.page.get_by_text("chosen (4, 3)").wait_for()
    seen.page.mouse.move(5, 5)
    assert (seen.state("cell"), seen.state("emphasis"), seen.state("hover")) == ("4,3", "4,3", "")
    seen.frame.focus()
    for key in ("ArrowDown", "ArrowDown", "Home", "End", "ArrowLeft", "Enter"):
        seen.page.keyboard.press(key)
    seen.page.get_by_text("chosen (5, 4)").wait_for()


@pytest.mark.slow
@pytest.mark.parametrize("n", [32, 6])
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


@pytest.mark.slow
def test_what_is_shown_is_saved(visit: Any, tmp_path: Path) -> None:
    scores, weights, allowed, sizes = head(6, causal=True)
    seen = visit("lenses&causal")
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
    assert ",".join(rows[0]) == "query position,key position,query,key,weight,score,contribution,allowed"
    assert len(rows) == 37 and rows[2][4:] == ["", "", "", "0"] and rows[7][7] == "1"
    assert [float(v) for v in rows[7][4:6]] == pytest.approx([weights[1, 0], scores[1, 0]], rel=1e-6)
    drawn = seen.saved("svg", tmp_path).read_text("utf-8")
    for words in ("L2.H5", "She", "received", "entropy", "masked", "score", "read (key)"):
        assert words in drawn, words
    assert "<image" not in drawn  # clean lines and boxes


@pytest.mark.slow
def test_the_page_that_stands_alone_opens_as_the_picture_is_now(
    visit: Any, alone: Any, tmp_path: Path
) -> None:
    seen = visit("lenses&n=300")
    seen.brush.focus()
    seen.page.keyboard.press("End")
    seen.button("score").click()
    window = seen.window()
    saved = Seen(alone(seen.saved("html", tmp_path)))
    assert (saved.state("lens"), saved.window()) == ("score", window)
    saved.hover(3, 3)
    assert saved.state("hover") == "271,271"


@pytest.mark.slow
def test_odd_values_and_words_are_marked_and_literal(visit: Any) -> None:
    seen = visit("odd", scheme="dark")
    legend = seen.atlas.locator(".legend").inner_text()
    assert "finite number" in legend
    assert (seen.state("mode"), seen.state("margins")) == ("dark", "on")
    seen.hover(1, 3)
    assert "finite number" in seen.tip.inner_text()
    seen.hover(4, 4)
    assert "+\u221e" in seen.tip.inner_text()
    seen.hover(2, 2)
    assert (seen.state("weight"), float(seen.state("entropy"))) == ("1", 0)  # all weight on one key
    seen.hover(0, -1)
    assert "x" * 300 in seen.tip.inner_text().replace("\n", "")
    seen.hover(1, -1)
    assert seen.tip.inner_text().startswith("<b> query 1")
    assert seen.atlas.locator(".title").inner_text() == "<i>odd</i>"


@pytest.mark.slow
def test_no_token_one_token_and_a_difference(visit: Any) -> None:
    seen = visit("few")
    assert "no tokens" in seen.atlas.inner_text()
    one = seen.other(1)
    one.hover(0, 0)
    assert (one.state("weight"), one.state("entropy"), one.state("received")) == ("1", "0", "1")
    seen = visit("difference")  # bars belong to rows that share out one look
    assert (seen.state("margins"), seen.state("range")) == ("off", "-1,1")
    assert "difference" in seen.atlas.locator(".legend").inner_text()


LEGEND = "(all) => all.map((entry) => entry.textContent)"


@pytest.mark.slow
def test_a_word_without_a_counterpart_is_grey_and_called_so(visit: Any) -> None:
    seen = visit("lone")
    legend = seen.atlas.locator(".legend .entry").evaluate_all(LEGEND)
    assert "no counterpart" in legend and "masked" not in legend
    seen.hover(2, 1)
    assert states(seen.tip.inner_text(), "a →", "no counterpart")
    left, top, unit = (float(value) for value in (seen.state("place") or "").split(","))
    spots = [(left + (c + 0.5) * unit, top + (r + 0.5) * unit) for r, c in ((2, 1), (2, 3), (0, 4), (5, 4))]
    colours = seen.atlas.locator("canvas").first.evaluate(
        "(canvas, spots) => spots.map(([x, y]) => [...canvas.getContext('2d').getImageData(x * canvas.width / canvas.offsetWidth, y * canvas.height / canvas.offsetHeight, 1, 1).data].join())",
        spots,
    )
    assert len(set(colours)) == 1, "one grey, no hatching"
    both = visit("lone&causal").atlas.locator(".legend .entry").evaluate_all(LEGEND)
    assert {"no counterpart", "masked"} <= set(both), "a mask still closes the others"
