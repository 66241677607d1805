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
  return { light: arith?.dataset.light, cell: arith?.dataset.cell, weight: arith?.dataset.weight,
    steps: arith ? arith.querySelectorAll('.step').length : 0, figures: arith ? arith.querySelectorAll('.result, .value').length : 0,
    source: all.filter((each) => each.matches('.source')).length, paths: [...arith?.querySelectorAll('.path') ?? []].map((each) => each.textContent) }; }"""


def full_view(page: Any, app_url: str) -> Any:
    page.goto(f"{app_url}/?model=gpt-mini&view=full&look.by=token&layer=2&head=0&text={quote(TEXT)}")
    page.wait_for_selector(CELL, state="attached")
    settle(page)
    return page


@pytest.fixture
def visitor(visitor: Any, app_url: str) -> Any:
    """A visitor of the full view, its first cell not yet looked at."""
    visitor.set_viewport_size({"width": 1280, "height": 600})
    return full_view(visitor, app_url)


def when(page: Any, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """What the page shows as soon as `holds` is true of it."""
    until(page, lambda: holds(page.evaluate(READ)))
    return page.evaluate(READ)


def down(page: Any) -> None:
    page.locator(CELL).first.evaluate("(root) => root.scrollIntoView({ block: 'start' })")


@pytest.mark.slow
def test_figures_of_another_cell_never_stay(visitor: Any) -> None:
    when(visitor, lambda page: page["light"] == "false" and page["source"] == 1)
    settle(visitor)
    for n in (1, 2):
        before = visitor.evaluate(READ)
        visitor.locator('.st-key-look-heads [data-testid="stButtonGroup"] button').nth(n).click()
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
        arithmetic, source = (visitor.locator(one).get_attribute("data-path") for one in (CELL, SOURCE))
        return arithmetic, source

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
    new_page: Any, app_url: str
) -> None:
    page = full_view(new_page(levels=(), viewport={"width": 390, "height": 700}), app_url)
    down(page)
    when(page, lambda seen: seen["source"] == 1)
    settle(page)
    page.locator(SOURCE).evaluate("(root) => root.scrollIntoView({ block: 'start' })")
    settle(page)
    seen = page.evaluate(READ)
    assert (seen["light"], seen["source"], seen["steps"]) == ("false", 1, 13)
