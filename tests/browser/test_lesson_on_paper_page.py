"""A lesson on paper in a browser: every picture as SVG, nothing cut, and the PDF that Chromium makes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from viz.export import paper, record
from viz.export.__main__ import lesson_named, main
from viz.shell.lessons.plan import Plan, Stop

SHORT = Plan(
    "Short",
    (
        Stop("scaling?scaling.step=1", "A chart", "Say it.", 1, "page", asks="How far?"),
        Stop("look?model=translator-en-es&text=She+has+a+white+car.", "An instrument", "", 1),
    ),
)
CUT = """() => [...document.querySelectorAll(".slide, .side")].filter((box) => box.scrollHeight > box.clientHeight + 1)
    .map((box) => box.closest(".slide").querySelector("h1, h2").textContent)"""


@pytest.fixture
def open_page(new_page: Callable[..., Any]) -> Callable[[Path], Any]:
    """Opens a file on dark paper without a network; no page may complain."""

    def opened(path: Path) -> Any:
        page = new_page(levels=("error", "warning"), color_scheme="dark", offline=True)
        page.goto(path.as_uri())
        page.locator("body[data-ready]").wait_for()
        return page

    return opened


def test_a_handout_and_slides_draw_each_picture_as_svg_on_white(open_page: Any, tmp_path: Path) -> None:
    paths = paper.write(record.record(SHORT, notes=True), tmp_path, seed=1)
    page = open_page(paths["handout"])
    expect(page.locator(".picture > svg")).to_have_count(2)
    expect(page.locator(".picture > svg").last).to_contain_text("blanco")
    expect(page.locator("#print")).to_be_enabled()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.set_viewport_size({"width": 794, "height": 1123})  # A4
    assert page.evaluate("document.documentElement.scrollWidth") <= 794
    page.goto(paths["slides"].as_uri())
    page.locator("body[data-ready]").wait_for()
    expect(page.locator(".slide")).to_have_count(4)
    assert page.evaluate(CUT) == []


@pytest.mark.slow
def test_chromium_makes_a_pdf_of_each_page(tmp_path: Path) -> None:
    assert main(["attention_in_15_minutes", str(tmp_path / "out"), "--paper", "pdf", "--seed", "3"]) == 0
    pages = {
        path.stem: len(re.findall(rb"/Type\s*/Page\b", path.read_bytes()))
        for path in (tmp_path / "out").glob("*.pdf")
    }
    assert pages == {
        "slides": 12,
        "slides_with_notes": 7,
        "handout": 3,
        "handout_with_answers": 6,
        "guide": 1,
        "exit_ticket": 2,
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ["school_class", "attention_in_90_minutes", "bert_and_gpt"])
def test_no_slide_of_a_lesson_that_ships_is_cut(open_page: Any, tmp_path: Path, name: str) -> None:
    paths = paper.write(record.record(lesson_named(name), notes=True), tmp_path, seed=1)
    assert open_page(paths["slides"]).evaluate(CUT) == []
