"""Decode by the keyboard alone: no mouse from the first letter to the beam; and the row of views on a phone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from settling import settle

FOCUS = """() => {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  if (!at || at === document.body) return "";
  const home = at.getRootNode().querySelector?.(".atlas")?.className ?? "";
  return [at.localName, at.className, at.getAttribute("aria-label") ?? "", at.innerText ?? "", home.replace("atlas", "").trim()].join(" | ");
}"""


class Hands:
    """A visitor without a mouse."""

    def __init__(self, page: Any) -> None:
        self.page = page

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def focus(self) -> str:
        """What has the focus: name, classes, label, text, instrument."""
        return self.page.evaluate(FOCUS)

    def tab_to(self, *parts: str, back: bool = False) -> None:
        """Tab until what has the focus is described by all of `parts`."""
        met = []
        for _ in range(120):
            self.press("Shift+Tab" if back else "Tab")
            met.append(self.focus())
            if all(part in met[-1] for part in parts):
                return
        raise AssertionError(f"Tab never comes to {parts}, only to {list(dict.fromkeys(met))}")

    def has(self, *parts: str) -> None:
        """The focus is, or comes, where the visitor was."""
        self.page.wait_for_function(
            f"(parts) => {{ const said = ({FOCUS})(); return parts.every((part) => said.includes(part)); }}",
            arg=list(parts),
        )

    def sees(self, instrument: str, **data: str) -> None:
        """Until the instrument says this in its data attributes."""
        for name, value in data.items():
            self.page.locator(f'.atlas.{instrument}[data-{name}="{value}"]').first.wait_for(state="attached")

    def counts(self, instrument: str, name: str, least: int) -> None:
        """Until a number in the instrument's data attributes is so large."""
        many = "([place, name, least]) => [...document.querySelectorAll('*')].some((e) => Number(e.shadowRoot?.querySelector(place)?.dataset[name] ?? -1) >= least)"
        self.page.wait_for_function(many, arg=[f".atlas.{instrument}", name, least])

    def data(self, instrument: str, name: str) -> str:
        return self.page.locator(f".atlas.{instrument}").first.get_attribute(f"data-{name}") or ""


@pytest.fixture
def opened(new_page: Callable[..., Any], app_url: str) -> Callable[..., Hands]:
    """Opens /decode in a window of its own; errors of the page fail the test."""

    def visit(**window: Any) -> Hands:
        page = new_page(levels=(), **window)
        page.goto(f"{app_url}/decode")
        page.wait_for_selector(".atlas.candidates[data-rows]", state="attached")
        return Hands(page)

    return visit


@pytest.mark.slow
def test_the_keyboard_alone_drives_a_whole_decoding(opened: Any) -> None:
    hands = opened(viewport={"width": 1280, "height": 900})

    # a prompt
    hands.tab_to("input", "beginning of a text")
    hands.press("Control+A")
    hands.page.keyboard.type("The king said")
    hands.press("Enter")
    hands.page.wait_for_url("**text=The+king+said**")
    hands.sees("timeline", steps="1")
    hands.has("input", "beginning of a text")

    # writing; the focus stays on the button
    hands.tab_to("button", "Next token")
    for n in (2, 3, 4):
        hands.press("Enter")
        hands.sees("timeline", steps=str(n))
        hands.has("button", "Next token")
    hands.press("ArrowRight")
    hands.sees("timeline", steps="5")
    hands.press("ArrowLeft")
    hands.sees("timeline", steps="4")

    # the timeline: arrows look, Enter goes
    hands.tab_to("token", "Step 4", "timeline")
    hands.press("Home")
    hands.sees("timeline", hover="0")
    hands.press("ArrowRight", "ArrowRight")
    hands.sees("timeline", hover="2", steps="4")
    hands.press("End")
    hands.sees("timeline", hover="3")
    hands.press("ArrowLeft", "Enter")
    hands.sees("timeline", steps="3")
    hands.has("token", "Step 3", "timeline")

    # another token: a fork; the focus stays among the candidates
    hands.tab_to("row", "candidates", back=True)
    first = hands.data("candidates", "rows").split()
    taken = hands.data("candidates", "taken")
    hands.press("ArrowDown", "Enter")
    other = next(token for token in first[2:] if token != taken)
    hands.sees("candidates", taken=other)
    hands.sees("tree", nodes="6")  # five steps of the first branch were seen, and one of this
    hands.has("row", "candidates")

    # back to the first branch through the tree of all branches
    hands.tab_to("frame", "tree")
    hands.press("Home", "ArrowRight", "ArrowRight", "Enter")
    hands.sees("candidates", taken=taken)
    settle(hands.page)
    hands.has("frame", "tree")

    # plays and stops by one key
    hands.press("p")
    hands.page.get_by_role("button", name="Stop").wait_for()
    hands.counts("timeline", "steps", 5)
    hands.press("p")
    hands.page.get_by_role("button", name="Play").wait_for()
    settle(hands.page)
    hands.tab_to(
        "button", "Play", back=True
    )  # and by its button: the other stands in its place and has the focus
    hands.press("Enter")
    hands.has("button", "Stop")
    hands.press("Enter")
    hands.has("button", "Play")
    settle(hands.page)
    stood = hands.data("timeline", "steps")
    assert int(stood) >= 5 and f"decode.n={stood}" in hands.page.url

    # to the first step: what cannot be pressed any more lets the focus go on from its place, not from the top of the page
    hands.tab_to("button", "First")
    hands.press("Enter")
    hands.sees("timeline", steps="1")
    settle(hands.page)
    hands.press("Tab")
    hands.has("button", "Last")

    # a beam, and it goes on writing
    hands.tab_to("button", "Greedy")
    hands.press("ArrowRight", "ArrowRight")
    hands.has("button", "Beam search")
    hands.press("Enter")
    hands.page.wait_for_url("**decode.beam=4**")
    settle(hands.page)
    hands.has("button", "Beam search")
    nodes = int(hands.data("tree", "nodes"))
    hands.tab_to("button", "Next token", back=True)
    hands.press("Enter")
    hands.counts("tree", "nodes", nodes + 1)
    hands.has("button", "Next token")


@pytest.mark.slow
def test_the_views_stand_in_one_row_on_a_phone_and_none_is_hidden(opened: Any) -> None:
    hands = opened(viewport={"width": 390, "height": 844})
    names = ("Watch it write", "Guess the next word", "Prompts", "Training and inference", "KV cache")
    views = [
        hands.page.get_by_role("radio", name=name)
        .or_(hands.page.get_by_role("button", name=name, exact=True))
        .first
        for name in names
    ]
    assert len({round(one.bounding_box()["y"]) for one in views}) == 1
    assert hands.page.evaluate("document.documentElement.scrollWidth") == 390
    hands.tab_to("Watch it write")
    hands.press("End")
    views[-1].scroll_into_view_if_needed()
    box = views[-1].bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 390
