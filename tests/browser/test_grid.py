"""The grid of all heads in a real browser: order, colour, preview, keyboard; state is read from data attributes."""

from __future__ import annotations

from typing import Any

import pytest
from settling import press, settle
from small_app import Visitor

APP = """
import numpy as np, streamlit as st
from viz.instruments import grid

show = st.query_params.get("show", "some")
luck = np.random.default_rng(0)
KINDS = ["previous word", "first word", "the word itself", "spread out", "a mixture"]
if show == "some":
    w = np.stack([np.eye(10), np.eye(10, k=-1), np.eye(10, k=-2), np.ones((10, 10)) / 10] * 3).reshape(3, 4, 10, 10)
    kinds = [["the word itself", "previous word", "a mixture", "spread out"]] * 3
    scores = [[.9, .8, .4, .95], [.7, .99, .3, .9], [.8, .6, .2, .99]]
    measures = {"entropy": [[0, 0, 0, 3.3], [.1, .2, .3, 2.5], [.4, .5, np.nan, 1.5]], "<b>reach</b>": np.linspace(0, 1, 12).reshape(3, 4)}
    chosen = grid(w, key="g", kinds=kinds, scores=scores, measures=measures, selected=(0, 1), title="Heads", url="grid",
                  kind_order=["previous word", "the word itself"], allowed=np.tri(10, dtype=bool))
    st.text(f"chosen {chosen.head}")
if show == "many":
    n = int(st.query_params.get("n", 12))
    w = np.tril(luck.random((12, n, 64, 64)) ** 8)
    kinds = luck.choice(KINDS, (12, n)).tolist()
    chosen = grid(w / w.sum(-1, keepdims=True), key="g", kinds=kinds, scores=luck.random((12, n)), allowed=np.tri(64, dtype=bool),
                  measures={"entropy": luck.random((12, n)) * 4, "distance": luck.random((12, n)) * 20}, url="grid")
    st.text(f"chosen {chosen.head}")
if show == "page":
    sorted_ = st.radio("Tiles", ["sorted", "as they are"]) == "sorted"
    w = luck.random((2, 3, 5, 5))
    chosen = grid(w, key="g", order=[(1, 2), (0, 0), (0, 1), (1, 0), (0, 2), (1, 1)] if sorted_ else None, kinds=[["a", "b", "c"]] * 2)
    st.text(f"chosen {chosen.head}")
if show == "bare":
    w = luck.random((1, 2, 3, 3)); w[0, 1, 1, 1] = np.nan
    grid(w, key="g")
if show == "deep":
    grid(luck.random((14, 3, 4, 4)), key="g")
if show == "tiny":
    grid(np.zeros((1, 1, 0, 0)), key="g")
    grid(np.ones((2, 2, 1, 1)), key="h")
"""


def tiles(seen: Any) -> list[str]:
    return seen.attribute("tiles").split()


def choose(seen: Any, menu: str, words: str) -> None:
    seen.page.get_by_label(menu, exact=True).select_option(label=words)


def walk(seen: Any, *keys: str) -> str:
    press(seen.page, *keys, at=".heads .frame")
    return seen.attribute("hover")


def test_order_and_colour_are_chosen_without_a_message_outlive_an_update_and_enter_opens_the_right_head(
    visit: Visitor,
) -> None:
    seen = visit("some")
    before = len(seen.sent)
    assert seen.data("order colour") == ["layers", "none"]
    assert tiles(seen)[:5] == ["L0.H0", "L0.H1", "L0.H2", "L0.H3", "L1.H0"]
    choose(seen, "Order", "what they do")
    # kinds in the order that Python gave, the clearest head of each first
    ordered = "L1.H1 L0.H1 L2.H1 L0.H0 L2.H0 L1.H0 L2.H3 L0.H3 L1.H3 L0.H2 L1.H2 L2.H2"
    assert seen.attribute("tiles") == ordered
    choose(seen, "Order", "entropy")
    assert tiles(seen)[:3] == ["L0.H3", "L1.H3", "L2.H3"]
    assert tiles(seen)[-1] == "L2.H2"  # not a number: last
    choose(seen, "Colour", "what they do")
    kinds = ("P previous word (3)", "W the word itself (3)", "S spread out (3)", "M a mixture (3)")
    entries = seen.page.locator(".kinds .entry").all_inner_texts()
    assert [" ".join(text.split()) for text in entries] == [*kinds]
    choose(seen, "Colour", "<b>reach</b>")
    assert seen.text(".kinds").split("\n")[:3] == ["<b>reach</b>:", "0.00", "1.00"]
    assert walk(seen, "Home") == "L0.H3"
    assert seen.text(".tip") == "L0.H3, spread out 95%, entropy 3.30, <b>reach</b> 0.27"
    settle(seen.page)
    assert len(seen.sent) == before
    seen.page.wait_for_function("location.search.includes('grid=m0.m1')")
    choose(seen, "Order", "entropy")
    walk(seen, "Home", "ArrowRight", "Enter")
    seen.says("chosen (1, 3)")
    assert seen.data("order head") == ["m0", "1,3"]
    choose(seen, "Order", "what they do")
    assert walk(seen, "Home", "ArrowDown", "ArrowDown", "ArrowRight") == "L0.H3"  # from group to group
    seen.press("Enter")
    seen.says("chosen (0, 3)")


