"""The page *What if* in a real browser: a head is switched off by clicking and taken back; a cell is forbidden."""

from __future__ import annotations

import pytest
from settling import in_link, opened, press, settle

GRID = ".heads[data-heads]"


def chips(page):
    return page.locator("[class*='st-key-what_if-chip-']")


@pytest.mark.slow
def test_a_head_is_switched_off_by_clicking_and_taken_back(visitor, app_url):
    opened(visitor, app_url + "/what_if?what_if.edits=none", GRID)
    assert chips(visitor).count() == 0
    press(visitor, "ArrowRight", "ArrowRight", "ArrowUp", "Enter", at=f"{GRID} .frame")
    settle(visitor)
    where = "layer {}, head {}".format(*(in_link(visitor, name) for name in ("layer", "head")))
    visitor.get_by_role("radio", name="Zero-ablate", exact=True).click()
    settle(visitor)
    assert chips(visitor).count() == 1 and where in chips(visitor).first.inner_text().lower()
    assert "Without L" in visitor.get_by_text("next word").last.inner_text()
    chips(visitor).first.click()
    settle(visitor)
    assert chips(visitor).count() == 0 and in_link(visitor, "what_if.edits") == "none"


@pytest.mark.slow
def test_a_cell_of_the_picture_before_is_forbidden(visitor, app_url):
    opened(visitor, app_url + "/what_if?what_if.edits=none&layer=3&head=1&what_if.seen=causal.3.1", GRID)
    visitor.locator(".matrix").filter(has_text="L3.H1 before").first.locator(".frame").focus()
    press(visitor, "End", "Enter")
    settle(visitor)
    visitor.get_by_role("button", name="Mask it").click()
    settle(visitor)
    assert chips(visitor).count() == 1 and "forbid" in visitor.url
