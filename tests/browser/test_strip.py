"""The token strip in a real browser: state is read from data attributes, traffic is counted on the wire."""

from __future__ import annotations

import csv
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sampling import sampled
from settling import settle
from shown_values import states
from small_app import Visitor

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
            " \\u0645\\u0631\\u062d", "\\u0628\\u0627", " " + "antidis" * 40, "\\u202e!"]
    where = [(0, 2), (2, 3), (3, 4), (3, 4), (3, 4), (4, 5), (5, 6), (6, 7), (7, 8), (9, 12), (12, 13), (13, 48), (49, 52), (52, 54), (55, 335), (335, 337)]
    w = random(16); w[11, 3] = np.nan
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


@pytest.mark.parametrize("scheme", sampled(["dark", "light"]))
def test_a_row_shades_every_token_hovering_selects_a_click_holds_and_the_switch_turns_it_round_without_a_message(
    visit: Visitor, scheme: str
) -> None:
    seen = visit("full", scheme=scheme)
    assert [seen.attribute(name) for name in ("mode", "selected", "direction")] == [scheme, "4", "from"]
    assert (weight(seen, 3), weight(seen, 4)) == ("0.9000", "0.0083")
    assert tok(seen, 3).evaluate("(t) => t.style.background") != ""
    assert states(seen.text(".sentence"), "Reading is", "90%", "I")
    assert tok(seen, 3).locator(".share").inner_text() == "90%"
    assert "0" in seen.text(".legend") and "1" in seen.text(".legend")
    before = len(seen.sent)
    tok(seen, 4).click()
    tok(seen, 3).hover()
    assert [seen.attribute(name) for name in ("selected", "held", "tip")] == ["4", "true", "90%"]
    assert seen.text(".tip") == "is → I 90%"
    tok(seen, 5).hover()
    assert seen.attribute("tip") == "1%"
    tok(seen, 4).click()  # lets go
    tok(seen, 5).hover()
    assert seen.attribute("selected") == "5"
    tok(seen, 8).hover()
    assert (seen.attribute("selected"), seen.attribute("top")) == ("8", "a:0.90")
    seen.page.get_by_role("button", name="What looks at it").click()
    assert [seen.attribute(name) for name in ("direction", "selected", "top")] == ["to", "8", "on:0.90"]
    assert states(seen.text(".sentence"), "criminal", "on: 90%")
    tok(seen, 0).hover()
    assert weight(seen, 1) == "0.9000"
    settle(seen.page)
    assert len(seen.sent) == before


@pytest.mark.slow
def test_leading_spaces_joined_pieces_and_what_may_not_be_looked_at(visit: Visitor) -> None:
    seen = visit("fbi")
    assert tok(seen, 1).locator(".space").count() == 1
    assert tok(seen, 2).locator(".space").count() == 0
    touching = seen.page.locator(".tok").evaluate_all(
        "(all) => all.map((t) => t.className.includes('close'))"
    )
    assert [i for i, close in enumerate(touching) if close] == [2, 3, 6, 12]
    right, left = (
        tok(seen, i).evaluate("(t) => { const b = t.getBoundingClientRect(); return [b.left, b.right]; }")
        for i in (1, 2)
    )
    assert abs(right[1] - left[0]) < 0.1
    assert weight(seen, 9) == "masked"
    assert "shut" in tok(seen, 9).get_attribute("class")
    assert "masked" in seen.text(".legend")
    assert tok(seen, 9).get_attribute("aria-label") == "on, masked"


@pytest.mark.slow
def test_one_line_a_word_is_the_picture_of_cheng(visit: Visitor) -> None:
    seen = visit("fbi")
    before = len(seen.sent)
    seen.page.get_by_role("button", name="A line for each word").click()
    lines = seen.page.locator(".line")
    assert (seen.attribute("form"), lines.count()) == ("lines", 13)
    for r in (0, 4, 12):
        marked = (
            lines.nth(r).locator(".tok").evaluate_all("(all) => all.map((t) => t.classList.contains('me'))")
        )
        assert [i for i, me in enumerate(marked) if me] == [r]
        weights = [weight(seen, i, r) for i in range(13)]
        assert all((w == "masked") == (i > r) for i, w in enumerate(weights))
        assert abs(sum(float(w) for w in weights if w != "masked") - 1) < 1e-3
    tok(seen, 3, 5).hover()
    assert seen.attribute("selected") == "5" and seen.attribute("tip").endswith("%")
    assert seen.text(".sentence").startswith("Reading cha")
    tok(seen, 3, 5).focus()
    for key in ("ArrowDown", "ArrowRight", "End"):
        seen.page.keyboard.press(key)
    assert seen.attribute("selected") == "6"
    assert seen.attribute("tip") == "masked"
    settle(seen.page)
    assert len(seen.sent) == before


