"""A lecture with two who follow, on a desktop whose connection is lost and on a phone; from the code on the wall to the end."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from every_page import go, open_room, serious
from playwright.sync_api import expect
from settling import settle
from shown_values import stating

from viz import theme
from viz.workspace.decode.controls import OPENING

SENTENCE = "The dog saw a red house."
SIGNS = r"*a* __b__ [c](d)\. `e` $f$ <g> #h ##ing :cat: ~~i~~ &amp; 1."


CUT = """() => [...document.querySelectorAll(".vega svg text")].filter((text) => {
  const own = text.getBoundingClientRect(), all = text.closest("svg").getBoundingClientRect();
  return own.width && (own.right > all.right + 1.5 || own.left < all.left - 1.5);
}).map((text) => text.textContent)"""
"""What is written beyond the edge of a chart."""
WIDE = """async () => {
  const { draw, place } = await import(new URL("room/assets/draw.js", document.baseURI)), values = [{ at: 1, words: "the dancers who came from far away" }, { at: 9, words: "the dancers who stayed until it was late and the last of the guests had gone home in the rain" }];
  place("wide", document.getElementById("pictures").appendChild(document.createElement("div")));
  const chart = { data: { values }, encoding: { x: { field: "at", type: "quantitative" }, y: { field: "words", axis: null } }, layer: [{ mark: "point" }, { mark: { type: "text", align: "left", dx: 8 }, encoding: { text: { field: "words" } } }] };
  await draw({ key: "wide", chart, alt: "Words" });
}"""
"""Draws, beside what the lecturer shows, a chart with words that reach far beyond its right edge."""
ROOM = [".room-bar", '[class*="st-key-asked-"]']
"""The parts that a room adds to a page of the lecturer's."""


@pytest.fixture
def follow(new_page: Callable[..., Any], app_url: str) -> Callable[..., Any]:
    """Opens a page of the room in a browser of its own; no error of a page, and no request but to the app."""

    def open_page(path: str, **more: Any) -> Any:
        page = new_page((app_url, "blob:", "data:"), levels=(), **more)
        page.goto(f"{app_url}/{path}")
        return page

    return open_page


def goes_to(lecturer: Any, app_url: str, path: str) -> None:
    """Load a page, as a reload does: a new session, which leads by the cookie."""
    lecturer.goto(f"{app_url}/{path}")
    settle(lecturer)


def moves_to(lecturer: Any, path: str) -> None:
    """Go to a page within the app, as a link of the menu does."""
    go(lecturer, f"/{path}")
    settle(lecturer)


