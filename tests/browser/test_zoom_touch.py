"""The pages at 200% zoom and under a finger: nothing scrolls sideways, a tap touches what is under it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from every_page import fits_sideways
from playwright.sync_api import expect
from settling import settle
from small_app import cell_at, token_at

ZOOMED = {"viewport": {"width": 720, "height": 450}, "device_scale_factor": 2}
"""A window of 1440 x 900 at 200%."""
PHONE = {
    "viewport": {"width": 390, "height": 844},
    "device_scale_factor": 2,
    "has_touch": True,
    "is_mobile": True,
}
PAGES = {
    "gpt-mini": "/?model=gpt-mini&view=full&look.beside=lines",
    "translator": "/?model=translator-en-es&view=full&look.beside=lines",
    "masks": "/masks?masks.step=6",
}


@pytest.fixture
def look(new_page: Callable[..., Any], app_url: str) -> Callable[..., Any]:
    """Opens a page of the app and waits until its instruments are drawn; no page may complain."""

    def open_page(path: str, **options: Any) -> Any:
        page = new_page(levels=(), **options)
        page.goto(app_url + path)
        page.wait_for_selector(".arith" if "full" in path else ".matrix .frame", state="attached")
        settle(page)
        return page

    return open_page


@pytest.mark.slow
@pytest.mark.parametrize("options", [PHONE, ZOOMED], ids=["phone", "zoomed"])
@pytest.mark.parametrize("path", [*PAGES.values()], ids=PAGES)
def test_nothing_scrolls_sideways_and_every_instrument_has_a_name(look, path, options):
    page = look(path, **options)
    fits_sideways(page, options["viewport"]["width"])
    if path == PAGES["gpt-mini"]:
        places = page.locator(".lines[data-places]").get_attribute("data-places").split("|")
        across = [float(side.split(":")[0]) for side in places]
        assert abs(across[1] - across[0]) > 60, "queries stand apart from keys"


@pytest.mark.slow
def test_a_tap_touches_a_word_of_either_side_and_a_cell_that_is_calculated(look):
    page = look(PAGES["gpt-mini"], **PHONE)
    for side, index in (("query", 4), ("key", 2)):
        page.locator(".lines .pane").scroll_into_view_if_needed()
        page.touchscreen.tap(*token_at(page, side, index))
        page.wait_for_selector(f'.lines[data-touched="{side}:{index}"]')
    heatmap = page.locator(".atlas[data-cell][data-scale]")
    before = page.locator(".arith").get_attribute("data-weight")
    page.locator(".matrix .pane").first.scroll_into_view_if_needed()
    page.touchscreen.tap(*cell_at(heatmap, 4, 1))
    page.wait_for_selector('.atlas[data-cell="4,1"][data-scale]')
    expect(page.locator(".arith")).not_to_have_attribute("data-weight", before)
