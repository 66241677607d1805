"""The head view in a real browser: state is read from data attributes, traffic is counted on the wire."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest
from settling import press, settle
from shown_values import states
from small_app import Visit, token_at

APP = '''
import numpy as np, streamlit as st
from viz.instruments import head_view, heatmap

PROSE = """The animal did not cross the street because it was too tired , and the people who had been waiting at
the corner since early morning went home without a word , for the light had long gone from the windows and nobody
wanted to be the last one who stayed behind in the cold""".split()
ask = st.query_params
show, n, h = ask.get("show", "lines"), int(ask.get("n", 8)), int(ask.get("h", 1))
causal = "causal" in ask

def made(h, n, m=None, causal=False):
    """Heads of clear kinds: previous word, first word, itself, and sharp ones by chance; rows sum to 1."""
    m = m or n
    rng = np.random.default_rng(3)
    out = rng.dirichlet(np.full(m, .06), size=(h, n)) * .9 + .1 / m
    for head in range(h):
        for q in range(n):
            if head % 4 == 1: out[head, q] = .1 / m; out[head, q, max(0, q - 1) % m] += .9
            if head % 4 == 2: out[head, q] = .3 / m; out[head, q, 0] += .7
    if causal: out = out * np.tri(n, m)
    return out / out.sum(-1, keepdims=True)

words = (PROSE * 12)[:n]
if show == "lines":
    head_view(made(h, n, causal=causal), words, words, key="v", url="word", selected=ask.get("word"), title=ask.get("title", ""),
              allowed=np.tri(n, dtype=bool) if causal else None, layout=ask.get("layout", "auto"))
if show in ("known", "known and odd"):
    w = np.array([[[.7, .1, .1, .1], [.5, .3, .15, .05], [.02, .18, .5, .3], [.25, .25, .25, .25]],
                  [[.1, .1, .1, .7], [.1, .6, .2, .1], [.0, .9, .05, .05], [.97, .01, .01, .01]]])
    head_view(w, ["[CLS]", "cats", "dogs", "sleep"], ["[CLS]", "cats", "dogs", "sleep"], key="k", heads=[2, 7], special=[0])
if show == "pair":
    text, marks = "[CLS] do cats sleep [SEP] yes they do [SEP]".split(), [0, 0, 0, 0, 0, 1, 1, 1, 1]
    head_view(made(2, 9), text, text, key="v", segments=marks, special=[0, 4, 8])
if show == "arabic":
    text = "\\u062c\\u0644\\u0633 \\u0627\\u0644\\u0648\\u0644\\u062f \\u0641\\u064a \\u0627\\u0644\\u062d\\u062f\\u064a\\u0642\\u0629 \\u0648\\u0642\\u0631\\u0623 \\u0643\\u062a\\u0627\\u0628\\u0627 (1984) .".split()
    head_view(made(h, len(text)), text, text, key="v", layout=ask.get("layout", "auto"))
if show == "toarabic":
    english, arabic = "The boy read a book .".split(), "\\u0642\\u0631\\u0623 \\u0627\\u0644\\u0648\\u0644\\u062f \\u0643\\u062a\\u0627\\u0628\\u0627 .".split()
    head_view(made(1, 4, 6), arabic, english, key="v", axis=("Arabic", "English"), reading=False)
if show == "chinese":
    text = list("\\u56e0\\u4e3a\\u592a\\u7d2f\\u4e86\\u6240\\u4ee5\\u90a3\\u53ea\\u52a8\\u7269\\u6ca1\\u6709\\u8fc7\\u9a6c\\u8def\\u3002" * int(ask.get("times", 1)))
    head_view(made(h, len(text)), text, text, key="v")
if show in ("odd", "known and odd"):
    evil = ["<img src=x onerror=window.owned=1>", " leading", "\\u202egnp.exe", "a" * 60]
    w = np.eye(4)[None].copy(); w[0, 1, 1] = np.nan
    head_view(w, evil, evil, key="v", title="<b>", allowed=np.array([[1, 1, 1, 1], [1, 1, 1, 1], [0, 0, 0, 0], [1, 1, 1, 1]], bool))
    head_view(np.zeros((1, 0, 0)), [], [], key="none")
    head_view([[1.0]], ["one"], ["one"], key="one")
if show == "asked":
    count = st.session_state.setdefault("count", 0)
    got = head_view(made(3, 8), words, words, key="v", on_touched_change=lambda: st.session_state.update(count=st.session_state.count + 1))
    st.text(f"touched {got.pinned} heads {got.heads} after {st.session_state.count}")
if show == "linked":
    w = made(2, 8)
    head_view(w, words, words, key="a", group="g")
    head_view(w, words, words, key="b", group="g")
    head_view(w, words, words, key="c")
if show == "other":
    which = st.radio("Sentence", ["first", "second"], horizontal=True)
    w = made(4, 8)
    head_view(w if which == "first" else w[:, ::-1], words if which == "first" else words[::-1], words if which == "first" else words[::-1], key="v")
'''
KNOWN = np.array(
    [
        [[0.7, 0.1, 0.1, 0.1], [0.5, 0.3, 0.15, 0.05], [0.02, 0.18, 0.5, 0.3], [0.25, 0.25, 0.25, 0.25]],
        [[0.1, 0.1, 0.1, 0.7], [0.1, 0.6, 0.2, 0.1], [0.0, 0.9, 0.05, 0.05], [0.97, 0.01, 0.01, 0.01]],
    ]
)
LEAST = 4 / 255


class Seen(Visit):
    """A page, and where the tokens of a view are."""

    tall = 900

    def get(self, name: str, n: int = 0) -> str:
        return str(self.attribute(name, n))

    def share(self, name: str) -> list[float]:
        return [float(part) for part in self.get(name).split(",")]

    def sentence(self, n: int = 0) -> str:
        return self.page.locator(".sentence").nth(n).inner_text()

    def place(self, side: str, index: int, n: int = 0) -> tuple[float, float]:
        return token_at(self.page, side, index, n)

    def hover(self, side: str, index: int, n: int = 0) -> None:
        self.page.mouse.move(*self.place(side, index, n))

    def click(self, side: str, index: int, n: int = 0) -> None:
        self.page.mouse.click(*self.place(side, index, n))

    def chip(self, head: int) -> Any:
        return self.page.locator(f'.chip[data-head="{head}"]')

    def pill(self, name: str) -> Any:
        return self.page.get_by_role("button", name=name, exact=True)


@pytest.mark.slow
def test_a_line_for_each_weight_that_can_be_seen_the_others_are_told_and_tokens_are_never_markup(
    visit: Any,
) -> None:
    seen = visit("known and odd", height=2400)
    known = seen.page.locator(".atlas").first
    assert int(seen.get("lines")) == np.count_nonzero(KNOWN >= LEAST)
    assert seen.get("heads") == "2,7"
    shown = KNOWN[KNOWN >= LEAST].sum() / KNOWN.sum()
    assert float(seen.get("shown")) == pytest.approx(shown, abs=1e-4)
    assert seen.share("hidden") == pytest.approx([0, 0, 0, 1 - shown], abs=1e-4)
    less, note = 0, known.locator(".note")
    for at in range(1, 8):
        known.locator(".field input").fill(str(at))
        shares = [float(share) for share in re.findall(r"([\d.]+)% (?:of all weight|in )", note.inner_text())]
        assert sum(shares) == pytest.approx(100, abs=0.01), shares
        less += len(shares) == 2 and min(shares) < 10
    assert less, "a share that is told with one digit beside one that is told with none would not"
    assert int(seen.get("lines")) == np.count_nonzero(KNOWN >= 0.3)
    assert "The lines show" in note.inner_text() and "lines under 30%" in note.inner_text()
    known.locator(".field input").fill("0")
    known.locator("select").select_option("1")
    assert int(seen.get("lines")) == 8  # two heads, four rows
    assert float(seen.get("shown")) == pytest.approx(KNOWN.max(-1).sum() / KNOWN.sum(), abs=1e-4)
    assert "weaker lines" in note.inner_text()

    seen.hover("query", 0, 1)
    assert "100%" in seen.sentence(1) and seen.sentence(1).count("<img src=x onerror=window.owned=1>") == 2
    seen.hover("query", 1, 1)
    assert states(seen.sentence(1), "·leading", "not finite")
    seen.hover("query", 2, 1)
    assert "\u202e" not in seen.sentence(1)
    assert "masked" in seen.sentence(1)
    assert states(seen.page.locator(".note").nth(1).inner_text(), "1 weight", "finite number")
    assert seen.page.evaluate("window.owned") is None
    assert seen.page.locator(".atlas img").count() == 0
    assert "no words" in seen.sentence(2)
    assert (seen.get("lines", 3), seen.get("shown", 3)) == ("1", "1.0000")


@pytest.mark.slow
def test_a_touched_token_keeps_its_lines_and_the_others_fade(visit: Any) -> None:
    seen = visit("known")
    before = len(seen.sent)
    base = seen.page.locator("canvas.base")
    assert base.evaluate("(c) => c.style.opacity") == "1"
    seen.hover("query", 1)
    assert seen.get("touched") == "query:1"
    assert float(base.evaluate("(c) => c.style.opacity")) < 0.2
    assert int(seen.get("touched-lines")) == np.count_nonzero(KNOWN[:, 1] >= LEAST)
    assert [float(w) for w in seen.get("weights").split()] == pytest.approx(KNOWN[:, 1].max(0), abs=1e-3)
    assert states(seen.sentence(), "cats", "head 7 gives 60%", "head 2 gives 50%", "[CLS]")
    seen.hover("key", 3)
    assert seen.get("touched") == "key:3"
    assert int(seen.get("touched-lines")) == np.count_nonzero(KNOWN[:, :, 3] >= LEAST)
    most = "[CLS] (70% by head 7), dogs (30% by head 2), sleep (25% by head 2)"
    assert states(seen.sentence(), "sleep", most)
    seen.page.mouse.move(2, 2)
    assert (seen.get("touched"), base.evaluate("(c) => c.style.opacity")) == ("", "1")
    settle(seen.page)
    assert len(seen.sent) == before


def test_a_click_pins_a_tap_too_and_the_keyboard_reaches_every_token(visit: Any) -> None:
    seen = visit("lines")
    seen.click("query", 3)
    seen.page.mouse.move(2, 2)
    assert (seen.get("pinned"), seen.get("touched")) == ("query:3", "query:3")
    seen.click("query", 3)
    assert seen.get("pinned") == ""
    seen.page.mouse.move(2, 2)
    frame = seen.page.locator(".lines .frame")
    assert frame.get_attribute("role") == "application"
    assert states(frame.get_attribute("aria-label"), "8 query words", "8 key words")
    assert seen.page.locator(".sentence").get_attribute("role") == "status"
    frame.focus()
    walked = []
    for key in ("ArrowRight", "ArrowRight", "ArrowUp", "End", "ArrowDown", "Home", "Enter", "Escape"):
        seen.press(key)
        walked.append(seen.get("touched"))
    assert walked == ["query:0", "query:1", "key:1", "key:7", "query:7", "query:0", "query:0", ""]
    assert frame.evaluate("(f) => getComputedStyle(f).outlineStyle") == "solid"
    controls = seen.page.locator(".lines :is(button, select, input):visible")
    assert (
        controls.evaluate_all("(all) => Math.min(...all.map((c) => c.getBoundingClientRect().height))") >= 24
    )
    phone = visit("lines&h=3", width=390, has_touch=True)
    phone.page.touchscreen.tap(*phone.place("key", 2))
    assert phone.get("touched") == "key:2"
    rows = [float(at) for at in phone.get("places").split("|")[0].split(":")[1].split()]
    assert min(np.diff(rows)) >= 24  # a finger needs room


@pytest.mark.slow
def test_chips_switch_heads_and_have_a_second_sign_beside_their_colour(visit: Any) -> None:
    seen = visit("lines&h=12&n=10")
    dashes = "(all) => all.map((c) => [...c.getContext('2d').getImageData(0, c.height / 2, c.width, 1).data].filter((_, i) => i % 4 === 3).map((a) => Number(a > 128)).join(''))"
    samples = seen.page.locator(".chip canvas").evaluate_all(dashes)  # whatever the colour
    assert len(set(samples)) == 5 and all(a != b for a, b in itertools.pairwise(samples))
    assert seen.page.locator(".chip").all_inner_texts() == [str(h) for h in range(12)]
    before = len(seen.sent)
    assert seen.get("heads") == ",".join(map(str, range(12)))
    seen.chip(3).click()
    assert seen.get("heads") == "0,1,2,4,5,6,7,8,9,10,11"
    assert seen.chip(3).get_attribute("aria-pressed") == "false"
    seen.chip(5).dblclick()
    assert seen.get("heads") == "5"
    seen.chip(7).click(modifiers=["Shift"])
    assert seen.get("heads") == "7"
    seen.page.get_by_label("None of the heads").click()
    assert (seen.get("heads"), seen.get("lines")) == ("", "0")
    assert "No head" in seen.sentence()
    seen.page.get_by_label("All heads").click()
    assert seen.get("heads").count(",") == 11
    seen.chip(2).focus()
    seen.page.keyboard.press("Shift+Enter")
    assert seen.get("heads") == "2"
    press(seen.page, "4", "9", "2", at=".lines .frame")
    assert seen.get("heads") == "4,9"
    seen.press("Shift+Digit9")
    assert seen.get("heads") == "9"
    settle(seen.page)
    assert len(seen.sent) == before


@pytest.mark.slow
def test_hidden_tokens_and_the_share_they_held(visit: Any) -> None:
    seen = visit("known")
    total = KNOWN.sum()
    seen.page.get_by_text("Hide first token").click()
    assert seen.share("hidden")[0] == pytest.approx(KNOWN[:, :, 0].sum() / total, abs=1e-4)
    first = f"{KNOWN[:, :, 0].sum() / total:.0%}"
    assert states(seen.page.locator(".note").inner_text(), first, "first token", "hidden")
    assert int(seen.get("lines")) == np.count_nonzero(KNOWN[:, :, 1:] >= LEAST)
    seen.hover("query", 3)
    assert states(seen.sentence(), "Hidden: 61%")
    seen.page.get_by_text("Hide special tokens").click()
    assert seen.share("hidden")[1] == pytest.approx(KNOWN[:, 0, 1:].sum() / total, abs=1e-4)
    seen.page.get_by_text("Hide first token").click()
    assert seen.share("hidden")[:2] == pytest.approx(
        [0, (KNOWN[:, :, 0].sum() + KNOWN[:, 0, 1:].sum()) / total], abs=1e-4
    )
    assert float(seen.get("shown")) + sum(seen.share("hidden")) == pytest.approx(1, abs=1e-3)
    seen.page.locator(".lines select").select_option("1")  # the strongest of what is left
    assert int(seen.get("lines")) == 5  # three rows of two heads; one row has nothing left that can be seen
    seen.click("query", 0)
    assert states(seen.sentence(), "[CLS]", "hidden")


@pytest.mark.slow
def test_pairs_of_sentences(visit: Any) -> None:
    seen = visit("pair")
    everything, counts = int(seen.get("lines")), []
    for only in range(4):
        for p, text in enumerate(("A→A", "A→B", "B→A", "B→B")):
            button = seen.page.get_by_text(text, exact=True)
            if (button.get_attribute("aria-pressed") == "true") != (p == only):
                button.click()
        counts.append(int(seen.get("lines")))
        assert float(seen.get("shown")) + sum(seen.share("hidden")) == pytest.approx(1, abs=1e-3)
    assert sum(counts) == everything and all(counts)
    seen.page.get_by_text("A→B", exact=True).click()
    seen.page.get_by_text("B→B", exact=True).click()  # now A to B only
    seen.hover("query", 1)
    weights = [float(w) for w in seen.get("weights").split()]
    assert max(weights[:5]) == 0 < max(weights[5:])
    seen.hover("query", 6)
    assert states(seen.sentence(), "they", "hidden")
    assert "other sentences, hidden" in seen.page.locator(".note").inner_text()


@pytest.mark.slow
def test_a_link_restores_the_pinned_token(visit: Any) -> None:
    seen = visit("lines")
    seen.click("key", 4)
    seen.page.wait_for_function("location.search.endsWith('word=s4')")
    assert visit("lines&word=s4").get("pinned") == "key:4"
    assert visit("lines&word=nonsense").get("pinned") == ""


@pytest.mark.slow
def test_views_of_a_group_hear_each_other(visit: Any) -> None:
    seen = visit("linked", height=1600)
    before = len(seen.sent)
    seen.hover("query", 4, 0)
    assert [seen.get("touched", n) for n in range(3)] == ["query:4", "query:4", ""]
    seen.hover("key", 2, 1)
    assert [seen.get("touched", n) for n in range(3)] == ["key:2", "key:2", ""]
    seen.page.mouse.move(2, 2)
    assert [seen.get("touched", n) for n in range(3)] == ["", "", ""]
    seen.page.evaluate(
        "document.dispatchEvent(new CustomEvent('attention-atlas-hover', {detail: {group: 'g', from: null, at: {query: 5, key: 1}}}))"
    )
    assert (seen.get("touched"), seen.get("mark")) == ("query:5", "key:1")
    assert len(seen.sent) == before


@pytest.mark.slow
def test_python_hears_what_was_pinned_only_if_it_asked(visit: Any) -> None:
    seen = visit("asked")
    before = len(seen.sent)
    for index in range(8):
        seen.hover("query", index)
    settle(seen.page)
    assert len(seen.sent) == before
    seen.click("query", 3)
    seen.says("touched ('query', 3) heads (0, 1, 2) after 1")
    seen.chip(1).click()
    seen.says("touched ('query', 3) heads (0, 2) after 2")
    seen.click("query", 3)
    seen.says("touched None heads (0, 2) after 3")
    silent = visit("lines&h=3")
    before = len(silent.sent)
    silent.click("query", 3)
    silent.chip(1).click()
    settle(silent.page)
    assert len(silent.sent) == before
