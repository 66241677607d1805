"""Find heads in a real browser: the nearest is named, a stroke changes the ranking, a point of the map is a head, a link restores."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from settling import settle

LINK = "/find?model=gpt-mini&kind=causal"


def opened(page, address: str, words: str) -> None:
    page.goto(address)
    page.get_by_text(words).first.wait_for()
    settle(page)


def chosen(page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def said(page, words: str) -> str:
    return page.get_by_text(words).first.inner_text()


def cell(page, place: int) -> tuple[float, float]:
    """The middle of a cell on the diagonal of the pad."""
    box = page.locator(".editor .pane").first.bounding_box()
    left, top, unit = (float(v) for v in page.locator(".editor").first.get_attribute("data-place").split(","))
    return box["x"] + left + (place + 0.5) * unit, box["y"] + top + (place + 0.5) * unit


@pytest.mark.slow
def test_the_nearest_head_is_named_and_can_be_gone_to(visitor, app_url):
    opened(visitor, f"{app_url}{LINK}&layer=3&head=6", "Nearest is")
    nearest = said(visitor, "Nearest is").removeprefix("Nearest is ").split(" of ")[0]
    assert nearest.startswith("L") and visitor.locator(".js-plotly-plot").count() == 8
    assert "L3.H6" in said(visitor, "The head in view")
    visitor.get_by_role("button", name="Like this").first.click()
    visitor.get_by_text(f"in view: {nearest}").wait_for()
    settle(visitor)
    assert f"L{chosen(visitor)['layer']}.H{chosen(visitor)['head']}" == nearest


@pytest.mark.slow
def test_a_stroke_changes_the_ranking_and_the_link_restores_it(visitor, app_url):
    opened(visitor, f"{app_url}{LINK}&find.by=sketch", "Most like the drawing")
    before, pad = said(visitor, "Most like the drawing"), visitor.locator(".editor").first.inner_text()
    assert "cells drawn" in pad and not {"attend", "allow", "masked"} & set(pad.lower().split())
    visitor.get_by_role("button", name="the first word", exact=True).click()
    visitor.wait_for_function("words => !document.body.innerText.includes(words)", arg=before)
    settle(visitor)
    first = said(visitor, "Most like the drawing")
    visitor.mouse.move(*cell(visitor, 5))
    visitor.mouse.down()
    visitor.mouse.move(*cell(visitor, 8), steps=6)
    visitor.mouse.up()
    visitor.wait_for_function("words => !document.body.innerText.includes(words)", arg=first)
    settle(visitor)
    drawn, now = chosen(visitor)["find.drawn"], said(visitor, "Most like the drawing")
    assert now != first != before and len(drawn) == 36
    opened(visitor, visitor.url, "Most like the drawing")
    assert said(visitor, "Most like the drawing") == now and chosen(visitor)["find.drawn"] == drawn


@pytest.mark.slow
def test_a_point_of_the_map_is_a_head_and_the_link_restores_it(visitor, app_url):
    opened(visitor, f"{app_url}{LINK}&find.by=map&layer=0&head=0", "48 heads on 32 sentences")
    points = visitor.locator(".js-plotly-plot .scatterlayer .point")
    points.first.wait_for()
    assert points.count() >= 48
    box = points.nth(20).bounding_box()
    visitor.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    visitor.wait_for_function(
        "() => !(location.search.includes('layer=0') && location.search.includes('head=0'))"
    )
    settle(visitor)
    name = f"L{chosen(visitor)['layer']}.H{chosen(visitor)['head']}"
    assert visitor.get_by_text(name).count()
    opened(visitor, visitor.url, "48 heads on 32 sentences")
    assert visitor.get_by_text(name).count()


@pytest.mark.slow
def test_the_card_of_a_head_names_the_sentences_behind_its_score(visitor, app_url):
    opened(visitor, f"{app_url}{LINK}&find.by=kinds&layer=3&head=6", "standard deviation")
    assert (
        "L3.H6"
        in visitor.locator('[data-testid="stHeading"], h2, h3, h4')
        .filter(has_text="gpt-mini")
        .first.inner_text()
    )
    assert visitor.get_by_text("Most, ").count() == visitor.get_by_text("Least, ").count() == 1
