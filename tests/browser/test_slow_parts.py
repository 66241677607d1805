"""What a visitor meets on a slow line or a busy machine: the parts of a page come late, answers cross each other; nothing is lost, nothing stands there twice."""

from __future__ import annotations

import pytest
from settling import settle

TEXT = "I am a student."
MASKS = "masks?masks.step=6&text=I+am+a+student."
APP = """
import numpy as np
import streamlit as st
from viz.instruments import mask_editor

n = st.session_state.setdefault("n", 3)
if st.button("More"):
    st.session_state.n = n = n + 1
words = [str(i) for i in range(n)]
mask_editor(np.tri(n, dtype=bool), words, words, key="a")
st.text(f"now {n}")
"""
LISTEN = """async () => {
  const all = globalThis.attentionAtlas.modules;
  for (const [id, made] of all) {
    const real = await made;
    all.set(id, Promise.resolve({ default: (...given) => (window.letGo = real.default(...given)) }));
  }
}"""
"""Keeps what an instrument gives Streamlit to call when it is taken away, or when a later packet overtook one."""
OVERTAKE = """async (answered) => {
  const named = (place, words) => [...document.querySelectorAll(place)].find((each) => each.innerText.includes(words));
  const link = named('[data-testid="stTopNavLink"]', "Decode"), part = named("button", "See all heads"), before = wire.asked;
  link.click();
  if (answered) {
    const turn = new MessageChannel();
    await new Promise((done) => {
      turn.port1.onmessage = () => (wire.asked > before && wire.begun ? done() : turn.port2.postMessage(0));
      turn.port2.postMessage(0);
    });
  }
  part.click();
}"""
"""A link to another page, and at once, before the server answers or before the browser has drawn what it answered, a button of a part of this one."""


def test_a_sentence_box_that_comes_after_a_second_run_holds_the_sentence(visitor, app_url: str) -> None:
    held = []
    visitor.route("**/static/js/TextInput.*.js", lambda route: held.append(route))
    visitor.goto(f"{app_url}/{MASKS}")
    visitor.wait_for_selector(".editor[data-allowed]")
    assert held, "the code of the sentence box has another name"
    visitor.get_by_role("radio", name="strict").click()
    visitor.wait_for_url("**masks.kind=strict**")
    held[0].continue_()
    box = visitor.get_by_role("textbox", name="Sentence")
    box.wait_for()
    assert box.input_value() == TEXT
    visitor.get_by_role("radio", name="causal").click()
    visitor.wait_for_url("**masks.kind=causal**")
    assert box.input_value() == TEXT and "text=I+am+a+student." in visitor.url


@pytest.mark.slow
def test_a_packet_that_another_one_overtakes_leaves_one_picture(visit) -> None:
    page = visit("x").page
    page.evaluate(LISTEN)
    for n in (4, 5):
        page.get_by_role("button", name="More").click()
        page.get_by_text(f"now {n}", exact=True).wait_for()
        settle(page)
        page.evaluate("letGo()")
    assert page.get_by_role("button", name="Undo").count() == 1
    assert page.locator(".editor").get_attribute("data-allowed") == "15"


def part_is_overtaken(visitor, answered: bool) -> None:
    """A part of the first screen asks while a link is followed: the new page is not emptied."""
    visitor.evaluate(OVERTAKE, answered)
    visitor.wait_for_url("**/decode**")
    settle(visitor)
    visitor.get_by_role("button", name="Play").first.wait_for()


@pytest.mark.slow
@pytest.mark.parametrize("answered", [False, True], ids=["before the answer", "before it is drawn"])
def test_a_part_that_asks_while_a_link_is_followed_does_not_empty_the_new_page(
    visitor, app_url: str, answered: bool
) -> None:
    visitor.goto(app_url)
    visitor.get_by_role("button", name="See all heads").wait_for()
    settle(visitor)
    part_is_overtaken(visitor, answered)
