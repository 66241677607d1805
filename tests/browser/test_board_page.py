"""The blackboard in a real browser: a weight is typed and counted up, a word is chosen, the convention is turned."""

from __future__ import annotations

import pytest
from settling import opened, settle
from shown_values import states
from small_app import saved

from viz.course.self_attention.self_attention import exhibit


def cell(page, grid: str, row: int, column: int):
    return page.locator(f'td[data-grid="{grid}"][data-at="{row},{column}"]')


def shown(page, grid: str, row: int, column: int) -> float:
    return float(cell(page, grid, row, column).inner_text().replace("−", "-"))


@pytest.mark.slow
def test_a_weight_a_word_and_the_convention(visitor, app_url) -> None:
    opened(visitor, f"{app_url}/self_attention?self_attention.step=2", ".board td.cell")
    wide = cell(visitor, "W_Q", 2, 0).bounding_box()["width"]
    cell(visitor, "W_Q", 2, 0).click()
    assert cell(visitor, "W_Q", 2, 0).bounding_box()["width"] == wide, "an open cell is as wide as before"
    visitor.keyboard.type("-3")
    visitor.keyboard.press("Enter")
    settle(visitor)
    cell(visitor, "W_V", 3, 1).click()
    for _ in range(2):
        visitor.locator(".board .count button").nth(1).click()
        settle(visitor)
    assert visitor.locator(".board input.entry").count() == 1, "the cell stays open while the page answers"
    visitor.keyboard.press("Escape")
    first = exhibit.compute(exhibit.Params()).attention.w_v[3, 1]
    made = f"Q20:-3_V31:{first + 2:g}"
    found = exhibit.compute(exhibit.Params(set=made)).attention
    assert shown(visitor, "W_Q", 2, 0) == -3 and shown(visitor, "W_V", 3, 1) == first + 2
    assert [shown(visitor, "q", i, 0) for i in range(3)] == found.q[5].tolist()
    assert [shown(visitor, "v", i, 0) for i in range(2)] == found.v[5].tolist()
    visitor.locator('.board button[data-word="2"]').first.click()
    settle(visitor)
    visitor.locator('.board .switch button[data-value="rows"]').click()
    visitor.wait_for_selector('.board[data-convention="rows"]')
    settle(visitor)
    assert [shown(visitor, "q", 0, i) for i in range(3)] == found.q[2].tolist()
    cell(visitor, "k", 0, 1).click()
    assert visitor.locator(".board td.lit").count() == 8 and states(
        visitor.locator(".board .told").inner_text(), "“eating”", "number 2"
    )
    visitor.reload()
    visitor.wait_for_selector('.board[data-convention="rows"]')
    assert shown(visitor, "W_Q", 2, 0) == -3, "the link brings the weight back"


@pytest.mark.slow
def test_the_saved_page_tells_and_changes_nothing(visitor, app_url, tmp_path) -> None:
    opened(visitor, f"{app_url}/self_attention?self_attention.step=3", ".board td.cell")
    visitor.goto(saved(visitor, "html", tmp_path, ".board").as_uri())
    visitor.wait_for_selector(".board td.cell")
    cell(visitor, "W_Q", 0, 0).click()
    assert visitor.locator(".board input, .board .word button, .board .switch:visible").count() == 0
    cell(visitor, "K", 1, 2).click()
    assert states(visitor.locator(".board .told").inner_text(), "“eating”", "number 2")
