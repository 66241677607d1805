"""The token strip in a real browser: state is read from data attributes, traffic is counted on the wire."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sampling import sampled
from settling import settle
from shown_values import states
from small_app import Visitor, saved_texts

APP = """
import numpy as np, streamlit as st
from viz.instruments.strip.strip import strip

def random(n, m=None, causal=False):
    w = np.random.default_rng(n).random((n, m or n)) ** 6
    w = np.where(np.tri(n, m or n, dtype=bool), w, 0) if causal else w
    return w / w.sum(1, keepdims=True)

show = st.query_params.get("show", "fbi")
fbi = ["The", " F", "B", "I", " is", " cha", "sing", " a", " criminal", " on", " the", " run", "."]
spans = [(0, 3), (4, 5), (5, 6), (6, 7), (8, 10), (11, 14), (14, 18), (19, 20), (21, 29), (30, 32), (33, 36), (37, 40), (40, 41)]
n = len(fbi)
look = np.full((n, n), .1 / (n - 1)) + np.eye(n, k=-1) * (.9 - .1 / (n - 1))
if show == "fbi":
    strip(np.where(np.tri(n, dtype=bool), random(n, causal=True), 0), fbi, spans=spans, key="s", allowed=np.tri(n, dtype=bool),
          title="Layer 2, head 5", url="strip", selected=8, mode=st.query_params.get("mode", "text"))
if show == "full":
    look[0] = 1 / n
    strip(look, fbi, spans=spans, key="s", selected=4, direction=st.query_params.get("direction", "from"))
if show == "linked":
    strip(look, fbi, spans=spans, key="s", selected=4, group="one")
if show == "pair":
    english, spanish = "She has a white car .".split(), "Ella tiene un auto blanco .".split()
    cross = np.eye(6); cross[3], cross[4] = [.01, .01, .03, .1, .84, .01], [.002, .003, .005, .981, .007, .002]
    strip(cross, spanish, keys=english, key="s", names=("English", "Spanish"), selected=4, mode=st.query_params.get("mode", "text"))
if show == "odd":
    # a robot between words: bytes, then an astronaut of three signs, Arabic, markup, a new line, a long token, bidi controls
    toks = ["Hi", " ", "‹F0›", "‹9F A4›", "‹96›", " ", "‹F0 9F 91 A9›", "‹E2 80 8D›", "‹F0 9F 9A 80›", " <b>", "\\n", "<img src=x onerror=window.owned=1>",
            " \\u0645\\u0631\\u062d", "\\u0628\\u0627", " " + "antidis" * 40, "\\u202e!", "\\u200b", "\\u00a0"]
    where = [(0, 2), (2, 3), (3, 4), (3, 4), (3, 4), (4, 5), (5, 6), (6, 7), (7, 8), (9, 12), (12, 13), (13, 48), (49, 52), (52, 54), (55, 335), (335, 337), (337, 338), (338, 339)]
    w = random(18); w[11, 3] = np.nan
    strip(w, toks, spans=where, key="s", selected=2, title="<img src=x onerror=window.owned=1>")
if show == "arabic":
    toks = "\\u0645\\u0631\\u062d\\u0628\\u0627 \\u0628\\u0627\\u0644\\u0639\\u0627\\u0644\\u0645 \\u0627\\u0644\\u062c\\u0645\\u064a\\u0644 \\u062c\\u062f\\u0627".split()
    pieces = [p for i, t in enumerate(toks) for p in ((" " if i else "") + t[:2], t[2:])]
    strip(random(len(pieces)), pieces, key="s", selected=3, special=[])
if show == "chinese":
    toks = list("注意力机制让模型在每一步都看向最相关的词语并且忽略其余部分因此翻译长句子变得容易")
    strip(random(len(toks)), toks, spans=[(i, i + 1) for i in range(len(toks))], key="s")
if show == "none":
    strip(np.zeros((0, 0)), [], key="s")
if show == "single":
    strip(np.ones((1, 1)), ["START"], special=[0], key="s")
if show == "long":
    toks = [(" " if i else "") + ["word", "a", "the", "sentence", "on", "attention"][i * 7% 6] for i in range(512)]
    strip(random(512, causal=True), toks, key="s", allowed=np.tri(512, dtype=bool), height=420, selected=300)
if show == "swap":
    which = st.radio("Head", ["a", "b"], horizontal=True)
    strip(look if which == "a" else np.eye(n), fbi, spans=spans, key="s", selected=4)
