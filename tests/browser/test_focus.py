"""The focus goes where what was pressed is answered: to the sum, into the box, to the verdict; and Decode's keys stay Decode's."""

from __future__ import annotations

import pytest
from settling import opened, settle

FOCUSED = "(name) => document.activeElement?.className.includes(name)"
IN_SIGHT = "(place) => { const box = document.querySelector(place).getBoundingClientRect(); return box.top >= 0 && box.top < innerHeight / 2; }"
SUM = ".st-key-landing-sum"


@pytest.mark.slow
def test_how_is_it_computed_leads_to_the_sum_and_your_own_into_the_empty_box(visitor, app_url):
    opened(visitor, app_url + "/", "[data-words]")
    visitor.get_by_role("button", name="How is it computed?").click()
    visitor.wait_for_function(FOCUSED, arg="landing-sum")
    visitor.wait_for_selector(".arith[data-lines]")
    settle(visitor)
    assert visitor.evaluate(IN_SIGHT, SUM) and visitor.locator("[data-heads]").count() == 0
    visitor.get_by_role("button", name="Your own").click()
    settle(visitor)
    box = visitor.get_by_test_id("stTextInput").get_by_role("textbox").first
    assert box.input_value() == "" and box.evaluate("(box) => box === document.activeElement")
    visitor.keyboard.type("The dog barks.")
    visitor.keyboard.press("Enter")
    visitor.wait_for_selector('[data-words*="dog"]')


@pytest.mark.slow
def test_the_right_arrow_writes_a_token_whichever_control_the_mouse_used_last(visitor, app_url):
    visitor.goto(app_url + "/decode")
    steps = '.atlas.timeline[data-steps="{}"]'
    visitor.wait_for_selector(steps.format(1), state="attached")
    for n, name in enumerate(("Sample", "Greedy"), start=2):
        settle(visitor)
        visitor.get_by_role("radio", name=name).click()
        settle(visitor)
        visitor.keyboard.press("ArrowRight")
        visitor.wait_for_selector(steps.format(n), state="attached")
