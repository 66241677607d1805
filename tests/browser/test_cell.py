"""The arithmetic beside the heatmap of the full view: that of the chosen cell, never of another one."""

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


def another_head(page: Any, n: int) -> None:
    """Choose the n-th head of those that are offered by what they do."""
    page.locator('.st-key-look-heads [data-testid="stButtonGroup"] button').nth(n).click()


def down(page: Any) -> None:
    page.locator(CELL).first.evaluate("(root) => root.scrollIntoView({ block: 'start' })")


def up(page: Any) -> None:
    page.evaluate("""() => document.querySelector('[data-testid="stMain"]').scrollTo(0, 0)""")
    settle(page)


@pytest.mark.slow
def test_the_sum_of_the_opening_cell_is_there_and_scrolling_asks_for_nothing(visitor: Any) -> None:
    filled = when(visitor, lambda page: page["light"] == "false" and page["source"] == 1)
    assert filled["cell"].startswith("2,0,") and filled["title"].endswith("computed?")
    assert filled["steps"] == 13
    settle(visitor)
    frames = asked(visitor)
    for move in (up, down, up, down):
        move(visitor)
        settle(visitor)
    assert asked(visitor) == frames and visitor.evaluate(READ)["steps"] == 13, (
        "scrolling past what is true says nothing"
    )


@pytest.mark.slow
def test_figures_of_another_cell_never_stay(visitor: Any) -> None:
    when(visitor, lambda page: page["light"] == "false" and page["source"] == 1)
    settle(visitor)
    for n in (1, 2):
        before = visitor.evaluate(READ)
        another_head(visitor, n)
        now = when(
            visitor,
            lambda page, before=before: page["cell"] != before["cell"] and page["light"] == "false",
        )
        assert now["weight"] != before["weight"] and now["figures"] > 50
        layer = now["cell"].split(",")[0]
        assert now["paths"] and all(path.startswith(f"layer.{layer}.") for path in now["paths"])


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
