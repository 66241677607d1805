"""Compare in a real browser: panes that mark each other's words, another head, one pane more, a link, pins from Look."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect
from settling import asked, in_link, opened, press, settle

TALL = 900
HEATS = "[data-cell][data-scale]"
PAIR = "/compare?model=gpt-mini&text=The+cat+sat+on+the+mat.&compare.panes=gpt-mini~causal~3.6%7Cgpt-mini~causal~2.1"


def compared(page, address: str, panes: int = 2) -> None:
    page.goto(address)
    drawn(page, panes)


def drawn(page, panes: int) -> None:
    """Wait until there are so many panes and one difference."""
    expect(page.locator(HEATS)).to_have_count(panes + 1)
    settle(page)


def data(page, name: str) -> list[str]:
    return page.locator(HEATS).evaluate_all("(views, name) => views.map((v) => v.dataset[name] ?? '')", name)


def texts(page) -> list[str]:
    return page.locator('[data-testid="stText"]').all_inner_texts()


def test_the_pointer_in_one_pane_marks_the_same_words_in_all_within_a_frame_and_without_the_server(
    visitor, app_url
):
    compared(visitor, app_url + PAIR)
    press(visitor, "ArrowDown", at=f"{HEATS} .frame")
    frames = asked(visitor)
    press(visitor, "ArrowDown")
    at = visitor.locator(HEATS).first.get_attribute("data-hover")
    assert at and data(visitor, "linked") == ["", at, at]
    took = visitor.locator(HEATS).evaluate_all(
        """async (views) => {
          const frame = views[0].querySelector(".frame");
          const before = views[1].dataset.linked;
          frame.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true }));
          let n = 0;
          while (views[1].dataset.linked === before && n < 10) { n += 1; await new Promise(requestAnimationFrame); }
          return n;
        }"""
    )
    assert took <= 1, f"{took} frames"
    assert asked(visitor) == frames


@pytest.mark.slow
def test_another_head_one_pane_more_and_the_link_holds_it_all(visitor, new_page, app_url):
    compared(visitor, app_url + PAIR)
    before = visitor.locator(HEATS).nth(1).inner_text()
    box = visitor.get_by_role("combobox", name="B: the head")
    box.click()
    box.fill("L0.H5")
    visitor.get_by_role("option", name="L0.H5").click()
    settle(visitor)
    assert "L0.H5" in visitor.locator(HEATS).nth(1).inner_text() != before
    visitor.get_by_role("button", name="+ pane").click()
    drawn(visitor, 3)
    visitor.get_by_text("A − C", exact=True).first.click()
    settle(visitor)
    titles, told, link = visitor.locator(HEATS).all_inner_texts(), texts(visitor), visitor.url
    assert "A − C" in titles[3]
    page = new_page(levels=())
    compared(page, link, 3)
    assert page.locator(HEATS).all_inner_texts() == titles and texts(page) == told


def follow(page) -> None:
    """Both heads mark the row that is in the link."""
    settle(page)
    rows = [cell.split(",")[0] for cell in data(page, "cell")]
    assert rows[:2] == [in_link(page, "compare.row")] * 2


@pytest.mark.slow
def test_a_row_is_chosen_by_a_pill_or_in_a_picture_and_marked_in_all(visitor, app_url):
    compared(visitor, app_url + PAIR)
    pills = visitor.get_by_test_id("stButtonGroup").filter(has_text="Where they differ most")
    pills.get_by_role("radio").nth(1).click()
    follow(visitor)
    visitor.locator(f"{HEATS} .frame").nth(1).focus()
    press(visitor, "ArrowDown", "ArrowDown", "Enter")
    follow(visitor)


@pytest.mark.slow
def test_two_heads_pinned_in_look_stand_side_by_side(visitor, app_url):
    pinned = ""
    for layer, head in ((3, 6), (2, 1)):
        link = f"/?model=gpt-mini&text=The+cat+sat.&view=full&kind=causal&layer={layer}&head={head}{pinned}"
        opened(visitor, app_url + link, HEATS)
        visitor.get_by_role("button", name="Pin", exact=True).click()
        visitor.wait_for_url("**pins=**", timeout=20000)
        pinned = f"&pins={in_link(visitor, 'pins')}"
    visitor.get_by_role("link", name="Pinned: 2, compare them").click()
    drawn(visitor, 2)
    titles = visitor.locator(HEATS).all_inner_texts()
    assert "L3.H6" in titles[0] and "L2.H1" in titles[1]
    assert visitor.get_by_role("textbox").first.input_value() == "The cat sat."
