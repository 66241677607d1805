"""What a page paints, frame by frame: when it is another picture than the one before, after the last click or key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

WATCH = """() => {
  const deep = (root, place) => [...root.querySelectorAll("*")].flatMap((e) => [...(e.matches(place) ? [e] : []), ...(e.shadowRoot ? deep(e.shadowRoot, place) : [])]);
  const known = {}, state = STATE;
  const parts = (place) => (known[place]?.length && known[place].every((e) => e.isConnected) ? known[place] : (known[place] = deep(document, place)));
  let before;
  window.asked = 0; window.painted = [];
  for (const event of ["click", "keydown"]) document.addEventListener(event, () => { window.asked = performance.now(); }, true);
  const look = () => {
    const now = state(parts), text = JSON.stringify(now);
    if (now && text !== before) { before = text; window.painted.push([performance.now(), ...now]); }
    requestAnimationFrame(look);
  };
  look();
}"""
LATER = "painted.at(-1)[0] - asked"


def watched(page: Any, address: str, place: str, state: str) -> None:
    """Open a page and note each picture that has another `state`: a function of JavaScript of what finds the parts of a page."""
    page.goto(address)
    page.wait_for_selector(place, timeout=90_000)
    page.wait_for_timeout(4_000)
    page.evaluate(WATCH.replace("STATE", state))
    page.wait_for_timeout(500)


def wait(page: Any, act: Callable[[], object], part: int = 0, rest: int = 400) -> float:
    """Milliseconds from the last click or key of `act` to the next picture; with a `part` of the state to the last one that follows its change."""
    changes = "(part) => part ? painted.at(-1)[part] : painted.length"
    before = page.evaluate(changes, part)
    act()
    page.wait_for_function(
        f"([part, before]) => ({changes})(part) !== before", arg=[part, before], polling=20, timeout=30_000
    )
    first = page.evaluate(LATER)
    page.wait_for_timeout(rest)
    return page.evaluate(LATER) if part else first
