"""The first screen in a real browser: the picture, a touch, another head, the grid, the full view, a link."""

from __future__ import annotations

import re

import pytest
from every_page import fits_sideways, shows_focus
from playwright.sync_api import expect
from settling import apart, asked, in_link, opened, press, settle
from shown_values import stating
from test_slow_parts import part_is_overtaken

TALL = 900
SOUP = "The soup is cold because the window is open."
WORDS = "[data-words]"
SEEN = "(all) => all.flatMap((one, i) => getComputedStyle(one).opacity === '1' ? [i] : [])"


def data(page, names: str) -> list[str]:
    return [page.locator(WORDS).get_attribute(f"data-{name}") or "" for name in names.split()]


def word(page, side: str, text: str | re.Pattern[str]):
    return page.locator(f'{WORDS} button[data-side="{side}"]').filter(has_text=text).first


def test_the_first_screen_fits_a_phone_is_touched_and_tells_what_a_query_is(visitor, app_url):
    visitor.set_viewport_size({"width": 390, "height": 700})
    opened(visitor, app_url + "/", WORDS)
    box = visitor.locator(WORDS).bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 391 and box["y"] + box["height"] <= 700
    assert visitor.evaluate("document.documentElement.scrollWidth") <= 390
    visitor.set_viewport_size({"width": 1280, "height": TALL})
    settle(visitor)
    shows(visitor, "white", "blanco")
    assert visitor.locator("canvas").count() >= 1
    before, frames = data(visitor, "side selected top"), asked(visitor)
    top, weight = before[2].split(":")
    assert top and 0 < float(weight) <= 1
    word(visitor, "target", "blanco").click()
    settle(visitor)
    blanco = data(visitor, "side selected top")
    word(visitor, "target", re.compile("coche|auto")).click()
    settle(visitor)
    car = data(visitor, "side selected top")
    # the aligner: blanco looks at white, coche or auto at car
    assert blanco[2].startswith("white:") and car[2].startswith("car:")
    assert asked(visitor) == frames
    pills = visitor.get_by_test_id("stButtonGroup").last.get_by_role("radio")
    assert pills.count() >= 2
    tops = {car[2]}
    for i in range(pills.count()):
        pills.nth(i).click()
        settle(visitor)
        tops |= {*data(visitor, "top")}
    assert len(tops) >= 2

    # the first minute: it plays by itself and is walked by keyboard
    visitor.get_by_role("button", name="What is a query, a key, a value?").click()
    sequence = visitor.locator(".qkv[data-scene]")
    sequence.wait_for()
    assert sequence.get_attribute("data-playing") == "true"
    visitor.locator(".qkv .play").click()
    assert sequence.get_attribute("data-playing") == "false"
    visitor.locator(".qkv .stop").first.focus()
    for key, scene in zip(("Home", *["ArrowRight"] * 5), "123455", strict=True):
        visitor.keyboard.press(key)
        assert sequence.get_attribute("data-scene") == scene
    assert in_link(visitor, "look.minute") == "1"
    share = visitor.locator(".qkv .weight .largest b").inner_text()
    assert share in visitor.locator(".qkv .told").inner_text()
    visitor.keyboard.press("Escape")
    visitor.wait_for_function("!new URLSearchParams(location.search).has('look.minute')")
    assert share in visitor.locator(".words .sentence").first.inner_text()

    # a sentence of one's own, whose markup stays text, a ready-made one, and back
    box = visitor.get_by_test_id("stTextInput").get_by_role("textbox")
    box.fill("My own <img src=x onerror=alert(1)> <b>car</b> is red.")
    box.press("Enter")
    shows(visitor, "own", "img")
    assert visitor.locator('[data-testid="stMain"] :is(img[src="x"], .words b b)').count() == 0
    assert 4 <= sentences(visitor).count() <= 6
    visitor.get_by_role("button", name="7 more").click()
    settle(visitor)
    visitor.get_by_text(SOUP).click()
    shows(visitor, "window", "sopa")
    assert visitor.get_by_test_id("stRadio").count() == 0, "the list closes with a choice"
    assert in_link(visitor, "text") == SOUP and visitor.get_by_text(stating("fría", "sopa")).count() >= 1
    assert box.input_value() == SOUP
    sentences(visitor)
    apart(visitor)
    visitor.get_by_role("button", name="Back to").click()
    shows(visitor, "own")
    visitor.go_back()
    shows(visitor, "window", "sopa")
    settle(visitor)
    part_is_overtaken(visitor, answered=False)