"""


def tok(seen: Any, i: int, line: int | None = None) -> Any:
    """The token `i` of the text, or of one of the lines."""
    place = ".text-of.query" if line is None else f'.line[data-line="{line}"]'
    return seen.page.locator(f'.atlas {place} .tok[data-i="{i}"]')


def weight(seen: Any, i: int, line: int | None = None) -> str:
    return tok(seen, i, line).get_attribute("data-weight")


def button(seen: Any, name: str) -> Any:
    return seen.page.get_by_role("button", name=name)


LINES, TURNED = "A line for each word", "What looks at it"


@pytest.mark.parametrize("scheme", sampled(["dark", "light"]))
def test_a_row_shades_every_token_hovering_selects_a_click_holds_and_the_switch_turns_it_round_without_a_message(
    visit: Visitor, scheme: str
) -> None:
    seen = visit("full", scheme=scheme)
    assert seen.data("mode selected direction") == [scheme, "4", "from"]
    assert (weight(seen, 3), weight(seen, 4)) == ("0.9000", "0.0083")
    assert tok(seen, 3).evaluate("(t) => t.style.background") != ""
    assert states(seen.text(".sentence"), "Reading is", "90%", "I")
    assert tok(seen, 3).locator(".share").inner_text() == "90%"
    assert {"0", "1"} <= {*seen.text(".legend").split()}
    before = len(seen.sent)
    tok(seen, 4).click()
    tok(seen, 3).hover()
    assert seen.data("selected held tip") == ["4", "true", "90%"]
    assert seen.text(".tip") == "is → I 90%"
    tok(seen, 5).hover()
    assert seen.attribute("tip") == "1%"
    tok(seen, 4).click()  # lets go
    tok(seen, 5).hover()
    assert seen.attribute("selected") == "5"
    tok(seen, 8).hover()
    assert seen.data("selected top") == ["8", "a:0.90"]
    button(seen, TURNED).click()
    assert seen.data("direction selected top") == ["to", "8", "on:0.90"]
    assert states(seen.text(".sentence"), "criminal", "on: 90%")
    tok(seen, 0).hover()
    assert weight(seen, 1) == "0.9000"
    settle(seen.page)
    assert len(seen.sent) == before


@pytest.mark.slow
def test_leading_spaces_joined_pieces_and_what_may_not_be_looked_at(visit: Visitor) -> None:
    seen = visit("fbi")
    assert [tok(seen, i).locator(".space").count() for i in (1, 2)] == [1, 0]
    close = "(all) => all.flatMap((t, i) => t.className.includes('close') ? [i] : [])"
    assert seen.page.locator(".tok").evaluate_all(close) == [2, 3, 6, 12]
    left, right = (tok(seen, i).bounding_box() for i in (1, 2))
    assert abs(left["x"] + left["width"] - right["x"]) < 0.1
    assert weight(seen, 9) == "masked" and "masked" in seen.text(".legend")
    assert "shut" in tok(seen, 9).get_attribute("class")
    assert tok(seen, 9).get_attribute("aria-label") == "on, masked"


@pytest.mark.slow
def test_one_line_a_word_is_the_picture_of_cheng(visit: Visitor) -> None:
    seen = visit("fbi")
    before = len(seen.sent)
    button(seen, LINES).click()
    lines = seen.page.locator(".line")
    assert (seen.attribute("form"), lines.count()) == ("lines", 13)
    for r in (0, 4, 12):
        marked = "(all) => all.flatMap((t, i) => t.classList.contains('me') ? [i] : [])"
        assert lines.nth(r).locator(".tok").evaluate_all(marked) == [r]
        weights = [weight(seen, i, r) for i in range(13)]
        assert [i for i, w in enumerate(weights) if w == "masked"] == [*range(r + 1, 13)]
        assert abs(sum(map(float, weights[: r + 1])) - 1) < 1e-3
    tok(seen, 3, 5).hover()
    assert seen.attribute("selected") == "5" and seen.attribute("tip").endswith("%")
    assert seen.text(".sentence").startswith("Reading cha")
    tok(seen, 3, 5).focus()
    seen.press("ArrowDown", "ArrowRight", "End")
    assert seen.data("selected tip") == ["6", "masked"]
    settle(seen.page)
    assert len(seen.sent) == before


@pytest.mark.slow
def test_two_texts_shade_each_other(visit: Visitor) -> None:
    seen = visit("pair")
    keys = seen.page.locator(".text-of.key .tok")
    assert seen.data("layout side top") == ["two", "query", "white:0.98"]
    assert keys.nth(3).get_attribute("data-weight") == "0.9810"
    assert seen.page.locator(".name").all_inner_texts() == ["English", "Spanish"]
    keys.nth(4).hover()
    assert seen.data("side direction top") == ["key", "to", "auto:0.84"]
    assert weight(seen, 3) == "0.8400"
    button(seen, LINES).click()
    assert seen.page.locator(".line").count() == 6
    button(seen, "What it looks at").click()
    assert seen.page.locator(".reader").all_inner_texts() == ["Ella", "tiene", "un", "auto", "blanco", "."]
    assert weight(seen, 3, 4) == "0.9810"


@pytest.mark.slow
def test_odd_tokens_are_literal_and_bytes_are_one_character(visit: Visitor) -> None:
    seen = visit("odd")
    # 18 tokens: three bytes are one sign, three signs one astronaut
    assert seen.attribute("words") == "14"
    texts = seen.page.locator(".tok .text").all_inner_texts()
    assert texts[:8] == ["Hi", "·", "🤖", "·", "👩‍🚀", "<b>", "↵", "<img src=x onerror=wind…"]
    assert texts[-4].endswith("…") and texts[-3:] == ["U+202E!", "U+200B", "⍽"]
    assert seen.page.evaluate("window.owned") is None
    assert seen.page.locator(".atlas img, .atlas .text > *").count() == 0
    tok(seen, 2).click()
    tok(seen, 4).hover()
    assert seen.text(".tip").endswith("(3 pieces, one character)")
    tok(seen, 10).hover()
    assert "antidis" * 20 in seen.text(".tip")
    tok(seen, 2).click()
    tok(seen, 7).hover()
    assert "not finite" in seen.text(".sentence")
    assert (weight(seen, 2), tok(seen, 2).get_attribute("aria-label")) == ("broken", "🤖, not a number")
    assert "finite number" in seen.text(".legend")
    seen.page.set_viewport_size({"width": 390, "height": 760})
    settle(seen.page)
    assert seen.width() <= 390


@pytest.mark.slow
def test_right_to_left_is_read_from_the_right(visit: Visitor, tmp_path: Path) -> None:
    seen = visit("arabic")
    assert seen.page.locator(".text-of.query").get_attribute("dir") == "rtl"
    first, last = (tok(seen, i).bounding_box()["x"] for i in (0, 7))
    assert first > last
    tok(seen, 3).focus()
    assert seen.attribute("selected") == "3"  # the focus alone tells of it
    seen.press("ArrowLeft")
    assert seen.attribute("selected") == "4"
    # the whole word, so that its letters join
    assert any(
        "\u0628\u0627\u0644\u0639\u0627\u0644\u0645" in text for text in saved_texts(seen.page, tmp_path)
    )


@pytest.mark.slow
def test_chinese_breaks_and_the_arrows_follow_the_lines(visit: Visitor) -> None:
    seen = visit("chinese", width=390)
    assert seen.width() <= 390
    tok(seen, 2).focus()
    seen.press("ArrowDown")
    assert int(seen.attribute("selected")) > 8
    seen.press("Home")
    assert seen.attribute("selected") == "0"


@pytest.mark.slow
def test_no_token_and_one(visit: Visitor) -> None:
    assert "no words" in visit("none").text(".sentence")
    seen = visit("single")
    assert states(seen.text(".sentence"), "START only: 100%")
    assert "special" in tok(seen, 0).get_attribute("class")


@pytest.mark.slow
def test_512_tokens_stay_quick_and_inside(visit: Visitor) -> None:
    seen = visit("long")
    assert (
        seen.page.locator(".text-of.query").evaluate("(b) => b.scrollTop") > 100
    )  # the touched one is in sight
    spent = seen.page.locator(".tok").evaluate_all("""(all) => Math.min(...[310, 320, 330, 340, 350].map((i) => {
        const began = performance.now();
        all[i].dispatchEvent(new PointerEvent('pointerover', { bubbles: true, pointerType: 'mouse' }));
        all[i].getBoundingClientRect();
        return performance.now() - began;
    }))""")
    print(f"strip, 512 tokens: another one touched in {spent:.1f} ms")
    assert seen.attribute("selected") == "350" and spent <= 120
    assert "weights" in seen.text(".legend")
    assert not button(seen, LINES).is_visible()


@pytest.mark.slow
def test_a_tap_selects(visit: Visitor) -> None:
    seen = visit("full", width=390, height=760, has_touch=True)
    tok(seen, 7).tap()
    assert seen.data("selected held top") == ["7", "false", "sing:0.90"]
    button(seen, LINES).tap()
    tok(seen, 6, 7).tap()
    assert seen.attribute("tip") == "90%" and seen.width() <= 390
    heights = "(all) => Math.min(...all.map((b) => b.offsetHeight))"
    assert seen.page.locator(".switch button").evaluate_all(heights) >= 24


@pytest.mark.slow
def test_choices_outlive_another_head_and_travel_in_the_address(visit: Visitor) -> None:
    seen = visit("swap")
    tok(seen, 9).click()
    button(seen, TURNED).click()
    seen.page.get_by_text("b", exact=True).click()
    settle(seen.page)
    assert seen.data("selected direction top") == ["9", "to", "on:1.00"]
    seen = visit("fbi")
    button(seen, LINES).click()
    seen.page.wait_for_function("location.search.includes('strip=lines.q8')")
    assert visit("fbi&strip=lines.k3").data("form selected direction") == ["lines", "3", "to"]
    assert visit("fbi&strip=nonsense").attribute("selected") == "8"


@pytest.mark.slow
def test_linked_views_hear_and_are_heard(visit: Visitor) -> None:
    seen = visit("linked")
    tell = """(at) => {
        if (!window.heard) document.addEventListener('attention-atlas-hover', (e) => heard.push(e.detail.at));
        window.heard ??= [];
        document.dispatchEvent(new CustomEvent('attention-atlas-hover', { detail: { group: 'one', from: null, at } }));
    }"""
    seen.page.evaluate(tell, {"query": 6, "key": 5})
    assert seen.data("selected heard") == ["6", "5"]
    seen.page.evaluate(tell, None)
    assert seen.attribute("selected") == "4"
    tok(seen, 7).hover()
    assert seen.page.evaluate("window.heard.at(-1)") == {"query": 7}
    seen.page.mouse.move(5, 5)
    assert seen.page.evaluate("window.heard.at(-1)") is None
