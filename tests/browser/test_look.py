"""The first screen in a real browser: the picture, a touch, another head, the grid, the full view, a link."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect
from sampling import sampled
from settling import apart, asked, settle

TALL = 900
WORDS = "[data-words]"
OPACITIES = "(all) => all.map((one) => getComputedStyle(one).opacity)"


def opened(page, address: str) -> None:
    page.goto(address)
    page.wait_for_selector(WORDS)
    settle(page)


def data(page, name: str) -> str:
    return page.locator(WORDS).get_attribute(f"data-{name}") or ""


def word(page, side: str, text: str | re.Pattern[str]):
    return page.locator(f'{WORDS} button[data-side="{side}"]').filter(has_text=text).first


def test_the_first_screen_shows_the_crossing_and_a_touch_or_another_head_changes_it(visitor, app_url):
    opened(visitor, app_url + "/")
    assert "white" in data(visitor, "words") and "blanco" in data(visitor, "words")
    assert visitor.locator("canvas").count() >= 1
    top, weight = data(visitor, "top").split(":")
    assert top and 0 < float(weight) <= 1
    before, frames = (data(visitor, "side"), data(visitor, "selected"), data(visitor, "top")), asked(visitor)
    word(visitor, "target", "blanco").click()
    settle(visitor)
    blanco = (data(visitor, "side"), data(visitor, "selected"), data(visitor, "top"))
    word(visitor, "target", re.compile("coche|auto")).click()
    settle(visitor)
    car = (data(visitor, "side"), data(visitor, "selected"), data(visitor, "top"))
    assert blanco != car and before[2]
    assert blanco[2].startswith("white:") and car[2].startswith("car:"), (
        "the aligner: blanco looks at white, coche or auto at car"
    )
    assert asked(visitor) == frames
    pills = visitor.get_by_test_id("stButtonGroup").last.get_by_role("radio")
    assert pills.count() >= 2
    tops = {car[2]}
    for i in range(pills.count()):
        pills.nth(i).click()
        settle(visitor)
        tops.add(data(visitor, "top"))
    assert len(tops) >= 2


@pytest.mark.slow
def test_all_heads_and_the_full_view(visitor, app_url):
    opened(visitor, app_url + "/")
    visitor.get_by_role("button", name="See all heads").click()
    visitor.wait_for_selector("[data-heads]")
    assert visitor.locator("[data-heads]").get_attribute("data-heads") == "24"
    visitor.get_by_role("button", name="How is it computed?").click()
    visitor.wait_for_selector("[data-cell][data-scale]")
    settle(visitor)
    assert "view=full" in visitor.url
    visitor.locator(".arith").scroll_into_view_if_needed()
    visitor.wait_for_selector(".arith[data-lines]")
    visitor.wait_for_selector(".source[data-taps]")
    assert (
        visitor.get_by_text(re.compile(r"How is (over )?\d+% computed\?")).count() == 1
        and visitor.get_by_text("The code that computed it").count() == 1
    )


def test_in_the_full_view_heatmap_and_lines_mark_the_same_word_and_a_choice_is_calculated(visitor, app_url):
    opened(visitor, app_url + "/?view=full&look.beside=lines")
    visitor.wait_for_selector("[data-cell][data-scale]")
    visitor.locator(".arith").scroll_into_view_if_needed()
    visitor.wait_for_selector(".arith[data-lines]")
    visitor.wait_for_selector(".source[data-taps]")
    settle(visitor)
    frames, heatmap = asked(visitor), visitor.locator("[data-cell][data-scale]")
    visitor.locator(".matrix .frame").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowLeft"):  # the first one shows where the pointer stands
        visitor.keyboard.press(key)
    row = heatmap.get_attribute("data-hover").split(",")[0]
    settle(visitor)
    assert visitor.locator("[data-touched]").first.get_attribute("data-touched") == f"query:{row}"
    assert asked(visitor) == frames
    before = visitor.locator(".arith").get_attribute("data-weight")
    visitor.keyboard.press("Enter")
    settle(visitor)
    assert heatmap.get_attribute("data-cell").split(",")[0] == row
    expect(visitor.locator(".arith")).not_to_have_attribute("data-weight", before)


@pytest.mark.slow
def test_a_link_restores_the_view(visitor, app_url):
    opened(visitor, f"{app_url}/?model=translator-en-es&text=The+red+house+is+old.&layer=0&head=3&view=heads")
    assert "red" in data(visitor, "words")
    visitor.wait_for_selector("[data-heads]")
    assert visitor.locator("[data-head]").first.get_attribute("data-head") == "0,3"


@pytest.mark.slow
def test_nonsense_in_the_link_is_told_and_the_page_works(visitor, app_url):
    opened(visitor, app_url + "/?layer=99&head=abc&model=gpt-mini")
    assert visitor.get_by_text("layer=99").count() >= 1
    assert data(visitor, "top")
    visitor.goto(app_url + "/?model=gpt-9")
    visitor.get_by_text("There is no model").first.wait_for()
    visitor.get_by_role("button", name="Translate").or_(
        visitor.get_by_text("Translate", exact=True)
    ).first.wait_for()  # the way on stands there


def test_markup_in_the_sentence_stays_text(visitor, app_url):
    opened(visitor, app_url + "/?model=gpt-mini&text=%3Cimg+src%3Dx+onerror%3Dalert(1)%3E+%3Cb%3Ebold")
    assert "<img" in data(visitor, "words").replace('", "', "") or "img" in data(visitor, "words")
    assert visitor.locator('[data-testid="stMain"] img[src="x"]').count() == 0


@pytest.mark.slow
@pytest.mark.parametrize("text", sampled(["%00", "%F0%9F%98%80", "", "%20%20", "%3C%7Cendoftext%7C%3E"]))
def test_odd_text_keeps_the_page_alive(visitor, app_url, text):
    visitor.goto(f"{app_url}/?model=gpt-mini&text={text}")
    visitor.wait_for_selector('[data-testid="stTextInput"] input')
    settle(visitor)
    assert visitor.get_by_text("Something went wrong").count() == 0


def test_a_phone_needs_no_scrolling(chromium, app_url):
    context = chromium.new_context(viewport={"width": 390, "height": 700})
    page = context.new_page()
    opened(page, app_url + "/")
    box = page.locator(WORDS).bounding_box()
    assert (
        box is not None
        and box["x"] >= 0
        and box["x"] + box["width"] <= 391
        and box["y"] + box["height"] <= 700
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()


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
        if all(word in data(page, "words") for word in words):
            return
    raise AssertionError(f"{words} are not in {data(page, 'words')}")


def test_a_ready_made_sentence_is_chosen_and_what_was_typed_comes_back(visitor, app_url):
    opened(visitor, app_url + "/")
    box = visitor.get_by_test_id("stTextInput").get_by_role("textbox")
    box.fill("My own <b>car</b> is red.")
    box.press("Enter")
    shows(visitor, "own")
    assert 4 <= sentences(visitor).count() <= 6
    visitor.get_by_role("button", name="7 more").click()
    settle(visitor)
    visitor.get_by_text("The soup is cold because the window is open.").click()
    shows(visitor, "window", "sopa")
    assert visitor.get_by_test_id("stRadio").count() == 0, "the list closes with a choice"
    assert (
        "soup+is+cold" in visitor.url.replace("%20", "+")
        and visitor.get_by_text("fría carries the gender of sopa").count() == 1
    )
    assert box.input_value() == "The soup is cold because the window is open."
    sentences(visitor)
    apart(visitor)
    visitor.get_by_role("button", name="Back to").click()
    shows(visitor, "own")
    visitor.go_back()
    shows(visitor, "window", "sopa")


@pytest.mark.slow
def test_the_list_of_sentences_fits_a_phone(chromium, app_url):
    context = chromium.new_context(viewport={"width": 390, "height": 700}, has_touch=True)
    page = context.new_page()
    opened(page, app_url + "/?model=gpt-mini")
    sentences(page)
    for label in page.get_by_test_id("stRadio").locator("label:has(input)").all():
        box = label.bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= 390
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_text("Mona Lisa").tap()
    shows(page, "Mona", "Leonardo")
    context.close()


@pytest.mark.slow
def test_of_several_pictures_one_save_is_seen(visitor, app_url):
    opened(visitor, app_url + "/?view=full&look.beside=lines")
    saves = visitor.locator(".save-open")

    def seen() -> list[int]:
        return [number for number, opacity in enumerate(saves.evaluate_all(OPACITIES)) if opacity == "1"]

    assert saves.count() >= 4 and seen() == []
    for number in range(saves.count()):
        saves.nth(number).hover()
        assert seen() == [number]
    visitor.mouse.move(0, 0)
    saves.nth(1).focus()
    assert seen() == [1]