@pytest.mark.slow
def test_two_texts_shade_each_other(visit: Visitor) -> None:
    seen = visit("pair")
    keys = seen.page.locator(".text-of.key .tok")
    assert [seen.attribute(name) for name in ("layout", "side", "top")] == ["two", "query", "white:0.98"]
    assert keys.nth(3).get_attribute("data-weight") == "0.9810"
    assert [t.inner_text() for t in seen.page.locator(".name").all()] == ["English", "Spanish"]
    keys.nth(4).hover()
    assert [seen.attribute(name) for name in ("side", "direction", "top")] == ["key", "to", "auto:0.84"]
    assert weight(seen, 3) == "0.8400"
    seen.page.get_by_role("button", name="A line for each word").click()
    assert seen.page.locator(".line").count() == 6
    seen.page.get_by_role("button", name="What it looks at").click()
    assert [t.inner_text() for t in seen.page.locator(".reader").all()] == [
        "Ella",
        "tiene",
        "un",
        "auto",
        "blanco",
        ".",
    ]
    assert weight(seen, 3, 4) == "0.9810"


@pytest.mark.slow
def test_odd_tokens_are_literal_and_bytes_are_one_character(visit: Visitor) -> None:
    seen = visit("odd")
    assert (
        int(seen.attribute("words")) == 12
    )  # 16 tokens: three bytes are one sign, three signs one astronaut
    texts = seen.page.locator(".tok .text").all_inner_texts()
    assert texts[:8] == ["Hi", "·", "🤖", "·", "👩‍🚀", "<b>", "↵", "<img src=x onerror=wind…"]
    assert texts[-2].endswith("…") and texts[-1] == "\ufffd!"
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


@pytest.mark.slow
def test_right_to_left_is_read_from_the_right(visit: Visitor) -> None:
    seen = visit("arabic")
    assert seen.page.locator(".text-of.query").get_attribute("dir") == "rtl"
    first, last = (tok(seen, i).bounding_box()["x"] for i in (0, 7))
    assert first > last
    tok(seen, 3).focus()
    assert seen.attribute("selected") == "3"  # the focus alone tells of it
    seen.page.keyboard.press("ArrowLeft")
    assert seen.attribute("selected") == "4"


@pytest.mark.slow
def test_chinese_breaks_and_the_arrows_follow_the_lines(visit: Visitor) -> None:
    seen = visit("chinese", width=390)
    assert seen.width() <= 390
    tok(seen, 2).focus()
    seen.page.keyboard.press("ArrowDown")
    assert int(seen.attribute("selected")) > 8
    seen.page.keyboard.press("Home")
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
    box = seen.page.locator(".text-of.query")
    assert box.evaluate("(b) => b.scrollTop") > 100  # the touched token is in sight
    spent = seen.page.evaluate("""() => {
        const toks = document.querySelector('*'), all = [];
        const find = (n) => { for (const e of n.querySelectorAll('*')) { if (e.shadowRoot) find(e.shadowRoot); if (e.classList?.contains('tok')) all.push(e); } };
        find(document);
        const times = [];
        for (const i of [310, 320, 330, 340, 350]) {
            const began = performance.now();
            all[i].dispatchEvent(new PointerEvent('pointerover', { bubbles: true, pointerType: 'mouse' }));
            all[i].getBoundingClientRect();
            times.push(performance.now() - began);
        }
        return Math.min(...times);
    }""")
    print(f"strip, 512 tokens: another one touched in {spent:.1f} ms")
    assert seen.attribute("selected") == "350"
    assert spent <= 120
    assert "weights" in seen.text(".legend")
    assert not seen.page.get_by_role("button", name="A line for each word").is_visible()


