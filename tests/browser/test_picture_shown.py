"""A picture under cells in a real browser: what is chosen, touched, told and coloured; what Python hears, and what it does not."""

from __future__ import annotations

from typing import Any

import pytest
from sampling import sampled
from settling import press, settle
from shown_values import states
from small_app import Visitor

APP = """
import numpy as np, streamlit as st
from viz.instruments import HeadContext, clicked_head, grid_packet, picture_view, show_grid, make_stack

show = st.query_params.get("show", "words")
board = np.zeros((28, 28), dtype=np.uint8)
board[4:24, 12:15] = 255
board[12:15, 4:24] = 255
map_of = lambda n, m, seed=0: np.random.default_rng(seed).dirichlet(np.full(m, .12), size=n)
if show == "words":
    look = np.full((3, 16), .01); look[0, 5] = .85; look[1, 10] = .45; look[1, 9] = .41; look[2] = 1 / 16
    picture_view(255 - board, look, (4, 4), rows=["a", "<b>cross</b>", "."], subject="the model", title="Caption", url="look", key="p", names=("Words", "Scene"))
if show == "cells":
    look = map_of(50, 50); look[0] = .01; look[0, 25] = .51
    may = np.ones((50, 50), dtype=bool); may[:, 49] = False
    seen = picture_view(board, look, (7, 7), special=["class token"], allowed=may, title="Layer 3, head 1", key="p", group="one")
    st.text(f"query {seen.query}")
if show == "frames":
    sound = np.random.default_rng(0).integers(0, 200, (40, 240))
    picture_view(sound, map_of(4, 60), (1, 60), rows=list("four"), called=[f"{i / 25:.2f} s" for i in range(60)], key="p", subject="the model", title="Letters")
if show == "colours":
    scene = np.full((64, 64, 3), 255); scene[10:30, 10:30] = (220, 40, 40); scene[36:60, 34:58] = (40, 90, 220)
    picture_view(scene, map_of(7, 64, 3), (8, 8), rows="a red box above a blue one".split(), key="p", subject="the model", title="Caption")
if show == "heads":
    heads = np.random.default_rng(2).dirichlet(np.full(50, .2), size=(2, 2, 50))
    heads[1, 0, 0] = 0; heads[1, 0, 0, 25] = 1
    at, turn = clicked_head("g")
    at = at or (0, 0)
    show_grid(grid_packet(heads, group="one"), key="g", selected=at, echo=turn)
    picture_view(board, heads[at], (7, 7), special=["class token"], key="p", group="one", title=f"Look of L{at[0]}.H{at[1]}", titled="Look of {head}", among=HeadContext(make_stack(heads), at, turn))
    st.text(f"Python has {at}")
if show == "odd":
    look = np.full((4, 4), .25); look[0, 1] = np.nan
    picture_view(np.zeros((1, 1)), look, (2, 2), key="p", title="<img src=x onerror=window.owned=1>")
"""


def key(seen: Any, i: int) -> Any:
    return seen.page.locator(f'.atlas .key[data-i="{i}"]')


def pixel(seen: Any, x: float, y: float) -> list[int]:
    """The colour of the picture at these parts of its width and height."""
    return seen.page.locator(".canvas canvas").evaluate(
        "(c, [x, y]) => [...c.getContext('2d').getImageData(c.width * x, c.height * y, 1, 1).data].slice(0, 3)",
        [x, y],
    )


