"""The exhibit on masks in a real browser: a cell of the mask is clicked, and the run in front of the visitor changes."""

from __future__ import annotations

import pytest


@pytest.fixture
def page(visitor, app_url: str):
    """A fresh visitor on the page."""
    visitor.goto(f"{app_url}/masks?masks.step=6&text=I+am+a+student.")
    visitor.wait_for_selector(".editor[data-allowed]")
    return visitor


def toggle(page, query: int, key: int) -> None:
    """Allow or forbid one cell by the keyboard: the first arrow only shows the cell in the corner."""
    page.locator(".editor .frame").focus()
    for step in ["ArrowRight", *["ArrowDown"] * query, *["ArrowRight"] * key, "Space"]:
        page.keyboard.press(step)
    page.keyboard.press("Escape")


def allowed(page) -> int:
    return int(page.locator(".editor").get_attribute("data-allowed"))


def opened(page) -> tuple[int, int]:
    """How many pieces the sentence has (the mask is causal: n (n + 1) / 2 cells), and the row that is chosen first."""
    n = next(n for n in range(1, 40) if n * (n + 1) // 2 == allowed(page))
    return n, n // 2


def said(page, words: str) -> None:
    page.get_by_text(words).first.wait_for()


@pytest.mark.slow
def test_a_clicked_cell_changes_the_run_the_link_and_can_be_undone(page) -> None:
    n, row = opened(page)
    causal, more = (f"may attend to {row + extra} of {n} words" for extra in (1, 2))
    said(page, causal)
    toggle(page, row, n - 1)
    said(page, more)
    page.wait_for_url("**masks.kind=own**")
    link = page.url
    toggle(page, row, 0)
    said(page, causal)
    page.get_by_role("button", name="Undo").click()
    said(page, more)
    page.wait_for_url(link)
    page.get_by_role("radio", name="causal").click()
    said(page, causal)
    page.wait_for_selector(f'.editor[data-allowed="{n * (n + 1) // 2}"]')
    page.goto(link)
    said(page, more)
    page.wait_for_selector(f'.editor[data-allowed="{n * (n + 1) // 2 + 1}"]')


@pytest.mark.slow
def test_an_emptied_row_is_told_in_words(page) -> None:
    toggle(page, 0, 0)
    said(page, "zeros, not NaN")
    page.locator(".editor .legend", has_text="1 row allows nothing").first.wait_for()


@pytest.mark.slow
def test_a_cell_chosen_in_one_matrix_is_chosen_in_the_other(page) -> None:
    n, row = opened(page)
    pattern, scores = (
        page.locator(".matrix", has_text=title)
        for title in ("Pattern, after softmax", "Scores, before the mask")
    )
    pattern.locator(".frame").focus()
    for step in ("ArrowUp", "ArrowUp", "Enter"):
        page.keyboard.press(step)
    page.wait_for_url("**masks.cell=**")
    said(page, f"may attend to {row} of {n} words")
    chosen = pattern.get_attribute("data-cell")
    assert chosen.startswith(f"{row - 1},")
    scores.and_(page.locator(f'[data-cell="{chosen}"]')).wait_for()
