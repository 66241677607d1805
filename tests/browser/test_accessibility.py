"""Every page for those who hear it, walk it by keyboard, or see little contrast: axe-core over all pages, light and dark, and what axe cannot know."""

from __future__ import annotations

from typing import Any

import pytest
from every_page import DRAWN, SCHEMES, Met, disordered, go, lists_keys, lit, serious, shows_focus, walk
from settling import settle

from viz import theme


@pytest.mark.parametrize("scheme", SCHEMES)
def test_axe_finds_nothing_serious_on_every_twentieth_page(walked: list[Met], scheme: str) -> None:
    assert {page.slug: page.wrong[scheme] for page in walked if page.wrong[scheme]} == {}


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES)
def test_axe_finds_nothing_serious_on_any_page(chromium: Any, app_url: str, scheme: str) -> None:
    found = {
        slug: serious(page, scheme) + disordered(page)
        for slug, page in walk(chromium, app_url, scheme, anew=True)
    }
    assert {slug: wrong for slug, wrong in found.items() if wrong} == {}


@pytest.mark.slow
@pytest.mark.parametrize("address", ["/?view=full", "/scaling?scaling.step=2"])
def test_whatever_has_the_focus_shows_it(visitor: Any, app_url: str, address: str) -> None:
    visitor.goto(app_url + address)
    visitor.wait_for_function(DRAWN, polling=150)
    settle(visitor)
    seen = shows_focus(visitor)
    assert any("stTopNavLink" in name or name.startswith("a.") for name in seen)


def test_an_answer_by_keyboard_leads_to_its_verdict_which_is_read_out_and_open_folds_are_read_at_night(
    visitor: Any, app_url: str
) -> None:
    visitor.goto(app_url + "/masks")
    asked = visitor.locator('[class*="st-key-asked-"]').first
    asked.locator("button").first.wait_for()
    settle(visitor)
    lists_keys(visitor)
    visitor.wait_for_function("""document.querySelector('[class*="st-key-asked-"]').ariaLive === "polite" """)
    asked.evaluate("(box) => { box.was = true; }")
    asked.locator("button").first.focus()
    visitor.keyboard.press("Enter")
    visitor.wait_for_function("document.activeElement?.className.includes('st-key-answer-')")
    assert "It is" in (said := visitor.evaluate("document.activeElement.innerText")) or "Right" in said
    assert asked.locator('[class*="st-key-verdict-"]').evaluate(
        "(verdict) => verdict.closest('[aria-live=polite]').was"
    ), "the verdict came into what is read out already"
    settle(visitor)

    # the line of a fold, too: Streamlit darkens the words of what is open
    for name in ("More", "What am I looking at"):
        visitor.locator('[class*="st-key-word-"]').get_by_role("button", name=name).click()
        settle(visitor)
    assert visitor.locator('[class*="st-key-word-"] button[aria-expanded="true"]').count() == 2
    lit(visitor, "dark")
    assert serious(visitor, "dark") == []

    # a pill answers to a key without a click
    go(visitor, "/scaling?scaling.step=1")
    settle(visitor)
    visitor.locator('[class*="st-key-asked-"] [role=radio]').first.focus()
    visitor.keyboard.press("Enter")
    visitor.wait_for_function("document.activeElement?.className.includes('st-key-answer-')")


CHANGES = """() => {
  window.changed = new Set();
  const look = (root) => {
    root.querySelectorAll("[role=status], [aria-live]").forEach((live) => new MutationObserver(() => {
      if (live.getAttribute("aria-live") !== "off") changed.add(live.className);
    }).observe(live, { childList: true, subtree: true, characterData: true }));
    root.querySelectorAll("*").forEach((e) => e.shadowRoot && look(e.shadowRoot));
  };
  look(document);
}"""


@pytest.mark.slow
def test_one_key_in_the_heatmap_is_told_once_and_in_parts(visitor: Any, app_url: str) -> None:
    visitor.goto(app_url + "/?view=full&look.beside=lines")
    visitor.locator(".matrix .frame").wait_for()
    visitor.locator(".lines .frame").wait_for()
    visitor.wait_for_function(DRAWN, polling=150)
    visitor.locator(".matrix .frame").focus()
    visitor.keyboard.press("ArrowDown")
    before = visitor.locator("[data-touched]").first.get_attribute("data-touched")
    visitor.evaluate(CHANGES)
    visitor.keyboard.press("ArrowDown")
    visitor.wait_for_function("changed.size > 0")
    assert visitor.locator("[data-touched]").first.get_attribute("data-touched") != before, (
        "the other view still follows"
    )
    assert visitor.evaluate("[...changed]") == ["tip"]
    tip = visitor.locator(".matrix .tip").text_content()
    assert "score: " in tip and "; entropy" in tip.replace("\xa0", " "), tip


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_circles_of_ready_made_sentences_are_seen(new_page: Any, app_url: str, scheme: str) -> None:
    page = new_page(levels=(), viewport={"width": 1280, "height": 900}, color_scheme=scheme)
    page.goto(app_url + "/")
    page.get_by_role("button", name="Try a sentence").click()
    circle = page.locator('[data-testid="stRadioOption"] > div > :first-child').first
    circle.wait_for()
    drawn = circle.evaluate("""(e) => {
      const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true }), style = getComputedStyle(e);
      const on = (...all) => { for (const c of all) { pen.fillStyle = c; pen.fillRect(0, 0, 1, 1); } return "#" + [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3).map((v) => v.toString(16).padStart(2, "0")).join(""); };
      const ground = getComputedStyle(document.querySelector(".stApp")).backgroundColor;
      return [style.outlineStyle, on(ground, style.outlineColor), on(ground)];
    }""")
    assert drawn[0] == "solid" and theme.contrast(drawn[1], drawn[2]) >= 3, drawn
