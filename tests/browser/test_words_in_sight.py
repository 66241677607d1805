"""The word picture where rows are of different lengths, wrapped, narrow or from right to left: what is touched is seen, lines keep apart from words."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from settling import settle

APP = """
import numpy as np, streamlit as st
from viz.instruments import words_view

show = st.query_params.get("show")
few, many = "I have a white car .".split(), [f"word{i}" for i in range(90)]
if show in ("short over long", "three"):
    words_view(np.full((90, 6), 1 / 6), many, few, key="w", reading=True, selected=75)
if show in ("long over short", "three"):
    words_view(np.eye(6, 90) * 0.9 + 0.1 / 90, few, many, key="v", reading=True, selected="s3")
if show == "both long":
    words_view(np.eye(90), many, many, key="w", reading=True, selected=75)
if show == "three":
    words = ("while the soldiers were marching through the narrow streets and over the old stone bridge " * 2).split()
    words_view(np.eye(len(words)), words, words, key="u", reading=True, selected=4)
if show == "narrow":
    letters = [*"abcdefghij"]
    words_view(np.full((10, 10), 0.1), letters, letters, key="w", reading=True, selected=0)
if show == "arabic":
    words = ["\\u0645\\u0631\\u062d\\u0628\\u0627", "\\u0628\\u0627\\u0644\\u0639\\u0627\\u0644\\u0645"]
    words_view(np.array([[.998, .002], [.5, .5]]), words, words, key="w", reading=True, selected=0)
if show == "one line":
    words_view(np.tri(4) / np.tri(4).sum(1, keepdims=True), few[:4], few[:4], key="w", layout="one", reading=True, names=("", ""))
if show == "named":
    words = "My aunt does not like the cold soup that we had to eat in the small room .".split()
    words_view(np.eye(len(words)), words, words, key="w", reading=True, names=("reads", "writes"))
"""
WITHIN = "(e) => { const b = e.getBoundingClientRect(); return b.left >= -1 && b.right <= innerWidth + 1; }"


def in_sight(atlas: Any) -> None:
    """The touched word and what it looks at."""
    assert atlas.locator('.word[aria-pressed="true"]').evaluate(WITHIN)
    looked = atlas.locator(".word:has(.share:not(:empty))")
    assert looked.count() and looked.first.evaluate(WITHIN)


STROKES = """() => {
  const pen = CanvasRenderingContext2D.prototype, [line, bezier, move] = [pen.lineTo, pen.bezierCurveTo, pen.moveTo];
  window.points = [];
  let from = null;
  pen.moveTo = function (x, y) { from = [x, y]; return move.call(this, x, y); };
  pen.lineTo = function (x, y) { for (let t = 0; t <= 1; t += 0.1) points.push([from[0] + t * (x - from[0]), from[1] + t * (y - from[1])]); from = [x, y]; return line.call(this, x, y); };
  pen.bezierCurveTo = function (a, b, c, d, x, y) {
    for (let t = 0; t <= 1.001; t += 0.05) { const u = 1 - t; points.push([u**3 * from[0] + 3*u*u*t*a + 3*u*t*t*c + t**3 * x, u**3 * from[1] + 3*u*u*t*b + 3*u*t*t*d + t**3 * y]); }
    from = [x, y];
    return bezier.call(this, a, b, c, d, x, y);
  };
}"""
BEHIND = """(stage) => {
  const home = stage.getBoundingClientRect();
  const texts = [...stage.querySelectorAll(".text")].map((e) => e.getBoundingClientRect()).map((b) => [b.left - home.left + 1, b.top - home.top + 4, b.right - home.left - 1, b.bottom - home.top - 4]);
  return points.filter(([x, y]) => texts.some(([l, t, r, b]) => x > l && x < r && y > t && y < b)).length;
}"""


def test_what_is_touched_is_in_sight_on_a_phone_and_lines_pass_between_the_words_of_a_second_line(
    visit: Any,
) -> None:
    seen = visit("three", width=390)
    for n in (0, 1):
        in_sight(seen.page.locator(".atlas").nth(n))
    assert seen.width() <= 390
    seen.page.set_viewport_size({"width": 900, "height": 800})
    settle(seen.page)
    atlas = seen.page.locator(".atlas").nth(2)
    assert atlas.get_attribute("data-flow") == "wrap"
    assert (
        atlas.locator(".upper .word").evaluate_all("(all) => new Set(all.map((w) => w.offsetTop)).size") >= 2
    )
    seen.page.evaluate(STROKES)
    atlas.locator('.word[data-side="target"]').nth(4).click()
    atlas.locator('.word[data-side="target"]').nth(5).click()
    seen.page.wait_for_function("points.length > 100")
    assert atlas.locator(".stage").evaluate(BEHIND) == 0


@pytest.mark.slow
def test_percentages_of_narrow_words_do_not_touch(visit: Any) -> None:
    seen = visit("narrow")
    boxes = seen.page.locator(".upper .share").evaluate_all(
        "(all) => all.filter((e) => e.textContent).map((e) => e.getBoundingClientRect()).map((b) => [b.left, b.right]).sort((a, b) => a[0] - b[0])"
    )
    assert len(boxes) == 8
    assert all(left[1] <= right[0] + 0.5 for left, right in pairwise(boxes))


@pytest.mark.slow
def test_a_percentage_reads_from_the_left_in_arabic_too(visit: Any) -> None:
    seen = visit("arabic")
    share = seen.page.locator(".upper .share").filter(has_text="over 99%")
    assert share.evaluate("(e) => getComputedStyle(e).direction") == "ltr"
    assert share.evaluate("(e) => getComputedStyle(e.closest('.row')).direction") == "rtl"


@pytest.mark.slow
def test_one_row_stands_in_the_middle_as_two_do(visit: Any) -> None:
    seen = visit("one line")
    left, right = seen.page.locator(".lower").evaluate(
        "(row) => { const all = [...row.querySelectorAll('.word')], home = row.getBoundingClientRect(); return [all[0].getBoundingClientRect().left - home.left, home.right - all.at(-1).getBoundingClientRect().right]; }"
    )
    assert left > 50 and abs(left - right) < 3


@pytest.mark.slow
def test_the_names_of_the_rows_stay_with_a_long_sentence(visit: Any) -> None:
    seen = visit("named", width=1000)
    for name in ("reads", "writes"):
        label = seen.page.locator(".name").filter(has_text=name)
        assert label.is_visible()
        assert label.evaluate(
            """(e) => { const n = e.getBoundingClientRect(); return [...e.parentElement.querySelectorAll('.word, .share:not(:empty)')].every((w) => { const b = w.getBoundingClientRect(); return b.right <= n.left || b.left >= n.right || b.bottom <= n.top + 1 || b.top >= n.bottom - 1; }); }"""
        )
