"""A published lesson in a browser: from the file system, as one file, and from a static server that then goes away."""

from __future__ import annotations

import functools
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from shown_values import stating
from static_folder import served

from viz.export import record, site
from viz.export.__main__ import lesson_named
from viz.export.live import site as live
from viz.languages import pseudo, using
from viz.shell.lessons.plan import Plan, Stop

READY = ("attention_in_15_minutes", "bottleneck_to_transformer", "bert_and_gpt")


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Publish a lesson once, with its notes; return its folder."""
    place = tmp_path_factory.mktemp("published")

    @functools.cache
    def publish(name: str) -> Path:
        site.write(record.record(lesson_named(name), notes=True), place / name)
        return place / name

    return publish


OPEN = "#questions > section:not(:has(.option)):not(:has(.verdict))"


def answer_all(page: Any, holds: Callable[[], bool] = lambda: True) -> None:
    """Answer every question of a stop; before each answer this `holds`."""
    while (question := page.locator(OPEN)).count():
        assert holds()
        options = question.locator(".options button")
        (options if options.count() else question.locator("button.primary")).first.click()


def walk(page: Any) -> tuple[int, int]:
    """Go through all stops by key and answer every question; return how many stops there are, and how many have a picture."""
    names = page.locator("#list li").count() - 1
    drawn = 0
    for number in range(1, names + 1):
        expect(page.locator("#where")).to_contain_text(f"{number} of {names}")
        expect(page.locator("#says")).not_to_be_empty()
        answer_all(page)
        pictures = page.locator("#pictures > *")
        for at in range(pictures.count()):
            expect(pictures.nth(at)).to_have_attribute("data-drawn", re.compile(".+"))
        drawn += pictures.count() > 0
        if not pictures.count():
            expect(page.locator("#unseen")).not_to_be_empty()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"stop {number} is cut"
        page.keyboard.press("PageDown")
    expect(page.locator("#finished")).to_be_visible()
    return names, drawn


def test_a_lesson_on_a_stick_is_walked_by_key_in_the_dark_on_a_phone(
    published: Callable[[str], Path], reader: Callable[..., Any]
) -> None:
    """All stops of the shortest lesson from the file system, a question answered and judged, the answer kept, notes, and an instrument that hears keys."""
    url = (published(READY[0]) / "index.html").as_uri()
    page = reader(
        url, viewport={"width": 390, "height": 844}, color_scheme="dark", offline=True, has_touch=True
    )
    expect(page.locator("#pictures [data-drawn]")).to_be_visible()
    body = page.locator("body")
    assert page.locator("#pictures .atlas").get_attribute("data-mode") == "dark"
    asked = page.locator("#questions section")
    first, second = lesson_named(READY[0]).stops[:2]
    expect(asked).to_contain_text(first.asks.rpartition(". ")[2])
    assert "37.9" not in body.inner_text(), "nothing of the answer is on screen before the guess"
    asked.get_by_role("button", name="38%").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".verdict")).to_contain_text(stating("38%", "right"))
    expect(page.locator(".verdict")).to_be_focused()
    expect(asked).to_contain_text("37.9%")
    expect(page.locator("#pictures")).to_contain_text("37.9%")
    with page.expect_popup() as notes:
        page.get_by_role("button", name="Notes").click()
    expect(notes.value.locator("#note")).to_contain_text(first.note.split(".")[0])
    notes.value.get_by_role("button", name="Next stop").click()
    expect(page.locator("#name")).to_have_text(second.name)
    expect(notes.value.locator("#where")).to_contain_text("stop 2 of 6")
    notes.value.close()
    page.locator("#pictures .word", has_text="blanco").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#pictures .atlas")).to_have_attribute("data-selected", "3")
    page.locator("#pictures .word", has_text="Tiene").tap()
    expect(page.locator("#pictures .atlas")).to_have_attribute("data-selected", "0")
    page.reload()
    expect(page.locator("#name")).to_have_text(second.name)
    page.keyboard.press("PageUp")
    expect(page.locator(".verdict")).to_contain_text("That is right.")
    assert walk(page) == (6, 6)
    expect(page.locator("#score")).to_have_text(stating("5 of 5 questions", "2 of them right"))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*READY, "vision"])
def test_a_lesson_is_walked_from_files_and_from_a_server_that_has_gone(
    published: Callable[[str], Path], reader: Callable[..., Any], name: str
) -> None:
    folder = published(name)
    stops, drawn = walk(reader((folder / "index.html").as_uri(), viewport={"width": 1920, "height": 1080}))
    assert drawn == stops - (name == "vision"), "one of its steps has a table alone"
    assert walk(reader(folder.with_name(f"{name}.html").as_uri(), color_scheme="dark")) == (stops, drawn)
    with served(folder) as url:
        page = reader(f"{url}/index.html")
        page.evaluate("async () => { await navigator.serviceWorker.ready; }")
        page.wait_for_function("caches.keys().then((names) => names.length === 1)")
    page.reload()
    assert walk(page) == (stops, drawn), "the worker has all of it"


@pytest.mark.slow
def test_a_newer_lesson_takes_the_place_of_the_one_that_a_worker_keeps(
    published: Callable[[str], Path], reader: Callable[..., Any], tmp_path: Path
) -> None:
    folder = tmp_path / "served"
    shutil.copytree(published(READY[0]), folder)
    with served(folder) as url:
        page = reader(f"{url}/index.html")
        page.evaluate("async () => { await navigator.serviceWorker.ready; }")
        page.wait_for_function("navigator.serviceWorker.controller !== null")
        page.keyboard.press("PageDown")
        second = lesson_named(READY[0]).stops[1]
        expect(page.locator("#name")).to_have_text(second.name)
        made = record.record(lesson_named(READY[0]))
        made.lesson["title"] = "A newer one"
        site.write(made, folder)
        page.reload()  # by the worker of before, which meets the newer one
        expect(page.locator("#lessontitle")).to_have_text("A newer one")
        expect(page.locator("#name")).to_have_text(second.name)
        page.wait_for_function("caches.keys().then((names) => names.length === 1)")


@pytest.mark.slow
def test_every_head_that_was_recorded_is_shown_by_a_touch_of_its_tile(
    reader: Callable[..., Any], tmp_path: Path
) -> None:
    lesson = Plan("Heads", (Stop("look?view=heads&model=gpt-mini&text=The+king+and+the+queen", "All heads"),))
    site.write(record.record(lesson), tmp_path / "heads")
    page = reader((tmp_path / "heads" / "index.html").as_uri(), viewport={"width": 1280, "height": 1500})
    tiles, words = page.locator("#pictures .atlas.heads"), page.locator("#pictures .atlas.words")
    expect(tiles).to_have_attribute("data-columns", re.compile(r"\d+"))
    expect(words).to_contain_text("L3.H1 gives 73%")
    tiles.locator("canvas").first.click(position={"x": 40, "y": 40})
    first = tiles.get_attribute("data-tiles").split()[0]
    expect(words).to_contain_text(f"{first} gives 51%")


SHOWN = """() => {
  const texts = new Set(), names = ["title", "aria-label", "placeholder", "alt"];
  const visit = (root) => {
    const nodes = document.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
    for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
      if (node instanceof Text) { if (!node.parentElement?.closest("script, style, #licences")) texts.add(node.data.trim()); continue; }
      if (!node.parentElement?.closest(".vega")) for (const name of names) texts.add(node.getAttribute(name)?.trim() ?? "");   // Vega's own
      if (node.shadowRoot) visit(node.shadowRoot);
    }
  };
  visit(document.documentElement);
  return [...texts];
}"""
"""The texts of a page and of its pictures, and the attributes that are read out."""
PLAIN = re.compile(r"(?<![\w:/-])[A-Za-z]{3,}(?![\w:/(-])")


def plain(page: Any) -> set[str]:
    """Return the texts of a page in the pseudo-language with two words or more outside its brackets."""
    texts = set()
    for text in page.evaluate(SHOWN):
        rest = text
        while rest != (
            rest := re.sub(f"{pseudo.OPEN}[^{pseudo.OPEN}{pseudo.CLOSE}]*{pseudo.CLOSE}", "", rest)
        ):
            pass
        if len(PLAIN.findall(rest)) > 1:
            texts.add(text)
    return texts


@pytest.mark.slow
def test_no_sentence_of_published_pages_is_plain_in_the_pseudo_language(
    reader: Callable[..., Any], tmp_path: Path
) -> None:
    lesson = lesson_named(READY[0])
    with using(pseudo.CODE):
        site.write(record.record(lesson), tmp_path / "lesson")
        live.write(["bert-mini"], tmp_path / "live")
    own = {lesson.title, lesson.about, *(stop.name for stop in lesson.stops)}
    page = reader((tmp_path / "lesson" / "index.html").as_uri())
    expect(page.locator("#list li")).to_have_count(len(lesson.stops) + 1)
    assert page.locator("html").get_attribute("lang") == pseudo.CODE
    for number in range(1, len(lesson.stops) + 1):
        expect(page.locator("#where")).to_contain_text(f"{number} öf 6")
        answer_all(page, lambda: plain(page) <= own)
        expect(page.locator("#pictures > *").first).to_have_attribute("data-drawn", re.compile(".+"))
        assert plain(page) <= own
        page.keyboard.press("PageDown")
    expect(page.locator("#score")).to_contain_text(pseudo.OPEN)
    assert plain(page) <= own
    page = reader((tmp_path / "live" / "index.html").as_uri())
    page.locator("#zero").click()
    expect(page.locator("#effect")).to_contain_text(pseudo.OPEN)
    page.locator("#mask summary").click()
    expect(page.locator("#maskplace")).to_have_attribute("data-drawn", re.compile(".+"))
    assert plain(page) == set()
    page.locator("#text").fill("word " * 300)
    expect(page.locator("#wrong")).to_contain_text("256")
    assert plain(page) == set()