@pytest.mark.slow
def test_many_layers_go_across_where_there_is_room(visit: Visitor) -> None:
    seen = visit("deep")
    assert (seen.attribute("columns"), tiles(seen)[:2]) == ("14", ["L0.H0", "L1.H0"])
    assert walk(seen, "Home", "ArrowRight", "ArrowDown") == "L1.H1"


@pytest.mark.slow
def test_a_link_brings_order_and_colour_back_and_the_order_of_the_page_still_holds(visit: Visitor) -> None:
    seen = visit("some&grid=kind.m0")
    assert (*seen.data("order colour"), tiles(seen)[0]) == ("kind", "m0", "L1.H1")
    assert seen.page.get_by_label("Order", exact=True).input_value() == "kind"
    assert visit("some&grid=nonsense.m9").data("order colour") == ["layers", "none"]
    seen = visit("page")
    assert (seen.attribute("order"), tiles(seen)[:2]) == ("page", ["L1.H2", "L0.H0"])
    assert int(seen.attribute("columns")) >= 1, "an order without layers has its columns outside Present, too"
    seen.page.get_by_text("as they are", exact=True).click()
    settle(seen.page)
    assert (seen.attribute("order"), tiles(seen)[:2]) == ("layers", ["L0.H0", "L0.H1"])


@pytest.mark.slow
def test_the_pointer_shows_a_larger_head_and_a_finger_does_not(visit: Visitor) -> None:
    seen = visit("many")
    before, frame = len(seen.sent), seen.page.locator(".heads .frame")
    frame.hover(position={"x": 90, "y": 50})
    assert seen.data("hover preview") == ["L0.H0", "L0.H0 160"]
    large = seen.page.locator(".tip canvas")
    assert (large.bounding_box()["width"], large.bounding_box()["height"]) == (160, 160)
    inks = "(c) => new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size"
    assert large.evaluate(inks) > 20
    tip, x = seen.page.locator(".tip").bounding_box(), frame.bounding_box()["x"] + 90
    assert not tip["x"] <= x <= tip["x"] + tip["width"]  # never on the tile itself
    assert len(seen.sent) == before
    times = []
    for colour in ("entropy", "distance", "entropy"):
        choose(seen, "Colour", colour)
        times.append(float(seen.attribute("drawn")))
    print(f"grid, 144 heads: drawn in {times} ms")
    assert min(times) <= 60, "what it costs where nobody else needs the processor"
    phone = visit("many", width=390, height=760, has_touch=True)
    phone.page.locator(".heads .frame").tap(position={"x": 50, "y": 50})
    phone.says("chosen (0, 0)")
    assert not phone.page.locator(".tip").is_visible()


@pytest.mark.slow
@pytest.mark.parametrize(("n", "slides"), [(16, "true"), (12, "false")])
def test_tiles_are_never_smaller_than_a_finger_needs(visit: Visitor, n: int, slides: str) -> None:
    seen = visit(f"many&n={n}", width=390, height=760, has_touch=True)
    assert seen.attribute("slides") == slides
    assert walk(seen, "Home", *["ArrowRight"] * (n - 1)) == f"L0.H{n - 1}"
    if slides == "true":
        assert seen.page.locator(".heads .scroller").evaluate("(s) => s.scrollLeft") > 50
    for order in ("", "what they do", "entropy"):
        if order:
            choose(seen, "Order", order)
        assert int(seen.attribute("side")) >= 24 and seen.width() <= 390


@pytest.mark.slow
def test_a_run_without_kinds_has_no_menus_and_broken_numbers_are_marked(visit: Visitor) -> None:
    seen = visit("bare")
    assert not seen.page.get_by_label("Order", exact=True).is_visible()
    assert "finite number" in seen.text(".legend")
    assert visit("tiny").attribute("heads") == "1"
