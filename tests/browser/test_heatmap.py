"""The heatmap in a real browser: lenses, bars, zoom, overview, links; state is read from data attributes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shown_values import states
from small_app import Visit, cell_at, saved_texts

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
        parts = (self.atlas.locator(f".{name}") for name in ("frame", "pane", "tip", "brush"))
        self.frame, self.pane, self.tip, self.brush = parts

    def other(self, which: int) -> Seen:
        return Seen(self.page, self.sent, which)

    def state(self, name: str) -> str | None:
        return self.atlas.get_attribute(f"data-{name}")

    def numbers(self, name: str) -> list[float]:
        return [float(part) for part in str(self.state(name)).split(",")]

    def at(self, row: float, column: float) -> tuple[float, float]:
        return cell_at(self.atlas, row, column)

    def hover(self, row: float, column: float) -> None:
        self.page.mouse.move(*self.at(row, column))

    def button(self, name: str) -> Any:
        return self.atlas.get_by_role("button", name=name, exact=True)

    def zoom(self) -> float:
        return self.numbers("zoom")[0]

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
    assert seen.numbers("weight")[0] == pytest.approx(weights[row, column], rel=near)
    assert seen.numbers("score")[0] == pytest.approx(scores[row, column], abs=2 * near)
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
    assert seen.data("linked emphasis", 1) == ["3,1", "3,1"] and not seen.attribute("hover", 1)
    assert not seen.attribute("linked", 2)
    seen.hover(4, -1)
    assert seen.attribute("linked", 1) == "4,-1"
    seen.page.mouse.move(2, 2)
    assert seen.attribute("linked", 1) == ""
    assert len(seen.sent) == before
    sums, sink = seen.other(3), seen.other(4)
    sums.pane.scroll_into_view_if_needed()
    has_score(sums, 6, 1e-5)
    sink.pane.scroll_into_view_if_needed()
    for row, whole in ((0, 0.9), (5, 0.4)):
        sink.hover(row, 0)
        assert sink.numbers("sunk")[0] == pytest.approx(1 - whole, abs=1e-5)
        said = f"taken by the learned sink: {100 * (1 - whole):.0f}%; the keys have {100 * whole:.0f}%"
        assert said in " ".join(sink.tip.text_content().split())
    assert states(sink.atlas.inner_text(), "less than 1", "learned sink")


@pytest.mark.slow
def test_labels_and_bars_are_hovered_too(visit: Any) -> None:
    seen = visit("lenses&n=12")
    seen.hover(3, -1)
    assert seen.state("hover") == "3,-1" and seen.tip.inner_text().startswith("white query 3")
    seen.hover(7, 12)  # its entropy, to the right of the row
    assert seen.state("hover") == "7,-1" and "bits" in seen.tip.inner_text()
    seen.hover(12, 8)  # below the column, what the key receives
    assert seen.state("hover") == "-1,8" and "of all" in seen.tip.inner_text()
    assert seen.state("received") and not seen.state("entropy")


def test_hover_and_lenses_say_their_numbers_without_a_message_and_a_click_and_enter_choose_a_cell(
    visit: Any,
) -> None:
    scores, weights, allowed, sizes = head(6, causal=True)
    seen = visit("lenses&causal")
    before = len(seen.sent)
    seen.hover(4, 2)
    assert seen.data("hover emphasis") == ["4,2", "4,2"]
    for name, value in {
        "weight": weights[4, 2],
        "score": scores[4, 2],
        "contribution": weights[4, 2] * sizes[2],
        "entropy": entropy(weights[4]),
        "received": weights[:, 2].sum(),
    }.items():
        assert seen.numbers(name)[0] == pytest.approx(value, rel=1e-5), name
    said = seen.tip.inner_text()
    assert said.startswith("car \u2192 a") and "2.32 bits" in said
    assert all(words in said for words in ("weight", "score", "value-weighted", "entropy", "received"))
    seen.hover(1, 5)
    assert seen.state("value") == "masked" and "masked" in seen.tip.inner_text()
    seen.page.mouse.move(5, 5)
    picture, canvas = "(c) => c.toDataURL()", seen.pane.locator("canvas").first
    pictures = [canvas.evaluate(picture)]
    assert seen.data("lens range margins") == ["weight", "0,1", "on"]
    assert seen.atlas.locator(".segment").all_inner_texts() == ["weight", "score", "value-weighted"]
    words = seen.frame.get_attribute("aria-label")
    assert states(words, "L2.H5", "6 reading (query) rows", "6 read (key) columns", "weight")
    assert seen.atlas.get_by_role("group", name="What is shown").count() == 1
    limit = abs(scores[allowed]).max()
    for lens, low, high in (("score", -limit, limit), ("value-weighted", 0, (weights * sizes).max())):
        seen.button(lens).click()
        assert seen.numbers("range") == pytest.approx([low, high], rel=1e-5)
        assert seen.button(lens).get_attribute("aria-pressed") == "true"
        pictures.append(canvas.evaluate(picture))
    assert len(set(pictures)) == 3
    seen.hover(2, 2)
    assert seen.numbers("value")[0] == pytest.approx(weights[2, 2] * sizes[2], rel=1e-5)
    seen.button("weight").click()
    assert canvas.evaluate(picture) == pictures[0]
    assert len(seen.sent) == before
    seen.button("score").click()
    seen.page.mouse.click(*seen.at(1, 1))
    seen.says("chosen (1, 1)")
    assert seen.state("lens") == "score"  # a run of the page does not take the lens away
    untranslated = seen.page.locator(".atlas[translate=no]").count()
    assert untranslated == 1, "the browser translates no token and no number"
    seen.page.mouse.click(*seen.at(4, 3))
    seen.says("chosen (4, 3)")
    seen.page.mouse.move(5, 5)
    assert seen.data("cell emphasis hover") == ["4,3", "4,3", ""]
    seen.frame.focus()
    seen.press("ArrowDown", "ArrowDown", "Home", "End", "ArrowLeft", "Enter")
    seen.says("chosen (5, 4)")


@pytest.mark.slow
@pytest.mark.parametrize("n", [32, 6])
def test_numbers_are_written_on_wish(visit: Any, n: int) -> None:
    seen = visit(f"lenses&n={n}")
    before = len(seen.sent)
    assert seen.state("numbers") == ""
    seen.button("Numbers").click()
    assert seen.state("numbers") == "written" and seen.numbers("place")[2] >= 30
    assert seen.button("Numbers").get_attribute("aria-pressed") == "true"
    seen.button("Numbers").click()
    assert seen.state("numbers") == "" and seen.zoom() == 1
    assert len(seen.sent) == before


@pytest.mark.slow
def test_lenses_margins_and_names_are_in_the_drawing_that_is_saved(visit: Any, tmp_path: Path) -> None:
    seen = visit("lenses&causal")
    seen.button("score").click()
    drawn = saved_texts(seen.page, tmp_path)
    for words in ("L2.H5", "She", "received", "entropy", "masked", "score", "read (key)"):
        assert any(words in text for text in drawn), words


@pytest.mark.slow
def test_the_page_that_stands_alone_opens_as_the_picture_is_now(
    visit: Any, alone: Any, tmp_path: Path
) -> None:
    seen = visit("lenses&n=300")
    seen.brush.focus()
    seen.press("End")
    seen.button("score").click()
    window = seen.window()
    saved = Seen(alone(seen.saved("html", tmp_path)))
    assert (saved.state("lens"), saved.window()) == ("score", window)
    saved.hover(3, 3)
    assert saved.state("hover") == "271,271"


@pytest.mark.slow
def test_odd_values_and_words_are_marked_and_literal(visit: Any) -> None:
    seen = visit("odd", scheme="dark")
    assert "finite number" in seen.text(".legend")
    assert seen.data("mode margins") == ["dark", "on"]
    for cell, said in (
        ((1, 3), "finite number"),
        ((4, 4), "+\u221e"),
        ((0, -1), "x" * 300),
        ((1, -1), "<b> query 1"),
    ):
        seen.hover(*cell)
        assert said in seen.tip.inner_text().replace("\n", ""), cell
    seen.hover(2, 2)
    assert (seen.state("weight"), seen.numbers("entropy")) == ("1", [0])  # all weight on one key
    assert seen.text(".title") == "<i>odd</i>"


@pytest.mark.slow
def test_no_token_one_token_and_a_difference(visit: Any) -> None:
    seen = visit("few")
    assert "no tokens" in seen.atlas.inner_text()
    seen.other(1).hover(0, 0)
    assert seen.data("weight entropy received", 1) == ["1", "0", "1"]
    seen = visit("difference")  # bars belong to rows that share out one look
    assert seen.data("margins range") == ["off", "-1,1"]
    assert "difference" in seen.text(".legend")


@pytest.mark.slow
def test_a_word_without_a_counterpart_is_grey_and_called_so(visit: Any) -> None:
    seen = visit("lone")
    assert "no counterpart" in seen.text(".legend") and "masked" not in seen.text(".legend")
    seen.hover(2, 1)
    assert states(seen.tip.inner_text(), "a →", "no counterpart")
    left, top, unit = seen.numbers("place")
    spots = [(left + (c + 0.5) * unit, top + (r + 0.5) * unit) for r, c in ((2, 1), (2, 3), (0, 4), (5, 4))]
    colours = seen.atlas.locator("canvas").first.evaluate(
        "(canvas, spots) => spots.map(([x, y]) => [...canvas.getContext('2d').getImageData(x * canvas.width / canvas.offsetWidth, y * canvas.height / canvas.offsetHeight, 1, 1).data].join())",
        spots,
    )
    assert len(set(colours)) == 1, "one grey, no hatching"
    both = visit("lone&causal").text(".legend")
    assert "no counterpart" in both and "masked" in both, "a mask still closes the others"
