"""The arithmetic below the pictures of the full view: fetched when it is in view, never that of another cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest

TEXT = "Once upon a time there was an old man who lived with his wife in a small house near the sea."
CELL, SOURCE = ".arith", ".source"
READ = """() => { const root = document.querySelector('[data-testid="stMain"]'), deep = (at, found) => { for (const each of at.querySelectorAll('*')) {
  if (each.matches('.arith, .source')) found.push(each); if (each.shadowRoot) deep(each.shadowRoot, found); } return found; };
  const all = deep(root, []), arith = all.find((each) => each.matches('.arith'));
  return { light: arith?.dataset.light, cell: arith?.dataset.cell, weight: arith?.dataset.weight, title: arith?.querySelector('.title').textContent,
    steps: arith ? arith.querySelectorAll('.step').length : 0, figures: arith ? arith.querySelectorAll('.result, .value').length : 0,
    source: all.filter((each) => each.matches('.source')).length, tall: root.scrollHeight, paths: [...arith?.querySelectorAll('.path') ?? []].map((each) => each.textContent) }; }"""


@pytest.fixture
def visitor(chromium: Any, app_url: str) -> Iterator[Any]:
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page, wrong = context.new_page(), []
    page.sent = 0

    def count(_: object) -> None:
        page.sent += 1

    page.on("websocket", lambda wire: wire.on("framesent", count))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda m: wrong.append(m.text) if m.type == "error" and "Failed to load resource" not in m.text else None)
    page.goto(f"{app_url}/?model=gpt-mini&view=full&look.by=token&layer=2&head=0&text={quote(TEXT)}")
    page.wait_for_selector(CELL, state="attached", timeout=90_000)
    idle(page)
    yield page
    assert wrong == []
    context.close()


def idle(page: Any) -> None:
    page.wait_for_timeout(300)
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]', timeout=60_000)
    page.wait_for_timeout(500)


def until(page: Any, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """What the page shows as soon as `holds` is true of it."""
    for _ in range(100):
        found = page.evaluate(READ)
        if holds(found):
            return found
        page.wait_for_timeout(100)
    raise AssertionError(found)


def another_head(page: Any) -> str:
    """Choose another head in the grid; its place as the arithmetic names it."""
    page.locator(".heads [tabindex='0']").first.focus()
    for key in ("ArrowRight", "ArrowRight", "Enter"):  # the first one may only show where the pointer stands
        page.keyboard.press(key)
    idle(page)
    return page.locator("[data-head]").first.get_attribute("data-head") or ""


def down(page: Any) -> None:
    page.locator(CELL).first.evaluate("(root) => root.scrollIntoView({ block: 'start' })")


def up(page: Any) -> None:
    page.evaluate("""() => document.querySelector('[data-testid="stMain"]').scrollTo(0, 0)""")
    page.wait_for_timeout(200)


def test_it_waits_for_the_visitor_with_the_title_of_its_cell(visitor: Any) -> None:
    waiting = visitor.evaluate(READ)
    assert (waiting["light"], waiting["figures"], waiting["source"]) == ("true", 0, 0)
    assert waiting["cell"].startswith("2,0,") and waiting["title"].endswith("computed?")
    down(visitor)
    filled = until(visitor, lambda page: page["light"] == "false" and page["source"] == 1)
    assert filled["steps"] == 13 and (filled["cell"], filled["weight"], filled["title"]) == (waiting["cell"], waiting["weight"], waiting["title"])
    idle(visitor)
    frames = visitor.sent
    for move in (up, down, up, down):
        move(visitor)
        visitor.wait_for_timeout(400)
    assert visitor.sent == frames and visitor.evaluate(READ)["steps"] == 13, "scrolling past what is true says nothing"


def test_figures_of_another_cell_never_stay(visitor: Any) -> None:
    down(visitor)
    until(visitor, lambda page: page["light"] == "false" and page["source"] == 1)
    idle(visitor)
    up(visitor)
    for n in range(1, 4):
        before = visitor.evaluate(READ)
        chosen = another_head(visitor)
        now = until(visitor, lambda page, chosen=chosen: page["cell"].startswith(f"{chosen},"))
        assert now["weight"] != before["weight"]
        if n == 1:  # it was in view at the last word: its figures came at once, once
            continue
        assert (now["light"], now["figures"], now["source"]) == ("true", 0, 0), "nothing of another cell"
        assert abs(now["tall"] - before["tall"]) < 40, "the page does not jump"
    down(visitor)
    filled = until(visitor, lambda page: page["light"] == "false" and page["source"] == 1)
    assert filled["cell"] == now["cell"] and filled["weight"] == now["weight"] and filled["figures"] > 50
    layer = filled["cell"].split(",")[0]
    assert filled["paths"] and all(path.startswith(f"layer.{layer}.") for path in filled["paths"])


def test_a_tensor_is_marked_in_both_whichever_was_touched(visitor: Any) -> None:
    down(visitor)
    until(visitor, lambda page: page["source"] == 1)
    idle(visitor)

    def both() -> tuple[str | None, str | None]:
        idle(visitor)
        return visitor.locator(CELL).get_attribute("data-path"), visitor.locator(SOURCE).get_attribute("data-path")

    path = "layer.2.self_attn."
    visitor.locator(f'{CELL} .path:text-is("{path}heads")').first.click()
    assert both() == (f"{path}heads", f"{path}heads")
    visitor.locator(f'{SOURCE} .tapped[data-path="{path}q"]').click()
    assert both() == ("", f"{path}q"), "a tensor that no line of the arithmetic ends in"
    frames = visitor.sent
    visitor.wait_for_timeout(800)
    assert visitor.sent == frames
    assert visitor.locator(f"{SOURCE} .card .first").count() == 1
    visitor.locator(f'{SOURCE} .tapped[data-path="{path}scores"]').click()
    assert both() == (f"{path}scores", f"{path}scores")
    visitor.locator(f'{CELL} .path:text-is("{path}heads")').first.click()
    assert both() == (f"{path}heads", f"{path}heads")


def test_on_a_phone_the_source_below_the_arithmetic_stays_while_it_is_read(chromium: Any, app_url: str) -> None:
    context = chromium.new_context(viewport={"width": 390, "height": 700})
    page = context.new_page()
    page.goto(f"{app_url}/?model=gpt-mini&view=full&look.by=token&layer=2&head=0&text={quote(TEXT)}")
    page.wait_for_selector(CELL, state="attached", timeout=90_000)
    idle(page)
    down(page)
    until(page, lambda seen: seen["source"] == 1)
    idle(page)
    page.locator(SOURCE).evaluate("(root) => root.scrollIntoView({ block: 'start' })")
    idle(page)
    seen = page.evaluate(READ)
    assert (seen["light"], seen["source"], seen["steps"]) == ("false", 1, 13)
    context.close()
