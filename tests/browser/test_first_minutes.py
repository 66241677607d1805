"""What a newcomer meets outside the picture: the menu of a narrow window, and the list of keys."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from settling import opened, press, settle

ROOT = Path(__file__).parents[2]
MENU = '[data-testid="stSidebar"]'
KEYS = "dialog[data-keys]"


def shut(page) -> bool:
    return page.locator(MENU).get_attribute("data-collapsed") == "true"


def opened_menu(page) -> None:
    page.get_by_test_id("stExpandSidebarButton").click()
    page.wait_for_selector('[data-testid="stSidebarNavLink"]')
    settle(page)
    assert not shut(page)


@pytest.mark.slow
def test_the_menu_of_a_narrow_window_shuts_behind_a_choice_and_stays_shut_after_a_reload(visitor, app_url):
    visitor.set_viewport_size({"width": 700, "height": 900})
    opened(visitor, app_url + "/")
    assert shut(visitor)
    opened_menu(visitor)
    visitor.get_by_test_id("stSidebarNavLink").filter(has_text="About").click()
    settle(visitor)
    assert visitor.url.endswith("/about") and shut(visitor)
    opened_menu(visitor)
    opened(visitor, visitor.url)
    assert shut(visitor)


@pytest.mark.slow
def test_the_list_of_keys_is_there_without_a_keyboard_and_in_present_escape_shuts_only_the_list(
    visitor, app_url
):
    opened(visitor, app_url + "/masks")
    visitor.get_by_role("button", name="The list of keys").click()
    visitor.locator(KEYS).get_by_role("button", name="Close").click()
    assert not visitor.locator(KEYS).is_visible()
    opened(visitor, app_url + "/masks?present=1")
    press(visitor, "?", "Escape")
    settle(visitor)
    assert not visitor.locator(KEYS).is_visible() and "present=1" in visitor.url


@pytest.mark.slow
def test_a_question_mark_in_a_box_is_a_letter(visitor, app_url):
    opened(visitor, app_url + "/")
    box = visitor.get_by_test_id("stTextInput").get_by_role("textbox").first
    box.fill("Where is she")
    box.press("?")
    assert box.input_value() == "Where is she?" and not visitor.locator(KEYS).is_visible()


def test_every_key_that_is_bound_is_in_the_list():
    listed = set(
        re.findall(r"<kbd>(.+?)</kbd>", (ROOT / "viz" / "shell" / "stage" / "keys.html").read_text("utf-8"))
    )
    written = {
        "Right": "→",
        "Left": "←",
        "ArrowRight": "→",
        "ArrowLeft": "←",
        "Escape": "Esc",
        " ": "Space",
        "f": "F",
        "r": "R",
    }
    buttons = {
        key
        for file in (ROOT / "viz").rglob("*.py")
        for key in re.findall(r'shortcut="(\w+)"', file.read_text("utf-8"))
    }
    ours = {
        key
        for name in ("stage/stage", "restore")
        for key in re.findall(
            r'(?<!\.)key [!=]== "(.+?)"',
            (ROOT / "viz" / "shell" / f"{name}.js").read_text("utf-8").replace("event.key", "key"),
        )
    }
    assert {"P", "Home", "End"} <= buttons and {"?", "r", "f", "Escape"} <= ours
    assert {written.get(key, key) for key in (buttons | ours) - {"Tab"}} <= listed


@pytest.mark.slow
def test_the_box_of_a_mark_is_called_by_it_without_a_backslash(visitor, app_url):
    opened(visitor, app_url + "/be_the_head?model=gpt-mini&text=She *has* a car. It")
    boxes = visitor.get_by_test_id("stNumberInput").locator("input")
    visitor.wait_for_function("document.querySelector('input[aria-label^=\"*\"]')")
    names = boxes.evaluate_all("boxes => boxes.map((box) => box.getAttribute('aria-label'))")
    assert "*" in names and "." in names and not any("\\" in name for name in names)