@pytest.mark.parametrize("scheme", sampled(["dark", "light"]))
def test_a_chosen_word_shades_the_cells_and_the_server_hears_nothing(visit: Visitor, scheme: str) -> None:
    seen = visit("words", scheme=scheme)
    assert seen.data("mode ground selected") == [scheme, "light", "0"]
    assert states(seen.text(".sentence"), "Writing a", "85%", "row 2, column 2")
    assert key(seen, 5).inner_text() == "85%" and key(seen, 5).get_attribute("data-weight") == "0.8500"
    assert pixel(seen, 0.3, 0.3) == [0x1A, 0x21, 0x52], "ground of the largest weight has its colour"
    assert max(pixel(seen, 0.464, 0.8)) < 60, "lines stay lines"
    before = len(seen.sent)
    seen.page.locator('.ask[data-i="1"]').click()
    assert states(seen.text(".sentence"), "<b>cross</b>", "45%")
    key(seen, 9).hover()
    assert seen.text(".tip") == "<b>cross</b> → row 3, column 2 41%"
    seen.page.locator('.ask[data-i="1"]').focus()
    seen.page.keyboard.press("ArrowRight")
    assert states(seen.text(".sentence"), "90%", "15 cells") and seen.attribute("selected") == "2"
    seen.page.get_by_role("button", name="A picture for each").click()
    assert seen.page.locator(".small").count() == 3 and not seen.page.locator(".stage").is_visible()
    seen.page.locator(".small").nth(1).click()
    assert (seen.attribute("form"), seen.attribute("selected")) == ("one", "1")
    settle(seen.page)
    assert len(seen.sent) == before and "look=one.q1" in seen.page.url


@pytest.mark.slow
def test_a_chosen_cell_looks_and_python_hears_of_it(visit: Visitor) -> None:
    seen = visit("cells")
    seen.says("query None")
    assert states(seen.text(".sentence"), "class token", "51%", "row 4, column 4")
    assert key(seen, 49).get_attribute("data-weight") == "masked"
    assert pixel(seen, 0.01, 0.01)[0] < 60, "black ground of a small weight stays dark"
    key(seen, 25).click()
    seen.says("query 25")
    assert key(seen, 25).get_attribute("aria-selected") == "true"
    seen.page.keyboard.press("Tab")
    key(seen, 25).focus()
    seen.press("ArrowDown", "ArrowRight", "Home")
    focused = (
        "document.activeElement.shadowRoot?.activeElement?.dataset.i ?? document.activeElement.dataset.i"
    )
    assert seen.page.evaluate(focused) == "29"
    assert seen.attribute("tip") not in ("", None)
    seen.page.keyboard.press("Enter")
    seen.says("query 29")
    seen.page.get_by_role("button", name="What looks at it").click()
    assert seen.attribute("side") == "key" and "row 5, column 1" in seen.text(".sentence")


@pytest.mark.slow
def test_another_head_of_the_grid_is_drawn_from_the_stack(visit: Visitor) -> None:
    seen = visit("heads", height=1400)
    assert seen.page.locator(".picture .title").inner_text() == "Look of L0.H0"
    press(seen.page, "Home", "ArrowDown", "Enter", at=".heads .frame")
    seen.says("Python has (1, 0)")
    assert seen.page.locator(".picture .title").inner_text() == "Look of L1.H0"
    assert states(seen.text(".picture .sentence"), "class token", "100%", "row 4")
    assert seen.page.locator(".picture .legend").inner_text().split()[:3] == ["weight", "0", "1"]


@pytest.mark.slow
def test_a_finger_chooses_and_reads_the_weight(visit: Visitor) -> None:
    seen = visit("cells", width=390, has_touch=True, is_mobile=True)
    key(seen, 12).tap()
    seen.says("query 12")
    assert seen.text(".tip").endswith("%") and seen.width() <= 390


@pytest.mark.slow
def test_frames_fill_the_width_and_what_is_odd_is_told(visit: Visitor) -> None:
    seen = visit("frames", width=390)
    box = seen.page.locator(".canvas canvas").bounding_box()
    assert box["width"] > 300 and box["height"] >= 100 and seen.width() <= 390
    assert " s." in seen.text(".sentence") or " s (" in seen.text(".sentence")
    odd = visit("odd")
    assert "not finite" in odd.text(".sentence") and "finite number" in odd.text(".legend")
    assert (
        odd.text(".title") == "<img src=x onerror=window.owned=1>"
        and odd.page.evaluate("window.owned") is None
    )