def test_from_the_first_screen_to_the_full_view_and_to_a_head_that_is_switched_off(visitor, app_url):
    """Two clicks; between them heatmap and lines mark the same word, a choice is calculated, and whatever has the focus shows it."""
    opened(visitor, app_url + "/?look.beside=lines", WORDS)
    visitor.get_by_role("button", name="How is it computed?").click()
    visitor.wait_for_selector("[data-cell][data-scale]")
    visitor.locator(".arith").scroll_into_view_if_needed()
    visitor.wait_for_selector(".arith[data-lines]")
    visitor.wait_for_selector(".source[data-taps]")
    settle(visitor)
    frames, heatmap = asked(visitor), visitor.locator("[data-cell][data-scale]")
    # the first one shows where the pointer stands
    press(visitor, "ArrowDown", "ArrowDown", "ArrowLeft", at=".matrix .frame")
    row = heatmap.get_attribute("data-hover").split(",")[0]
    settle(visitor)
    assert visitor.locator("[data-touched]").first.get_attribute("data-touched") == f"query:{row}"
    assert asked(visitor) == frames
    before = visitor.locator(".arith").get_attribute("data-weight")
    visitor.keyboard.press("Enter")
    settle(visitor)
    assert heatmap.get_attribute("data-cell").split(",")[0] == row
    expect(visitor.locator(".arith")).not_to_have_attribute("data-weight", before)
    settle(visitor)
    frames, steps = asked(visitor), visitor.locator(".arith .step").count()
    for place in ("h1", ".arith"):
        visitor.locator(place).first.scroll_into_view_if_needed()
        settle(visitor)
    now = asked(visitor), visitor.locator(".arith .step").count()
    assert now == (frames, steps) and steps > 10, "scrolling past what is true says nothing"
    visitor.locator("h1").first.click()
    assert any("save-open" in name for name in shows_focus(visitor))
    visitor.set_viewport_size({"width": 390, "height": 844})
    settle(visitor)
    fits_sideways(visitor, 390)
    visitor.set_viewport_size({"width": 1280, "height": TALL})
    visitor.get_by_role("link", name="Switch this head off").click()
    told = visitor.get_by_text(re.compile(r"^Without L\d+\.H\d+"))
    told.first.wait_for()
    expect(visitor.get_by_role("button", name=re.compile("zero-ablated"))).to_have_count(1)
    assert re.search(r"\d", told.first.inner_text().split("Without", 1)[1])


def sentences(page):
    """The open list of ready-made sentences."""
    page.get_by_role("button", name="Try a sentence").click()
    page.wait_for_selector('[data-testid="stRadio"]')
    settle(page)
    return page.get_by_test_id("stRadio").get_by_role("radio")


def shows(page, *words: str) -> None:
    """Wait until the picture holds these words."""
    for _ in range(100):
        settle(page)
        if all(word in data(page, "words")[0] for word in words):
            return
    raise AssertionError(f"{words} are not in {data(page, 'words')}")


@pytest.mark.slow
def test_the_list_of_sentences_fits_a_phone(new_page, app_url):
    page = new_page(levels=(), viewport={"width": 390, "height": 700}, has_touch=True)
    opened(page, app_url + "/?model=gpt-mini", WORDS)
    sentences(page)
    for label in page.get_by_test_id("stRadio").locator("label:has(input)").all():
        box = label.bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= 390
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_text("Mona Lisa").tap()
    shows(page, "Mona", "Leonardo")


@pytest.mark.slow
def test_of_several_pictures_one_save_is_seen(visitor, app_url):
    opened(visitor, app_url + "/?view=full&look.beside=lines", WORDS)
    saves = visitor.locator(".save-open")

    def seen() -> list[int]:
        return saves.evaluate_all(SEEN)

    assert saves.count() >= 4 and seen() == []
    for number in range(saves.count()):
        saves.nth(number).hover()
        assert seen() == [number]
    visitor.mouse.move(0, 0)
    saves.nth(1).focus()
    assert seen() == [1]
