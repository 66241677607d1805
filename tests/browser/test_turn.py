"""Another head, opened in the grid, is drawn from the stack before Python answers; older answers turn nothing back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from settling import settle
from small_app import Visit

DATA = """
import numpy as np
rng = np.random.default_rng(3)
scores = rng.normal(size=(2, 3, 9, 9)) * 3
may = np.tri(9, dtype=bool)
weights = np.exp(np.where(may, scores, -np.inf))
weights = weights / weights.sum(-1, keepdims=True)
words = [f"w{i}" for i in range(9)]
"""
APP = (
    DATA
    + """
import time
from pathlib import Path
import streamlit as st
from viz.instruments import HeadContext, clicked_head, grid_packet, head_view, heatmap, show_grid, make_stack, words_view
late = st.query_params.get("show") == "late"
ANSWER = Path(__file__).with_name("answer")

@st.fragment
def pictures():
    at, turn = clicked_head("g")
    at = at or (0, 0)
    while late and turn and not ANSWER.exists():
        time.sleep(0.01)
    among = HeadContext(make_stack(weights, may), at, turn)
    one = dict(allowed=may, among=among, group="g")
    words_view(weights[at], words, words, key="w", layout="one", reading=True, **one)
    show_grid(grid_packet(weights, kinds=[["a", "b", "c"]] * 2, group="g"), key="g", selected=at, echo=turn)
    found = heatmap(weights[at], words, words, key="h", title=f"L{at[0]}.H{at[1]}, {'abc'[at[1]]}: look", called="{head}: look", numbers=True,
                    lenses=lambda: (scores[at], np.ones(9)), **one)
    head_view(weights[at[0], [at[1]]], words, words, key="l", heads=[at[1]], **one)
    st.text(f"Python has {at}")

pictures()
"""
)
space: dict[str, Any] = {}
exec(DATA, space)
WEIGHTS = space["weights"]


class Seen(Visit):
    """The four pictures of the page."""

    tall = 1600

    def view(self, name: str) -> Any:
        return self.page.locator(f".atlas.{name}")

    def at(self) -> list[str | None]:
        return [self.view(name).get_attribute("data-at") for name in ("words", "heatmap", "lines")]

    def open(self, *steps: str) -> None:
        self.view("heads").locator(".frame").focus()
        for step in (*steps, "Enter"):
            self.page.keyboard.press(step)


def all_at(layer: int, head: int) -> list[str]:
    return [f"{layer},{head}"] * 3


@pytest.fixture
def answer(small_apps: tuple[str, Path]) -> Iterator[Path]:
    """Python is silent until this file is there."""
    file = small_apps[1] / "answer"
    yield file
    file.unlink(missing_ok=True)


def test_another_head_is_drawn_before_python_answers_and_an_older_answer_does_not_turn_back(
    visit: Any, answer: Path
) -> None:
    seen = visit("late")
    assert seen.at() == all_at(0, 0)
    seen.page.evaluate("""() => {
      globalThis.all = [];
      const find = (root) => root.querySelector('.atlas.heatmap') ?? [...root.querySelectorAll('*')].map((e) => e.shadowRoot && find(e.shadowRoot)).find(Boolean);
      const atlas = find(document);
      new MutationObserver(() => all.push(atlas.dataset.at)).observe(atlas, { attributes: true, attributeFilter: ['data-at'] });
    }""")
    seen.open("Home", "ArrowRight")
    seen.page.wait_for_function("wire.running")
    seen.open("ArrowRight")
    answer.touch()
    seen.says("Python has (0, 2)")
    settle(seen.page)
    kept = seen.page.evaluate("() => all.filter((at, i) => at !== all[i - 1])")
    assert kept == ["0,1", "0,2"]
    answer.unlink()
    seen.open("Home")
    assert seen.at() == all_at(0, 0)
    title = seen.view("heatmap").locator(".title").first
    assert title.inner_text() == "L0.H0, a: look"
    assert seen.page.get_by_text("Python has (0, 2)").count() == 1
    answer.touch()
    seen.says("Python has (0, 0)")
    assert seen.at() == all_at(0, 0)
    assert title.inner_text() == "L0.H0, a: look"


@pytest.mark.slow
def test_the_numbers_are_those_of_the_head(visit: Any) -> None:
    seen = visit("now")
    for head in (1, 2):
        seen.open("Home", *["ArrowRight"] * head)
        seen.says(f"Python has (0, {head})")
        seen.view("heatmap").locator(".frame").focus()
        for key in ["ArrowDown"] * 9 + ["Home"]:
            seen.page.keyboard.press(key)
        assert seen.view("heatmap").get_attribute("data-hover") == "8,0"
        said = seen.view("heatmap").locator(".tip").inner_text().splitlines()[0]
        assert float(said.removeprefix("w8 → w0 ")) == pytest.approx(WEIGHTS[0, head, 8, 0], rel=1e-6)


@pytest.mark.slow
def test_a_lens_comes_when_it_is_asked_for_and_then_with_each_head(visit: Any) -> None:
    seen = visit("now")
    heatmap = seen.view("heatmap")
    names = heatmap.locator(".segment")
    assert names.all_inner_texts() == ["weight", "score", "value-weighted"]
    names.nth(1).click()
    seen.page.wait_for_function("(e) => e.dataset.lens === 'score'", arg=heatmap.element_handle())
    seen.open("Home", "ArrowRight", "ArrowRight")
    seen.says("Python has (0, 2)")
    assert heatmap.get_attribute("data-lens") == "score"
    assert heatmap.get_attribute("data-at") == "0,2"
    names.nth(0).click()
    assert heatmap.get_attribute("data-lens") == "weight"
