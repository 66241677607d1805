"""A deep link in a frame of another site: who may show it, how high it is, what is drawn and what is not."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest
from every_page import go, open_room
from settling import settle


def test_a_named_site_shows_a_picture_that_tells_its_height_and_no_other_site_does(
    new_page: Any, app_url: str, other_sites: tuple[str, str]
) -> None:
    link = f"{app_url}/scaling?embed=1&scaling.step=2"
    page = new_page(levels=(), viewport={"width": 640, "height": 480})
    page.goto(f"{other_sites[0]}/#{quote(link, safe='')}")
    frame = page.frame_locator("iframe")
    frame.locator("[data-embed]").wait_for()
    inside = page.frames[1]
    assert inside.url == link.replace("embed=1", "embed=true")
    inside.wait_for_function(
        "innerHeight > 400 && document.querySelector('[data-testid=stMain]').scrollHeight <= innerHeight"
    )
    heard = page.evaluate("heard")
    assert {message["origin"] for message in heard} == {app_url}
    assert all(set(message) == {"origin", "source", "height"} for message in heard)
    assert frame.get_by_role("heading", name="Why divide by").is_visible()
    for chrome in ("stHeader", "stToolbar"):
        assert not any(part.is_visible() for part in frame.get_by_test_id(chrome).all())
    assert not [words for words in ("Add to a", "Sources") if frame.get_by_text(words).count()]
    opened = frame.get_by_role("link", name="Open in Attention Atlas")
    assert opened.get_attribute("href") == link.replace("embed=1&", "")
    for site, path in ((other_sites[1], "/scaling?embed=1"), (other_sites[0], "/lecture_room?embed=1")):
        page.goto("about:blank")
        with page.expect_console_message(lambda line: "frame-ancestors" in line.text):
            page.goto(f"{site}/#{quote(app_url + path, safe='')}")
        assert page.evaluate("heard") == []


@pytest.mark.slow
def test_a_framed_page_with_its_menu_has_no_control_of_the_room_that_its_visitor_leads(
    new_page: Any, app_url: str, other_sites: tuple[str, str]
) -> None:
    page = new_page(levels=(), viewport={"width": 900, "height": 600})
    open_room(page, app_url)
    page.goto(f"{other_sites[0]}/#{quote(app_url + '/privacy', safe='')}")
    frame = page.frame_locator("iframe")
    frame.get_by_role("heading", level=1, name="Privacy").wait_for()
    inside = page.frames[1]
    settle(inside)
    frame.locator(".room-bar").wait_for(state="detached")
    assert frame.get_by_test_id("stHeader").is_visible()
    go(inside, "/lecture_room")
    opened = frame.get_by_role("link", name="Open in Attention Atlas")
    opened.wait_for()
    settle(inside)
    assert (opened.get_attribute("href"), opened.get_attribute("target")) == (
        f"{app_url}/lecture_room",
        "_blank",
    )
    assert frame.get_by_test_id("stMain").get_by_role("button").count() == 0
    with page.context.expect_page() as window:
        opened.click()
    window.value.get_by_role("button", name="End the room").click()
    window.value.get_by_role("button", name="Open a room").wait_for()
