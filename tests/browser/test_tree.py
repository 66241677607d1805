"""The tree of everything tried in a real browser: state is read from data attributes, traffic is counted on the wire."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from sampling import sampled
from settling import press, settle
from shown_values import states
from small_app import Visitor, saved_texts

START = "Once upon a time"
WHY = "sum of ln p -1.20; not among the 2 best"
"""The words of the tree below beside a pruned node."""
APP = """
import math, random, streamlit as st
from viz.instruments.tree.tree import Branch, compared_node, tree

show = st.query_params.get("show", "beam")
WORDS = [" cat", " sat", " on", " the", " mat", " dog", " ran", " to", " a", " little", " house", " and", " then", " saw", "."]

def beam(steps, width=3, seed=1, over=True):
    # what a beam search leaves behind: each step the best continuations, of which `width` go on
    luck, made, open_, done = random.Random(seed), [], [(-1, 0.0)], []
    for step in range(steps):
        tried = sorted(((score + math.log(p), parent, luck.choice(WORDS), p) for parent, score in open_
                        for p in [luck.random() ** 2 * .8 + .02 for _ in range(4)]), reverse=True)[: 2 * width]
        nodes = []
        for rank, (score, parent, token, p) in enumerate(tried):
            made.append([parent, token, "open" if rank < width else "pruned", score, p])
            nodes.append((len(made) - 1, score))
        open_ = nodes[:width]
        alive = set()
        for leaf, _ in open_:
            while leaf >= 0:
                alive.add(leaf); leaf = made[leaf][0]
        for i, node in enumerate(made):
            node[2] = "open" if i in alive else "pruned"
    leaf = open_[0][0]
    ends = {node for node, _ in open_} if over else set()
    for node in ends:
        made[node][2] = "finished"
    while leaf >= 0:
        made[leaf][2] = "best"; leaf = made[leaf][0]
    says = {"pruned": "sum of ln p; not among the 3 best", "best": "the highest score"}
    return [Branch(parent, token, state, score, says.get(state, ""), p, ends=i in ends) for i, (parent, token, state, score, p) in enumerate(made)]

few = [
    Branch(-1, " cat", "best", -0.69, "greedy: the most probable", .5), Branch(-1, " dog", "pruned", -1.2, "sum of ln p -1.20; not among the 2 best", .3),
    Branch(-1, " <b>bold</b>", "open", -1.9, "kept", .15), Branch(0, " sat", "best", -0.92, "", .8), Branch(0, " ran", "now", -2.3, "your fork", .2),
    Branch(3, ".", "finished", -1.02, "END was written", .9), Branch(2, "\\n", "open", math.nan, "", math.nan), Branch(2, " " + "antidis" * 30, "pruned", -math.inf, "ruled out", 0.0),
]
PYTHON = "import viz" + chr(10) + "viz.tree()"
if show == "few":
    chosen = tree(few, key="t", root="Once upon a time the", title="Everything tried", url="tree", python=PYTHON)
    st.text(f"chosen {chosen.node}")
if show == "beam":
    chosen = tree(beam(9), key="t", root="One day, the", title="Beam search, width 3")
    st.text(f"chosen {chosen.node}")
if show == "grow":
    steps = st.slider("Steps", 1, 30, 4)
    chosen = tree(beam(30)[: 6 * steps - 2], key="t", root="One day, the")
    st.text(f"chosen {chosen.node}")
if show == "large":
    found = beam(63, width=4)
    tree(found, key="t", root="One day, the")
if show == "wide":
    luck = random.Random(2)
    tree([Branch(luck.randrange(max(-1, i - 60), i), luck.choice(WORDS), "open", -i / 10, p=luck.random()) for i in range(500)], key="t")
if show == "words":
    chain = ["She", "play", "##ed", ",", "then", "slept"]
    tree([Branch(i - 1, word, "best", -i) for i, word in enumerate(chain)], key="t", root="START")
if show == "ended":
    chain = [" The", " END", " of it", ".", "END"]
    tree([Branch(i - 1, word, "best", -i, ends=i == 4) for i, word in enumerate(chain)], key="t", root="Once.")
if show == "none":
    tree([], key="t")
if show == "one":
    tree([Branch(-1, "", "now", 0.0)], key="t")
if show == "two":
    second = compared_node("t")
    marks = {} if second is None else {"A": 4, "B": second}
    chosen = tree(few, key="t", root="Once upon a time the", marks=marks, on_second=lambda: None)
    st.text(f"chosen {chosen.node}, compared with {second}")
if show == "tall":
    made = [Branch(i - 1, WORDS[i % 15], "best" if i < 3 else "pruned", -i) for i in range(40)]
    tree(made + [Branch(place, " dead", "pruned", -9) for place in range(20) for _ in range(3)], key="t", root="One day, the")
if show == "page":
    st.radio("Node", [0, 3], key="page")
    st.text(f"chosen {tree(few, key='t', selected=st.session_state.page).node}")
