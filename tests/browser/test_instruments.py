"""The words of an attention pattern, and what heatmap and mask editor share, in a real browser: state is read from data attributes, traffic is counted on the wire."""

from __future__ import annotations

from typing import Any

import pytest
from settling import settle
from shown_values import states
from small_app import Visit

APP = """
import numpy as np, streamlit as st
from viz.instruments import heatmap, mask_editor, words_view

english, spanish = "She has a white car .".split(), "Ella tiene un auto blanco .".split()
look = np.array([[.93, .04, .01, .01, .005, .005], [.03, .9, .05, .01, .005, .005], [.01, .02, .95, .01, .005, .005],
                 [.01, .01, .03, .1, .84, .01], [.002, .003, .005, .981, .007, .002],
                 [.2, .15, .1, .1, .25, .2], [1/6] * 6])
show = st.query_params.get("show", "words")
if show == "words":
    words_view(look, ["START", *spanish], english, key="w", names=("English", "Spanish"), url="word",
               selected=st.query_params.get("word"), caption="Encoder-decoder attention, layer 2, head 5")
if show == "lost":  # the run that carried the code was replaced before the browser saw it
    from viz.instruments.words.words import WORDS
    if "once" not in st.session_state:
        st.session_state.once, st.session_state._instrument_parts_sent = True, {WORDS.code}
    words_view(look, ["START", *spanish], english, key="w")
if show == "none":
    words_view(np.zeros((0, 0)), [], [], key="none", reading=True)
if show == "one":
    text = "Once upon a time there was a little girl who lived in a village near the forest .".split()
    may = np.tri(len(text), dtype=bool)
    w = np.where(may, np.random.default_rng(1).random(may.shape) ** 6, 0)
    words_view(w / w.sum(1, keepdims=True), text, text, key="w", layout="one", allowed=may, reading=True)
if show == "heat":
    words = (english * 64)[:64]
    heatmap(np.random.default_rng(0).dirichlet(np.full(64, .3), size=64), words, words, key="h", allowed=np.tri(64, k=2, dtype=bool), title="Pattern")
if show == "mask":
    preset = st.radio("Preset", ["causal", "full"], horizontal=True)
    start = np.tri(6, dtype=bool) if preset == "causal" else np.ones((6, 6), bool)
    mask = mask_editor(start, english, english, key="m")
    st.text(f"mask {''.join(str(int(v)) for v in mask.ravel())}")
"""
CAUSAL = "".join("1" * (r + 1) + "0" * (5 - r) for r in range(6))
PIXELS = "(canvas) => canvas.toDataURL()"


class Seen(Visit):
    """A page of words."""

    def word(self, side: str, index: int) -> Any:
        return self.page.locator(f'.word[data-side="{side}"][data-index="{index}"]')

    def sentence(self) -> str:
        return self.text(".sentence")


def test_touch_and_keyboard_reach_every_word_without_a_message_and_another_theme_is_drawn(
    visit: Any,
) -> None:
    seen = visit("words")
    assert seen.data("mode side selected top") == ["light", "target", "4", "white:0.98"]
    assert states(seen.sentence(), "blanco", "98%", "white")
    assert seen.word("source", 3).inner_text().split() == ["white", "98%"]
    before, canvas = len(seen.sent), seen.page.locator(".atlas canvas").first
    picture = canvas.evaluate(PIXELS)
    seen.word("target", 3).hover()
    assert seen.attribute("selected") == "3" and states(seen.sentence(), "auto", "84%", "car")
    assert canvas.evaluate(PIXELS) != picture
    seen.word("source", 1).click()
    assert seen.data("side selected top") == ["source", "1", "tiene:0.90"]
    assert states(seen.sentence(), "has", "tiene: 90%")
    seen.word("target", 5).click()
    assert states(seen.sentence(), "“.”", "90%", "5 words", "car (25%)")
    seen.word("target", 4).focus()
    walked = []
    for key in ("ArrowLeft", "ArrowUp", "Home", "End", "ArrowDown", "Shift+Tab"):
        seen.press(key)
        walked.append(" ".join(seen.data("side selected")))
    assert walked[0] == "target 3" and walked[1].startswith("source")
    # down to the nearest word, then back by Tab
    assert walked[2:] == ["source 0", "source 5", "target 4", "target 3"]
    assert seen.word("target", 3).get_attribute("aria-pressed") == "true"
    light = canvas.evaluate(PIXELS)
    seen.page.emulate_media(color_scheme="dark")
    seen.page.locator('.atlas[data-mode="dark"]').wait_for()
    settle(seen.page)
    assert canvas.evaluate(PIXELS) != light
    assert len(seen.sent) == before


