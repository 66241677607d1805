"""The arithmetic below the pictures of the full view: fetched when it is in view, never that of another cell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from settling import asked, settle, until

TALL = 900
TEXT = "Once upon a time there was an old man who lived with his wife in a small house near the sea."
CELL, SOURCE = ".arith", ".source"
READ = """() => { const root = document.querySelector('[data-testid="stMain"]'), deep = (at, found) => { for (const each of at.querySelectorAll('*')) {
  if (each.matches('.arith, .source')) found.push(each); if (each.shadowRoot) deep(each.shadowRoot, found); } return found; };
  const all = deep(root, []), arith = all.find((each) => each.matches('.arith'));
  return { light: arith?.dataset.light, cell: arith?.dataset.cell, weight: arith?.dataset.weight, title: arith?.querySelector('.title').textContent,
    steps: arith ? arith.querySelectorAll('.step').length : 0, figures: arith ? arith.querySelectorAll('.result, .value').length : 0,
    source: all.filter((each) => each.matches('.source')).length, tall: root.scrollHeight, paths: [...arith?.querySelectorAll('.path') ?? []].map((each) => each.textContent) }; }"""


@pytest.fixture
def visitor(visitor: Any, app_url: str) -> Any:
    """A visitor of the full view, its first cell not yet looked at."""
    visitor.set_viewport_size({"width": 1280, "height": 600})
    visitor.goto(f"{app_url}/?model=gpt-mini&view=full&look.by=token&layer=2&head=0&text={quote(TEXT)}")
    visitor.wait_for_selector(CELL, state="attached")
    settle(visitor)
    return visitor


def when(page: Any, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """What the page shows as soon as `holds` is true of it."""
    until(page, lambda: holds(page.evaluate(READ)))
    return page.evaluate(READ)


def another_head(page: Any) -> str:
    """Choose another head in the grid; its place as the arithmetic names it."""
    page.locator(".heads [tabindex='0']").first.focus()
    for key in ("ArrowRight", "ArrowRight", "Enter"):  # the first one may only show where the pointer stands
        page.keyboard.press(key)
    settle(page)
    return page.locator("[data-head]").first.get_attribute("data-head") or ""


def down(page: Any) -> None:
    page.locator(CELL).first.evaluate("(root) => root.scrollIntoView({ block: 'start' })")


def up(page: Any) -> None:
    page.evaluate("""() => document.querySelector('[data-testid="stMain"]').scrollTo(0, 0)""")
    settle(page)


def test_it_waits_for_the_visitor_with_the_title_of_its_cell(visitor: Any) -> None:
    waiting = visitor.evaluate(READ)
    assert (waiting["light"], waiting["figures"], waiting["source"]) == ("true", 0, 0)
    assert waiting["cell"].startswith("2,0,") and waiting["title"].endswith("computed?")
    down(visitor)
    filled = when(visitor, lambda page: page["light"] == "false" and page["source"] == 1)
    assert filled["steps"] == 13 and (filled["cell"], filled["weight"], filled["title"]) == (
        waiting["cell"],
        waiting["weight"],
        waiting["title"],
    )
    settle(visitor)
    frames = asked(visitor)
    for move in (up, down, up, down):
        move(visitor)
        settle(visitor)
    assert asked(visitor) == frames and visitor.evaluate(READ)["steps"] == 13, (
        "scrolling past what is true says nothing"
    )


def test_figures_of_another_cell_never_stay(visitor: Any) -> None:
    down(visitor)
    when(visitor, lambda page: page["light"] == "false" and page["source"] == 1)
    settle(visitor)
    up(visitor)
    for n in range(1, 4):
        before = visitor.evaluate(READ)
        chosen = another_head(visitor)
        now = when(visitor, lambda page, chosen=chosen: page["cell"].startswith(f"{chosen},"))
        assert now["weight"] != before["weight"]
        if n == 1:  # it was in view at the last word: its figures came at once, once
            continue
        assert (now["light"], now["figures"], now["source"]) == ("true", 0, 0), "nothing of another cell"
        assert abs(now["tall"] - before["tall"]) < 40, "the page does not jump"
    down(visitor)
    filled = when(visitor, lambda page: page["light"] == "false" and page["source"] == 1)
    assert filled["cell"] == now["cell"] and filled["weight"] == now["weight"] and filled["figures"] > 50
    layer = filled["cell"].split(",")[0]
    assert filled["paths"] and all(path.startswith(f"layer.{layer}.") for path in filled["paths"])


@pytest.mark.slow
def test_a_tensor_is_marked_in_both_whichever_was_touched(visitor: Any) -> None:
    down(visitor)
    when(visitor, lambda page: page["source"] == 1)
    settle(visitor)

    def both() -> tuple[str | None, str | None]:
        settle(visitor)
        return visitor.locator(CELL).get_attribute("data-path"), visitor.locator(SOURCE).get_attribute(
            "data-path"
        )

    path = "layer.2.self_attn."
    visitor.locator(f'{CELL} .path:text-is("{path}heads")').first.click()
    assert both() == (f"{path}heads", f"{path}heads")
    visitor.locator(f'{SOURCE} .tapped[data-path="{path}q"]').click()
    assert both() == ("", f"{path}q"), "a tensor that no line of the arithmetic ends in"
    frames = asked(visitor)
    settle(visitor)
    assert asked(visitor) == frames
    assert visitor.locator(f"{SOURCE} .card .first").count() == 1
    visitor.locator(f'{SOURCE} .tapped[data-path="{path}scores"]').click()
    assert both() == (f"{path}scores", f"{path}scores")
    visitor.locator(f'{CELL} .path:text-is("{path}heads")').first.click()
    assert both() == (f"{path}heads", f"{path}heads")


@pytest.mark.slow
def test_on_a_phone_the_source_below_the_arithmetic_stays_while_it_is_read(
    chromium: Any, app_url: str
) -> None:
    context = chromium.new_context(viewport={"width": 390, "height": 700})
    page = context.new_page()
    page.goto(f"{app_url}/?model=gpt-mini&view=full&look.by=token&layer=2&head=0&text={quote(TEXT)}")
    page.wait_for_selector(CELL, state="attached")
    settle(page)
    down(page)
    when(page, lambda seen: seen["source"] == 1)
    settle(page)
    page.locator(SOURCE).evaluate("(root) => root.scrollIntoView({ block: 'start' })")
    settle(page)
    seen = page.evaluate(READ)
    assert (seen["light"], seen["source"], seen["steps"]) == ("false", 1, 13)
    context.close()