def test_a_lecture(visitor: Any, follow: Any, app_url: str) -> None:
    lecturer = visitor
    goes_to(lecturer, app_url, "lecture_room")
    lecturer.get_by_role("button", name="Open a room").click()
    bar = lecturer.locator(".room-bar[data-live]")
    code = bar.locator("b").inner_text()
    address = f"room/{code.replace(' ', '')}"
    control = lecturer.context.new_page()
    control.goto(f"{app_url}/{address}/presenter")

    desktop = follow("room")
    for wrong in ("  ", "АВСЕНК"):  # the second in Cyrillic letters
        desktop.locator("#typed").fill(wrong)
        desktop.get_by_role("button", name="Join").click()
        expect(desktop.locator("#wrong")).to_contain_text("code")
    wide = "".join(chr(ord(sign) + 0xFEE0) if sign != " " else sign for sign in code)
    desktop.locator("#typed").fill(wide)  # as a Japanese keyboard writes it
    desktop.get_by_role("button", name="Join").click()
    phone = follow(address, viewport={"width": 390, "height": 844}, color_scheme="dark")
    everybody = (desktop, phone)
    expect(bar).to_contain_text("2 joined")

    # a sentence of the room is the lecturer's alone until it is accepted; one can be dropped
    for one, words in ((phone, SENTENCE), (desktop, SIGNS)):
        one.locator("#written").fill(words)
        one.locator("#say").get_by_role("button", name="Send").click()
    expect(bar).to_contain_text("2 sentences")
    line = control.locator("#sentences li")
    expect(line).to_have_count(2)
    assert desktop.get_by_text(SENTENCE).count() == lecturer.get_by_text(SENTENCE).count() == 0
    line.filter(has_text=SIGNS).get_by_role("button", name="Show on the wall").click()
    expect(phone.locator("#accepted li")).to_have_text(SIGNS)
    control.locator("#shown").get_by_role("button", name="Drop").click()
    expect(phone.locator("#accepted")).to_be_hidden()

    # follow me: the picture of the first screen, the word that the lecturer touches, the sentence that is taken
    moves_to(lecturer, "")
    for one in everybody:
        expect(one.locator("#sentence")).to_have_text(OPENING[True])
        expect(one.locator(".word").filter(has_text="white")).to_be_visible()
    lecturer.locator(".word").filter(has_text="white").hover()
    told = lecturer.locator(".atlas .sentence").inner_text()
    for one in everybody:
        expect(one.locator(".atlas .sentence")).to_have_text(told)
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    line.get_by_role("button", name="Take").click()
    for one in everybody:
        expect(one.locator("#sentence")).to_have_text(SENTENCE)
    settle(lecturer)

    # ask the room: nothing is told before the reveal, an answer can be changed, who comes back finds the present
    kept_back: list[Any] = []
    desktop.route(
        "**/loadVegaEmbed.*.js",
        lambda route: route.continue_() if kept_back else kept_back.append(route.abort()),
    )
    desktop.context.set_offline(True)
    goes_to(lecturer, app_url, "scaling")
    question = lecturer.locator('[class*="st-key-asked-"]').first
    words = question.locator("p").first.inner_text().removeprefix("Predict, then look.").strip()
    assert words.endswith("?") and question.get_by_role("radiogroup").get_attribute("aria-label") == words
    expect(phone.locator("#ask h2")).to_contain_text(words)
    phone.get_by_role("button", name="about 1", exact=True).click()
    expect(bar).to_contain_text("1 answered")
    phone.get_by_role("button", name="about 64").click()
    expect(phone.locator("#ask [role=status]")).to_contain_text("Sent.")
    expect(bar).to_contain_text("1 answered")
    assert phone.locator(".bars").count() == 0
    desktop.context.set_offline(False)
    expect(desktop.locator("#ask h2")).to_contain_text(words)

    # peer instruction: the room discusses and votes again, and both votes are shown
    bar.get_by_role("button", name="Vote again").click()
    for one in everybody:
        expect(one.locator("#ask")).to_contain_text("Discuss")
        assert one.locator(".bars, [aria-pressed=true]").count() == 0
    expect(bar).to_contain_text("0 of 1 answered again")
    for one in everybody:
        one.get_by_role("button", name="about 8").click()
    expect(bar).to_contain_text("2 of 1 answered again")
    bar.get_by_role("button", name="Reveal").click()
    for one in everybody:
        expect(one.locator(".bars .right")).to_have_text("about 8 \u2713 \u25c2 you")
        expect(one.locator("#ask .verdict")).to_contain_text("That is right.")
        expect(one.locator(".bars")).to_contain_text("0 (0%)2 (100%)")
        expect(one.locator(".bars")).to_contain_text("1 (100%)0 (0%)")
        expect(one.locator("#ask .changed")).to_have_text(
            stating("1 who voted twice", "1 changed from wrong", "0 from right")
        )
    expect(lecturer.get_by_text("Right.")).to_be_visible()
    expect(desktop.locator(".vega svg").first).to_be_visible()
    assert kept_back, "what draws the chart was never kept back from the one who was lost"

    # the picture of the phone: in its own colours, nothing cut, nothing that axe calls serious
    fill = phone.locator(".vega svg text").filter(has_text="variance").first.get_attribute("fill")
    assert fill in theme.dark_twins().values() and fill not in theme.dark_twins()
    assert phone.evaluate(CUT) == []
    assert serious(phone, "light") == serious(desktop, "dark") == [], "all rules, and colours by day"
    assert serious(lecturer, "light", ROOM) == []

    # words that are wider than a phone's chart are drawn smaller, not cut
    phone.evaluate(WIDE)
    wide = phone.locator(".vega[data-drawn] svg").filter(has_text="dancers")
    expect(wide).to_be_visible()
    assert wide.evaluate("(svg) => svg.getBoundingClientRect().width < Number(svg.getAttribute('width')) - 1")
    assert phone.evaluate(CUT) == [] and phone.evaluate("document.documentElement.scrollWidth") <= 390

    # eyes up, and a look of one's own
    bar.get_by_role("button", name="Pause").click()
    expect(phone.locator("#paused")).to_be_visible()
    bar.get_by_role("button", name="Go on").click()
    expect(phone.locator("#paused")).to_be_hidden()
    desktop.get_by_role("button", name="Look around alone").click()
    moves_to(lecturer, "masks?present=1")
    expect(phone.locator("#title")).to_have_text(re.compile("mask", re.I))
    expect(desktop.locator("#title")).to_have_text("Why divide by √d")
    desktop.get_by_role("button", name="Back to the lecture").click()
    title = phone.locator("#title").inner_text()
    expect(desktop.locator("#title")).to_have_text(title)

    # a chart whose legends stand side by side on the wall has them in rows on a phone
    phone.locator("#ask").get_by_role("button", name="Send").click()
    expect(bar).to_contain_text("1 answered")
    bar.get_by_role("button", name="Reveal").click()
    expect(phone.locator(".vega[data-drawn] .role-legend text")).to_have_count(2)
    assert phone.evaluate(CUT) == []

    # an own question, asked from the bar beside the picture: to the character on every screen, whatever signs it has
    bar.get_by_role("button", name="Ask", exact=True).click()
    form = lecturer.get_by_role("dialog")
    form.get_by_label("Your question").fill(SIGNS)
    form.get_by_role("textbox", name="Options").fill(f"yes\n* {SIGNS}")
    form.get_by_role("textbox", name="Explanation").fill(SIGNS)
    form.get_by_role("textbox", name="Explanation").press("Tab")
    settle(lecturer)
    form.get_by_role("button", name="Ask", exact=True).click()
    shown = lecturer.locator("[data-asked]")
    for one in (phone.locator("#ask"), control.locator("#ask"), shown):
        expect(one.locator("h2")).to_have_text(SIGNS)
        assert SIGNS in one.locator(".options").inner_text()
    expect(phone.locator("#title")).to_have_text(title)
    phone.get_by_role("button", name="yes", exact=True).click()
    expect(control.locator("#votes .verdict")).to_have_text(stating("0% right"))
    expect(control.locator("#votes .bars")).to_contain_text("1 (100%)")
    assert phone.locator(".bars").count() == 0
    control.get_by_role("button", name="Reveal").click()
    for one in (phone.locator("#ask"), control.locator("#ask"), shown):
        expect(one.locator(".bars .right")).to_have_text(f"{SIGNS} \u2713")
        assert one.get_by_text(SIGNS, exact=True).count() == 2  # the question, the explanation
        expect(one.locator(".bars")).to_have_count(1)
    expect(phone.locator("#ask .verdict")).to_have_text(stating("“yes”", "not right"))
    phone.reload()
    expect(phone.locator("#ask .verdict")).to_contain_text("not right")  # the room knows its seat's answer
    control.get_by_role("button", name="Close the question").click()
    expect(shown).to_have_count(0)

    # the end is a page, for those who were there, for who comes later, and for the lecturer
    moves_to(lecturer, "lecture_room")
    lecturer.get_by_role("button", name="End the room").click()

    def ended(one: Any) -> None:
        expect(one.locator("#ended h1")).to_be_visible()
        expect(one.locator("#ended li a", has_text="Why divide by √d")).to_be_visible()
        expect(one.locator("#ended .bars")).to_have_count(3)
        assert one.get_by_role("link", name="Download the votes").count() == (one is control)

    for one in (*everybody, control):
        ended(one)
    desktop.context.clear_cookies()
    desktop.goto(f"{app_url}/{address}")  # without a seat, as somebody who was not there
    ended(desktop)
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    assert control.context.request.get(f"{app_url}/{address}/votes").text().count("\n") > 5
    control.close()


@pytest.mark.slow
def test_a_second_device_steers_and_a_reload_goes_on(visitor: Any, follow: Any, app_url: str) -> None:
    code, bar = open_room(visitor, app_url), visitor.locator(".room-bar[data-live]")
    (secret,) = (one["value"] for one in visitor.context.cookies() if one["name"] == "atlas_lead")
    goes_to(visitor, app_url, "scaling")  # a new session: the cookie says that it leads
    bar.wait_for()
    remote = follow(f"room/{code}/remote#{secret.partition('.')[2]}", viewport={"width": 390, "height": 844})
    expect(remote.locator("#title")).to_have_text("Why divide by √d")
    assert "#" not in remote.url
    remote.get_by_role("button", name="Step ›").click()
    expect(visitor.get_by_role("radio", name="2 Weights")).to_be_checked()
    wall = follow(f"room/{code}/wall")
    expect(wall.locator("#why")).to_contain_text("not control")
    expect(wall.get_by_role("link", name="Join as a student")).to_be_visible()
