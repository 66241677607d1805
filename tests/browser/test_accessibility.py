"""Every page for those who hear it, walk it by keyboard, or see little contrast: axe-core over all pages, light and dark, and what axe cannot know."""

from __future__ import annotations

from typing import Any

import pytest
from every_page import DRAWN, SCHEMES, Met, disordered, serious, walk
from sampling import sampled
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


def test_an_open_fold_is_read_at_night(chromium: Any, app_url: str) -> None:
    """Its line, too: Streamlit darkens the words of what is open."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, color_scheme="dark")
    page = context.new_page()
    page.goto(app_url + "/masks")
    settle(page)
    for name in ("More", "What am I looking at"):
        page.locator('[class*="st-key-word-"]').get_by_role("button", name=name).click()
        settle(page)
    assert page.locator('[class*="st-key-word-"] button[aria-expanded="true"]').count() == 2
    assert serious(page, "dark") == []
    context.close()


FOCUSED = """() => {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  if (!at || at === document.body) return null;
  const ring = (e) => { const s = getComputedStyle(e); return (s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 1.5) || s.boxShadow !== "none"; };
  const shown = [at];
  for (let e = at, i = 0; i < 4 && e.parentElement; i++) shown.push(e = e.parentElement);   // a hidden input: its label or thumb shows the ring
  const hidden = at.matches("input, textarea, canvas, [data-testid=stDataFrame] *") || at.getBoundingClientRect().width < 4;
  const name = `${at.localName}.${at.className} ${at.getAttribute("aria-label") ?? at.textContent.slice(0, 40)}`;
  return [name, hidden ? shown.some((e) => ring(e) || [...e.children].some(ring)) || at.matches("input:not([type=range]), textarea") : ring(at)];
}"""


@pytest.mark.parametrize("address", sampled(["/?view=full", "/scaling?scaling.step=2"]))
def test_whatever_has_the_focus_shows_it(visitor: Any, app_url: str, address: str) -> None:
    visitor.goto(app_url + address)
    visitor.wait_for_function(DRAWN, polling=150)
    settle(visitor)
    seen: dict[str, bool] = {}
    for _ in range(70):
        visitor.keyboard.press("Tab")
        at = visitor.evaluate(FOCUSED)
        if at is not None:
            seen[at[0]] = at[1]
    assert len(seen) > 12 and any("stTopNavLink" in name or name.startswith("a.") for name in seen)
    assert [name for name, shown in seen.items() if not shown] == []
    assert address != "/?view=full" or any("save-open" in name for name in seen)


def test_a_question_names_its_choices_and_the_verdict_is_read_out(visitor: Any, app_url: str) -> None:
    visitor.goto(app_url + "/scaling")
    asked = visitor.locator('[class*="st-key-asked-"]').first
    asked.locator("button").first.wait_for()
    question = asked.locator("p").first.inner_text().removeprefix("Predict, then look.").strip()
    assert question.endswith("?") and asked.get_by_role("radiogroup").get_attribute("aria-label") == question
    visitor.wait_for_function("""document.querySelector('[class*="st-key-asked-"]').ariaLive === "polite" """)
    asked.evaluate("(box) => { box.was = true; }")
    asked.get_by_role("radio").first.click()
    asked.locator('[class*="st-key-verdict-"]').wait_for()
    assert asked.locator('[class*="st-key-verdict-"]').evaluate(
        "(verdict) => verdict.closest('[aria-live=polite]').was"
    ), "the verdict came into what is read out already"


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
def test_the_circles_of_ready_made_sentences_are_seen(chromium: Any, app_url: str, scheme: str) -> None:
    page = chromium.new_context(viewport={"width": 1280, "height": 900}, color_scheme=scheme).new_page()
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
    page.context.close()
    assert drawn[0] == "solid" and theme.contrast(drawn[1], drawn[2]) >= 3, drawn