@pytest.mark.slow
def test_a_link_restores_the_touched_word(visit: Any) -> None:
    seen = visit("words")
    seen.word("source", 4).click()
    seen.page.wait_for_function("location.search.endsWith('word=s4')")
    assert visit("words&word=s4").data("side selected") == ["source", "4"]
    assert visit("words&word=nonsense").attribute("selected") == "4"


@pytest.mark.slow
def test_one_row_reads_backwards_only_and_no_words_are_told(visit: Any) -> None:
    seen = visit("one")
    seen.word("target", 0).click()
    assert states(seen.sentence(), "Once only: 100%")
    seen.word("target", 9).click()
    shaded = seen.page.locator(".word").evaluate_all("(all) => all.map((w) => w.style.background !== '')")
    assert any(shaded) and not any(shaded[10:])
    assert "no words" in visit("none").sentence()


def test_code_that_got_lost_is_asked_for_and_a_tap_is_a_touch(visit: Any) -> None:
    seen = visit("lost", width=390, height=700, has_touch=True)
    assert states(seen.sentence(), "blanco", "98%", "white")
    seen.word("target", 1).tap()
    assert states(seen.sentence(), "tiene", "90%", "has")
    assert seen.word("target", 1).evaluate("(w) => w.getBoundingClientRect().height") >= 30
    # six words of large type fit one line
    tops = "(all) => new Set(all.map((w) => w.offsetTop)).size"
    assert seen.page.locator(".upper .word").evaluate_all(tops) == 1


@pytest.mark.slow
def test_64_tokens_redraw_within_a_frame(visit: Any) -> None:
    seen = visit("heat")
    times = []
    for width in (1200, 1100, 1000, 1280, 1180):
        seen.page.set_viewport_size({"width": width, "height": 800})
        settle(seen.page)
        times.append(float(seen.attribute("drawn")))
    print(f"redraw of 64 x 64 cells: {sorted(times)} ms")
    assert min(times) <= 16, "what it costs where nobody else needs the processor"


@pytest.mark.slow
def test_labels_stick_while_cells_scroll(visit: Any) -> None:
    seen = visit("heat", width=390)
    for _ in range(3):
        seen.page.get_by_label("Larger cells").click()
    scroller = seen.page.locator(".matrix .scroller")
    assert scroller.evaluate("(s) => s.scrollWidth > s.clientWidth + 100")
    before = seen.page.locator(".pane").bounding_box()
    scroller.evaluate("(s) => { s.scrollLeft = 120; s.scrollTop = 120; }")
    settle(seen.page)
    assert seen.page.locator(".pane").bounding_box() == before and seen.width() <= 390


@pytest.mark.slow
def test_a_mask_of_the_page_takes_the_place_of_what_was_painted(visit: Any) -> None:
    seen = visit("mask")
    seen.says(f"mask {CAUSAL}")
    seen.page.locator(".matrix .frame").focus()
    seen.press("ArrowDown", "ArrowRight", "Space")  # the first arrow shows where one is
    seen.says(f"mask 11{CAUSAL[2:]}")
    seen.page.get_by_text("full", exact=True).click()
    seen.says(f"mask {'1' * 36}")