"""


def walk(seen: Any, *keys: str) -> str:
    press(seen.page, *keys, at=".tree .frame")
    return seen.attribute("hover")


def spot(seen: Any, *keys: str) -> tuple[float, float]:
    """Where on the page the node stands that these keys lead to; the keyboard goes there and lets go."""
    walk(seen, *keys)
    x, y = map(int, seen.attribute("spot").split(","))
    seen.press("Escape")
    box = seen.page.locator(".tree .frame").bounding_box()
    return box["x"] + x, box["y"] + y


@pytest.mark.parametrize("scheme", sampled(["dark", "light"]))
def test_states_and_reasons_are_told_without_a_message_and_a_click_reaches_python_and_the_address(
    visit: Visitor, scheme: str
) -> None:
    seen = visit("few", scheme=scheme)
    assert seen.data("mode nodes columns shown") == [scheme, "8", "3", "8"]
    assert seen.attribute("states") == "open:2 finished:1 pruned:2 best:2 now:1"
    entries = seen.page.locator(".tree .legend .entry").evaluate_all(
        "(all) => all.map((e) => e.dataset.name)"
    )
    assert entries == ["best", "open", "finished", "pruned", "now", "wider", "score"]
    assert seen.data("now path") == ["4", f"{START} the cat ran"]
    assert seen.text(".tree .line") == f"{START} the cat ran"
    dog, bold = spot(seen, "Home", "ArrowDown"), spot(seen, "Home", "ArrowDown", "ArrowDown")
    odd, before = spot(seen, "End"), len(seen.sent)
    seen.page.mouse.move(*dog)
    assert seen.data("hover path") == ["1", f"{START} the dog"]
    node, why = seen.text(".tree .tip").split("\n")
    assert states(node, "dog", "30%", "score −1.20", "pruned") and why == WHY
    spoken = seen.page.locator('.tree div.sr[role="status"][aria-live="polite"]').text_content()
    assert f"{START} the dog" in spoken and WHY in spoken
    seen.page.mouse.move(*bold)
    assert seen.attribute("path") == f"{START} the <b>bold</b>"
    assert seen.text(".tree .tip").startswith("<b>bold</b>:")
    # numbers only: no word of a token is markup
    assert seen.page.locator(".tree .tip b").all_inner_texts() == ["15%", "\u22121.90"]
    seen.page.mouse.move(*odd)
    assert "antidis" * 30 in seen.text(".tree .tip") and "score \u2212\u221e" in seen.text(".tree .tip")
    walk(seen, "End", "ArrowUp")
    assert states(seen.text(".tree .tip"), "“↵”", "not a number", "open")
    seen.press("Escape")
    seen.page.mouse.move(5, 5)
    assert seen.data("hover path") == ["", f"{START} the cat ran"]
    settle(seen.page)
    assert len(seen.sent) == before
    seen.says("chosen None")
    seen.page.mouse.click(*spot(seen, "Home", "ArrowRight"))
    seen.says("chosen 3")
    assert seen.attribute("chosen") == "3"
    seen.page.wait_for_function("location.search.includes('tree=3')")
    again = visit("few&tree=6")
    again.says("chosen 6")
    assert again.attribute("chosen") == "6"


@pytest.mark.slow
def test_the_keyboard_alone_walks_and_chooses_and_a_link_to_no_node_chooses_none(visit: Visitor) -> None:
    visit("few&tree=%3Cb%3E").says("chosen None")
    seen = visit("few")
    seen.page.get_by_role("button", name="Save", exact=True).focus()
    seen.press("Tab")  # one stop, a ring, and the place where the reader stands
    assert seen.attribute("hover") == "4"
    ring = "(f) => f.matches(':focus-visible') && getComputedStyle(f).outlineStyle"
    assert seen.page.locator(".tree .frame").evaluate(ring) == "solid"
    steps = "Left 0, Left 0, Right 3, Right 5, Right 5, Left 3, Down 4, Down 6, Down 7, Down 7, Up 6"
    walked = [(f"Arrow{key}", there) for key, there in map(str.split, steps.split(", "))]
    for key, there in [*walked, ("End", "7"), ("Home", "0"), ("ArrowDown", "1")]:
        seen.press(key)
        assert seen.attribute("hover") == there, key
    seen.press("Enter")
    seen.says("chosen 1")
    seen.press("ArrowDown")
    assert seen.attribute("hover") == "2"  # the answer of the server does not take the place away
    seen.press(" ")
    seen.says("chosen 2")


@pytest.mark.slow
def test_the_page_and_the_visitor_take_turns(visit: Visitor) -> None:
    seen = visit("page")
    seen.says("chosen 0")
    walk(seen, "End", "Enter")
    seen.says("chosen 7")
    seen.page.get_by_text("3", exact=True).first.click()
    seen.says("chosen 3")
    assert seen.attribute("chosen") == "3"


@pytest.mark.slow
def test_growing_shows_the_newest_column_and_keeps_the_order(visit: Visitor) -> None:
    seen = visit("grow")
    assert seen.data("nodes columns slides") == ["22", "4", "false"]
    seen.page.get_by_role("slider").focus()
    seen.press("End")
    seen.page.wait_for_selector('.tree[data-columns="30"]')
    frame = seen.page.locator(".tree .frame")
    left, seen_wide, wide = frame.evaluate("(f) => [f.scrollLeft, f.clientWidth, f.scrollWidth]")
    assert left + seen_wide >= wide - 2 > seen_wide
    assert walk(seen, "End") == str(int(seen.attribute("nodes")) - 1)
    assert walk(seen, "Home") == "0" and frame.evaluate("(f) => f.scrollLeft") < left / 2
    assert [walk(seen, "ArrowDown") for _ in range(3)] == ["1", "2", "3"]  # as they were given


@pytest.mark.slow
@pytest.mark.parametrize("show", ["large", "wide"])
def test_500_nodes_stay_quick(visit: Visitor, show: str) -> None:
    seen = visit(show)
    assert int(seen.attribute("nodes")) >= 500
    assert int(seen.attribute("shown")) < 200  # only what is in sight
    before, spent = len(seen.sent), []
    for key in ["Home", *["ArrowRight"] * 5, "End", *["ArrowLeft"] * 5]:
        walk(seen, key)
        assert int(seen.attribute("shown")) < 200
        spent.append(float(seen.attribute("drawn")))
    print(f"tree, {show}: drawn in {sorted(spent)[len(spent) // 2]:.1f} ms, at most {max(spent):.1f}")
    assert len(seen.sent) == before


@pytest.mark.slow
def test_a_phone_scrolls_the_frame_and_a_finger_reads_before_it_chooses(visit: Visitor) -> None:
    for show in ("large", "few"):
        seen = visit(show, width=390, height=760, has_touch=True)
        assert seen.width() <= 390 and seen.attribute("slides") == "true"
    seen.says("chosen None")
    at = spot(seen, "Home")
    seen.page.touchscreen.tap(*at)
    why, how = seen.text(".tree .tip").split("\n")[-2:]
    assert "most probable" in why and "Tap again" in how
    assert seen.data("hover chosen") == ["0", ""]
    seen.page.touchscreen.tap(*at)
    seen.says("chosen 0")


@pytest.mark.slow
def test_no_node_and_one_node(visit: Visitor) -> None:
    seen = visit("none")
    assert seen.data("nodes states") == ["0", ""] and "Nothing" in seen.text(".tree .line")
    assert walk(seen, "ArrowRight", "Home", "Enter") == ""
    seen = visit("one")
    assert (*seen.data("nodes now"), walk(seen, "ArrowDown", "ArrowLeft")) == ("1", "0", "0")
    assert states(seen.text(".tree .tip"), "“∅”", "score 0.00", "you are here")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("show", "path"),
    [
        ("ended", "Once. The END of it. END"),
        ("words", "START She played, then slept"),
        ("tall", "One day, the cat sat on"),
    ],
)
def test_words_without_spaces_are_joined_and_the_mark_that_ends_a_text_stands_apart(
    visit: Visitor, show: str, path: str
) -> None:
    seen = visit(show)
    assert seen.attribute("path") == path
    if show == "tall":  # it opens on its root where the best end is near it
        assert seen.data("slides scrolled") == ["true", "0,0"]


@pytest.mark.slow
def test_a_large_tree_is_saved_whole(visit: Visitor, tmp_path: Path) -> None:
    seen = visit("large")
    assert seen.saved("png", tmp_path).read_bytes()[:4] == b"\x89PNG"
    words = set(re.findall(r"\S+", "cat sat on the mat dog ran to a little house and then saw ."))
    assert sum(text in words for text in saved_texts(seen.page, tmp_path)) == 500


@pytest.mark.slow
def test_a_second_node_is_chosen_by_shift_by_key_and_by_the_button(visit: Visitor) -> None:
    seen = visit("two", has_touch=True)
    seen.says("chosen None, compared with None")
    dog, bold = spot(seen, "Home", "ArrowDown"), spot(seen, "Home", "ArrowDown", "ArrowDown")
    seen.page.keyboard.down("Shift")
    seen.page.mouse.click(*dog)
    seen.page.keyboard.up("Shift")
    seen.says("chosen None, compared with 1")  # the first stays what it was
    assert seen.attribute("marks") == "A:4 B:1"
    walk(seen, "Home", "b")
    seen.says("chosen None, compared with 0")
    seen.page.mouse.move(5, 5)
    button = seen.page.get_by_role("button", name="Compare with…")
    button.click()
    pressed = seen.page.get_by_role("button", name="Choose the other text")
    assert (seen.attribute("armed"), pressed.get_attribute("aria-pressed")) == ("true", "true")
    seen.page.touchscreen.tap(*bold)
    assert "Tap again" in seen.text(".tree .tip").split("\n")[-1]
    seen.page.touchscreen.tap(*bold)
    seen.says("chosen None, compared with 2")
    assert (seen.attribute("armed"), button.get_attribute("aria-pressed")) == ("false", "false")
    seen.page.mouse.click(*dog)
    seen.says("chosen 1, compared with 2")  # the next click is the first again
    assert "Compare" not in visit("few").text(".tree .head")  # a page that compares nothing offers nothing
