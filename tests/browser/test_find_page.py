"""Find heads in a real browser: a stroke changes the ranking, a point of the map is a head, a link restores."""

from __future__ import annotations

import pytest
from settling import drag, in_link, opened, settle
from small_app import cell_at

LINK = "/find?model=gpt-mini&kind=causal"
RANKED, MAPPED = "text=Most like the drawing", "text=48 heads on 32 sentences"
GONE = "words => !document.body.innerText.includes(words)"


def cell(page, place: int) -> tuple[float, float]:
    """A cell on the diagonal of the pad."""
    return cell_at(page.locator(".editor").first, place, place)


@pytest.mark.slow
def test_a_stroke_changes_the_ranking_and_the_link_restores_it(visitor, app_url):
    opened(visitor, f"{app_url}{LINK}&find.by=sketch", RANKED)
    ranked = visitor.locator(RANKED).first
    before, pad = ranked.inner_text(), visitor.locator(".editor").first.inner_text()
    assert "cells drawn" in pad and not {"attend", "allow", "masked"} & set(pad.lower().split())
    visitor.get_by_role("button", name="the first word", exact=True).click()
    visitor.wait_for_function(GONE, arg=before)
    settle(visitor)
    first = ranked.inner_text()
    drag(visitor, cell(visitor, 5), cell(visitor, 8), steps=6)
    visitor.wait_for_function(GONE, arg=first)
    settle(visitor)
    drawn, now = in_link(visitor, "find.drawn"), ranked.inner_text()
    assert now != first != before and len(drawn) == 36
    opened(visitor, visitor.url, RANKED)
    assert (ranked.inner_text(), in_link(visitor, "find.drawn")) == (now, drawn)


@pytest.mark.slow
def test_a_point_of_the_map_is_a_head_and_the_link_restores_it(visitor, app_url):
    opened(visitor, f"{app_url}{LINK}&find.by=map&layer=0&head=0", MAPPED)
    points = visitor.locator(".js-plotly-plot .scatterlayer .point")
    points.first.wait_for()
    assert points.count() >= 48
    box = points.nth(20).bounding_box()
    visitor.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    visitor.wait_for_function(
        "() => !(location.search.includes('layer=0') && location.search.includes('head=0'))"
    )
    settle(visitor)
    name = "L{}.H{}".format(*(in_link(visitor, part) for part in ("layer", "head")))
    assert visitor.get_by_text(name).count()
    opened(visitor, visitor.url, MAPPED)
    assert visitor.get_by_text(name).count()
