"""The exhibit on masks in a real browser: a cell of the mask is clicked, and the run in front of the visitor changes."""

from __future__ import annotations

import pytest
from settling import press

EDITOR = ".editor[data-allowed]"


def toggle(page, query: int, key: int) -> None:
    """Allow or forbid one cell by the keyboard: the first arrow only shows the cell in the corner."""
    steps = ["ArrowRight", *["ArrowDown"] * query, *["ArrowRight"] * key, "Space", "Escape"]
    press(page, *steps, at=".editor .frame")


@pytest.mark.slow
def test_a_clicked_cell_changes_the_run_the_link_and_can_be_undone(visitor, app_url: str) -> None:
    page = visitor
    page.goto(f"{app_url}/masks?masks.step=6&text=I+am+a+student.")
    page.wait_for_selector(EDITOR)
    allowed = int(page.locator(EDITOR).get_attribute("data-allowed"))
    n = next(n for n in range(1, 40) if n * (n + 1) // 2 == allowed)  # pieces of a causal mask
    row = n // 2  # that is chosen first
    causal, more = (f"may attend to {row + extra} of {n} words" for extra in (1, 2))

    def expect_words(words: str) -> None:
        page.get_by_text(words).first.wait_for()

    expect_words(causal)
    toggle(page, row, n - 1)
    expect_words(more)
    page.wait_for_url("**masks.kind=own**")
    link = page.url
    toggle(page, row, 0)
    expect_words(causal)
    page.get_by_role("button", name="Undo").click()
    expect_words(more)
    page.wait_for_url(link)
    page.get_by_role("radio", name="causal").click()
    expect_words(causal)
    page.wait_for_selector(f'.editor[data-allowed="{allowed}"]')
    page.goto(link)
    expect_words(more)
    page.wait_for_selector(f'.editor[data-allowed="{allowed + 1}"]')
