"""A lesson is made of two views, saved, opened again and walked through; the presenter's page shows it and steers."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from every_page import open_room
from playwright.sync_api import expect
from settling import settle
from shown_values import stating

from viz.workspace.decode.controls import OPENING
from viz.workspace.lessons import page as lessons

NOTE = "Point at the last row.\nThen ask <b>why</b>."


def opened(page: Any, app_url: str, path: str) -> None:
    page.goto(f"{app_url}/{path}")
    settle(page)


def shipped_names() -> list[str]:
    """Return the names of the stops of the lesson that is ready first."""
    shipped = Path(lessons.__file__).with_name("ready") / f"{lessons.READY[0]}.toml"
    return [stop["name"] for stop in tomllib.loads(shipped.read_text("utf-8"))["stop"]]


def start(page: Any, app_url: str) -> None:
    """Start the lesson that is ready first."""
    opened(page, app_url, "lessons")
    page.locator(".st-key-lessons-ready-0").get_by_role("button", name="Start", exact=True).click()


def add(page: Any, note: str, question: tuple[str, str] | None = None) -> None:
    page.get_by_role("button", name="Add to a lesson").click()
    added = page.locator(".st-key-atlas-added")
    expect(added).to_contain_text("“My lesson”")
    added.get_by_role("button", name="Change").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Note for the lecturer").fill(note)
    if question:
        form.get_by_text("a choice").click()
        for label, words in zip(("Your question", "Options, one per line"), question, strict=True):
            form.get_by_role("textbox", name=label).fill(words)
            form.get_by_role("textbox", name=label).press("Tab")
        expect(form.get_by_text("every row (right)")).to_be_visible()
    form.get_by_role("button", name="Keep", exact=True).click()
    expect(form).to_have_count(0)
    settle(page)


@pytest.mark.slow
def test_a_lesson_from_two_views_to_the_wall(visitor: Any, app_url: str, tmp_path: Path) -> None:
    page = visitor
    opened(page, app_url, "masks?masks.step=2")
    add(page, NOTE, ("Which rows add up to 1?", "* every row\nonly the first"))
    # a new session: the browser gives back what was collected
    opened(page, app_url, "scaling?scaling.step=2")
    add(page, "Compare the lanes.")
    opened(page, app_url, "lessons")
    expect(page.get_by_label("Title")).to_have_value("My lesson")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as a file").click()
    file = tmp_path / "saved.toml"
    saved.value.save_as(file)
    text = file.read_text("utf-8")
    assert text.count("[[stop]]") == 2 and f'note = """\n{NOTE}"""' in text and "present" not in text

    # a file of somebody else's is judged; this one is begun
    bad = tmp_path / "bad.toml"
    bad.write_text(text.replace("masks?", "nowhere?"), "utf-8")
    page.locator("input[type=file]").set_input_files(bad)
    expect(page.get_by_text(stating("Line 4", "“nowhere?masks.step=2”")).last).to_be_visible()
    expect(page.get_by_text("per file")).to_be_hidden()  # one limit is told, ours
    page.locator("input[type=file]").set_input_files(file)
    card = page.locator(".st-key-lessons-file")
    card.get_by_role("button", name="Start presenting").click()
    bar = page.locator(".lesson-bar")
    expect(bar).to_contain_text("1 / 2")
    expect(page.get_by_role("radio", name="2 Sums")).to_be_checked()
    expect(page.get_by_text(stating("Predict, then look", "add up to 1?"))).to_be_visible()
    settle(page)
    assert "present=1" in page.url and "masks.step=2" in page.url
    notes = page.locator(".lesson-notes")
    expect(notes).to_be_hidden()
    page.get_by_role("button", name="Menu of Present").click()
    expect(bar.get_by_role("button", name="Notes")).to_be_hidden()  # one pair of arrows and one menu
    expect(page.locator("[data-arrow]").first).to_be_hidden()
    page.get_by_role("menuitem", name="Notes of the lesson").click()
    expect(notes).to_contain_text("Then ask <b>why</b>.")
    expect(notes).to_contain_text(stating("minute 0 to 3"))

    # keys, where one is, a reload, the way back
    page.keyboard.press("PageDown")
    expect(page.get_by_role("radio", name="2 Weights")).to_be_checked()
    expect(bar).to_contain_text("2 / 2")
    settle(page)
    page.reload()
    expect(bar).to_contain_text("2 / 2")
    settle(page)
    page.go_back()
    expect(page.get_by_role("radio", name="2 Sums")).to_be_checked()
    settle(page)
    bar.get_by_title("Back to this stop").click()
    expect(page.get_by_role("radio", name="2 Weights")).to_be_checked()
    settle(page)


@pytest.mark.slow
def test_notes_in_a_second_window_follow_and_the_last_stop_leads_to_the_end(
    visitor: Any, app_url: str
) -> None:
    page = visitor
    start(page, app_url)
    bar, panel = page.locator(".lesson-bar"), page.locator(".lesson-notes")
    expect(bar).to_contain_text("1 / 6")
    settle(page)
    bar.get_by_role("button", name="Notes").click()
    with page.expect_popup() as window:
        panel.get_by_role("link", name="Open in a second window").click()
    notes = window.value
    expect(panel).to_be_hidden()  # nothing stays on the projected picture
    first, second = shipped_names()[:2]
    expect(notes.locator("#name")).to_have_text(first)
    expect(notes.locator("#clock")).to_contain_text("/ 15:00")
    expect(notes.locator("#coming")).to_have_text(second)
    expect(notes.get_by_role("button", name="Previous stop")).to_be_disabled()
    page.keyboard.press("PageDown")
    expect(notes.locator("#name")).to_have_text(second)
    expect(bar).to_contain_text("2 / 6")
    settle(page)
    notes.keyboard.press("PageUp")
    expect(bar).to_contain_text("1 / 6")
    settle(page)

    kept = "const walk = JSON.parse(sessionStorage['atlas.lesson.walk']); walk.at = 5;"
    page.goto("about:blank")  # so that the tab writes nothing any more
    page.add_init_script(
        f"if (!sessionStorage.moved && sessionStorage['atlas.lesson.walk']) {{ {kept} sessionStorage['atlas.lesson.walk'] = JSON.stringify(walk); sessionStorage.moved = 1; }}"
    )
    opened(page, app_url, "masks")
    expect(bar).to_contain_text("6 / 6")
    expect(notes.locator("#coming")).to_have_text(re.compile("^The end"))
    page.keyboard.press("PageDown")
    expect(page.get_by_text(stating("The end of", "“Attention in 15 minutes”")).last).to_be_visible()
    expect(page.get_by_role("link", name="6. ")).to_be_visible()
    expect(page.get_by_role("link", name="Exercises to print")).to_be_visible()
    expect(notes.get_by_role("button", name="Next stop")).to_be_disabled()
    settle(page)
    page.keyboard.press("PageUp")
    expect(bar.get_by_role("button", name="Next stop")).to_be_enabled()
    expect(bar).to_contain_text("6 / 6")
    settle(page)


@pytest.mark.slow
def test_the_presenters_page_steers_and_only_the_lecturer_has_it(
    visitor: Any, new_page: Any, app_url: str
) -> None:
    page = visitor
    code = open_room(page, app_url)
    page.get_by_role("link", name="Control").first.wait_for()
    start(page, app_url)
    expect(page.get_by_role("radio", name="1 Guess")).to_be_checked()
    settle(page)

    presenter = page.context.new_page()
    presenter.goto(f"{app_url}/room/{code}/presenter")
    first, second = shipped_names()[:2]
    expect(presenter.locator("#name")).to_have_text(first)
    expect(presenter.locator("#coming")).to_have_text(second)
    expect(presenter.locator("#clock")).to_contain_text("/ 15:00")
    phone = new_page(levels=())
    phone.goto(f"{app_url}/room/{code}")
    phone.locator("#ask button").first.click()
    expect(presenter.locator("#people")).to_have_text("1 joined, 1 answered")
    presenter.get_by_role("button", name="Reveal").click()
    expect(presenter.locator("#ask .bars")).to_contain_text("1 (100%)")
    presenter.get_by_role("button", name="Next stop").click()
    expect(page.locator(".lesson-bar")).to_contain_text("2 / 6")
    expect(presenter.locator("#name")).to_have_text(second)
    expect(phone.locator("#sentence")).to_have_text(OPENING[True])
    assert presenter.locator("#note").inner_text()[:20] not in phone.locator("body").inner_text()
    phone.goto(f"{app_url}/room/{code}/presenter")
    expect(phone.locator("#why")).to_contain_text("not control")
    expect(phone.locator("#presenter")).to_be_hidden()
    presenter.close()
