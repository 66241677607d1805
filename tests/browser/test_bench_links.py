"""Every page of the workbench in a real browser: a state that is not the opening one, its link in a fresh session, the same state."""

from __future__ import annotations

from typing import Any

import pytest
from sampling import sampled
from settling import settle

SEEN = """() => {
  const every = (root, what) => [...root.querySelectorAll("*")].flatMap((e) => [...(e.matches(what) ? [e] : []), ...(e.shadowRoot ? every(e.shadowRoot, what) : [])]);
  const texts = (what) => every(document, what).map((e) => e.innerText.trim());
  return {
    said: texts('[data-testid="stText"]').filter(Boolean),
    chosen: texts('[role="radio"][aria-checked="true"], [data-testid="stButtonGroup"] [aria-checked="true"], [aria-pressed="true"]'),
    boxes: every(document, "input").map((e) => e.value),
    cells: every(document, ".atlas").map((e) => e.dataset.cell ?? ""),
    titles: texts(".atlas .title"),
  };
}"""
SENTENCE = "text=The+cat+sat+on+the+mat."
STATES = {
    "inside": (SENTENCE, "radio", "Direct logit attribution"),
    "what_if": (f"{SENTENCE}&layer=1&head=2&what_if.edits=none", "radio", "Half"),
    "compare": (f"model=gpt-mini&{SENTENCE}", "radio", "Tokens"),
    "find": (f"{SENTENCE}&kind=causal&layer=2&head=3", "radio", "Sketch"),
    "importance": (SENTENCE, "radio", "Mean-ablate"),
    "growth": ("growth.step=440", "radio", "L0.H1"),
    "be_the_head": ("text=The+king+had+a+red+horse.+The+red+horse", "button", "Put it into the model"),
}
"""A link, and what is touched then: a role and a name."""


def seen(page: Any) -> dict[str, list[str]]:
    page.wait_for_selector(".atlas, .js-plotly-plot, .vega-embed")
    before = None
    for _ in range(40):
        settle(page)
        now = page.evaluate(SEEN)
        if now == before:
            return now
        before = now
    raise AssertionError("the page does not come to rest")


@pytest.mark.slow
@pytest.mark.parametrize("slug", sampled([*STATES]))
def test_a_link_restores_the_state_in_a_fresh_session(visitor, new_page, app_url, slug):
    query, role, name = STATES[slug]
    visitor.goto(f"{app_url}/{slug}?{query}")
    opening = seen(visitor)
    visitor.get_by_role(role, name=name, exact=True).first.click()
    visitor.wait_for_function(
        "query => location.search.length > 1 && location.search.slice(1) !== query", arg=query
    )
    state, link = seen(visitor), visitor.url
    assert state != opening
    page = new_page(levels=(), viewport={"width": 1280, "height": 1000})
    page.goto(link)
    assert seen(page) == state