@pytest.mark.slow
@pytest.mark.parametrize("show", sampled(["fbi&mode=lines", "odd", "fbi", "pair", "pair&mode=lines", "long"]))
def test_a_phone_needs_no_sideways_scroll(visit: Visitor, show: str) -> None:
    assert visit(show, width=390, height=760, has_touch=True).width() <= 390


@pytest.mark.slow
def test_a_tap_selects(visit: Visitor) -> None:
    seen = visit("full", width=390, height=760, has_touch=True)
    assert seen.width() <= 390
    tok(seen, 7).tap()
    assert [seen.attribute(name) for name in ("selected", "held", "top")] == ["7", "false", "sing:0.90"]
    seen.page.get_by_role("button", name="A line for each word").tap()
    tok(seen, 6, 7).tap()
    assert seen.attribute("tip") == "90%"
    assert (
        min(seen.page.locator(".switch button").evaluate_all("(all) => all.map((b) => b.offsetHeight)")) >= 24
    )


@pytest.mark.slow
def test_choices_outlive_another_head_and_travel_in_the_address(visit: Visitor) -> None:
    seen = visit("swap")
    tok(seen, 9).click()
    seen.page.get_by_role("button", name="What looks at it").click()
    seen.page.get_by_text("b", exact=True).click()
    settle(seen.page)
    assert [seen.attribute(name) for name in ("selected", "direction", "top")] == ["9", "to", "on:1.00"]
    seen = visit("fbi")
    seen.page.get_by_role("button", name="A line for each word").click()
    seen.page.wait_for_function("location.search.includes('strip=lines.q8')")
    again = visit("fbi&strip=lines.k3")
    assert [again.attribute(name) for name in ("form", "selected", "direction")] == ["lines", "3", "to"]
    assert visit("fbi&strip=nonsense").attribute("selected") == "8"


@pytest.mark.slow
def test_linked_views_hear_and_are_heard(visit: Visitor) -> None:
    seen = visit("linked")
    seen.page.evaluate("""() => {
        window.heard = [];
        document.addEventListener('attention-atlas-hover', (e) => window.heard.push(e.detail.at));
        document.dispatchEvent(new CustomEvent('attention-atlas-hover', { detail: { group: 'one', from: null, at: { query: 6, key: 5 } } }));
    }""")
    assert (seen.attribute("selected"), seen.attribute("heard")) == ("6", "5")
    seen.page.evaluate(
        "document.dispatchEvent(new CustomEvent('attention-atlas-hover', { detail: { group: 'one', from: null, at: null } }))"
    )
    assert seen.attribute("selected") == "4"
    tok(seen, 7).hover()
    assert seen.page.evaluate("window.heard.at(-1)") == {"query": 7}
    seen.page.mouse.move(5, 5)
    assert seen.page.evaluate("window.heard.at(-1)") is None


@pytest.mark.slow
def test_what_is_saved_is_what_is_shown(visit: Visitor, alone: Any, tmp_path: Path) -> None:
    seen = visit("fbi")
    tok(seen, 4).click()
    rows = list(csv.reader(seen.saved("csv", tmp_path).read_text("utf-8-sig").splitlines()))
    assert rows[1][:4] == ["4", "0", " is", "The"] and len(rows) == 1 + 13
    assert [row[4] == "" for row in rows[1:]] == [i > 4 for i in range(13)]
    seen.page.get_by_role("button", name="A line for each word").click()
    arrays = np.load(seen.saved("npz", tmp_path))
    assert arrays["weights"].shape == (13, 13) and arrays["allowed"].sum() == 91
    assert np.allclose(arrays["weights"].sum(1), 1, atol=1e-3)
    drawn = "".join(ET.fromstring(seen.saved("svg", tmp_path).read_text("utf-8")).itertext())
    assert drawn.count("criminal") >= 13
    page = alone(seen.saved("html", tmp_path))
    page.wait_for_selector('.atlas[data-form="lines"]')
    assert page.locator(".line").count() == 13
    assert page.locator(".atlas").get_attribute("data-selected") == "4"
    arabic = visit("arabic").saved("svg", tmp_path).read_text("utf-8")
    assert "\u0628\u0627\u0644\u0639\u0627\u0644\u0645" in arabic  # the whole word, so that its letters join
