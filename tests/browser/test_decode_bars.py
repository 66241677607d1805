"""Candidates and timeline in a real browser: what a bar says, what a click tells Python, the keyboard alone."""

from __future__ import annotations

from typing import Any

import pytest
from sampling import sampled
from shown_values import states
from small_app import Visit

APP = """
import streamlit as st
from viz.instruments import candidates, timeline
from viz.instruments.candidates.candidates import Bar, SampledNumber, Way, requested_token
from viz.instruments.timeline.timeline import Moment, chosen_step

bars = [Bar(5, " the", 0.5, 0.8), Bar(7, "<b>", 0.2, 0.2), Bar(9, "x" * 60, 0.2, 0.0, "top_k")]
if st.query_params.get("show") in ("bars", "both"):
    candidates(bars, taken_id=5, step=3, others=(97, 0.1, 0.0), lot=SampledNumber(0.31, 0.0, 0.8), key="c", title="What could come next", on_ask=lambda: None)
    st.text(f"requested_token {requested_token('c')}")
if st.query_params.get("show") in ("ways", "told"):
    ways = [
        Way("score 2.0 → e^{2.0} = 7.4", (("logit z", "", "2.0"), ("e to the x", "e^{2.0}", "7.4")), (2.0, 2.0)),
        Way("score 1.0 → cut by top-k 1: it is 2nd", (("logit z", "", "1.0"), ("top-k 1", "it is 2nd", "cut")), (1.0, float("-inf")), "top-k 1: it is 2nd"),
    ]
    told = [Bar(5, " the", 0.7, 1.0, None, ways[0]), Bar(7, "<b>", 0.3, 0.0, "top_k", ways[1])]
    candidates(told, taken_id=5, key="w", filters=["top-k 1"], on_ask=(lambda: None) if st.query_params.get("show") == "ways" else None)
    st.text(f"requested_token {requested_token('w')}")
if st.query_params.get("show") == "looked":
    candidates(bars, taken_id=5, key="c")
if st.query_params.get("show") in ("time", "both"):
    words = ["there", " was", " <i>", "\\n", " a"]
    timeline([Moment(w, 0.9 / (i + 1), i + 0.5, 2.0 + i, "put in by you" if i == 2 else "") for i, w in enumerate(words)], prompt="Once upon a time", key="t", on_go=lambda: None)
    st.text(f"chosen_step {chosen_step('t')}")
"""


class Seen(Visit):
    def part(self, name: str) -> Any:
        return self.page.locator(f".atlas.{name}")


def test_bars_and_a_timeline_tell_their_numbers_and_are_asked_for_another_token_and_step_by_click_and_by_key(
    visit: Any,
) -> None:
    seen = visit("both")
    bars = seen.part("candidates")
    names = bars.locator(".row .name").all_inner_texts()
    assert names[:2] == ["·the", "<b>"] and names[2].endswith("…") and names[3] == "97 others"
    assert bars.locator("b").count() == 0 and bars.locator(".row.taken .number").inner_text() == "80%"
    assert bars.locator(".why").all_inner_texts() == ["cut by top-k", "cut"]
    assert "0.310 was drawn" in bars.locator(".lot").inner_text()
    wide = bars.locator(".row.taken .track").bounding_box()["width"]
    assert bars.locator(".row.taken .after").bounding_box()["width"] == pytest.approx(0.8 * wide, abs=1.5)
    assert bars.locator("button.row").count() == 2  # not the one taken, nor the others
    bars.locator("button.row").first.click()
    seen.says("requested_token TokenRequest(step=3, id=7)")
    bars.locator("button.row").first.focus()
    seen.press("ArrowDown", "Enter")
    seen.says("requested_token TokenRequest(step=3, id=9)")
    line, before = seen.part("timeline"), len(seen.sent)
    assert line.locator(".token").all_inner_texts()[2].strip() == "<i>" and line.locator("i.x").count() == 0
    line.locator(".token").nth(1).hover()
    assert line.get_attribute("data-hover") == "1"
    assert states(line.locator(".told").inner_text(), "Step 2", "surprisal 1.50 bits")
    assert len(seen.sent) == before
    line.locator(".token").nth(1).click()
    seen.says("chosen_step 1")
    line.locator(".token[aria-current]").focus()
    seen.page.keyboard.press("ArrowLeft")
    assert line.get_attribute("data-hover") == "3" and "Step 4" in line.locator(".told").inner_text()
    seen.press("Home", "ArrowRight", "ArrowRight", "Enter")
    seen.says("chosen_step 2")
    box = line.locator("canvas").bounding_box()
    seen.page.mouse.click(box["x"] + 34 + 14, box["y"] + 30)
    seen.says("chosen_step 0")


@pytest.mark.slow
def test_bars_that_only_show_have_no_buttons(visit: Any) -> None:
    bars = visit("looked").part("candidates")
    assert (bars.locator(".row").count(), bars.locator("button.row").count()) == (3, 0)


@pytest.mark.slow
def test_one_line_tells_the_way_of_the_token_that_is_pointed_at(visit: Any) -> None:
    bars = visit("ways").part("candidates")
    line, table = bars.locator(".way .line"), bars.locator(".way .stages")
    assert line.inner_text() == "·the score 2.0 → e2.0 = 7.4" and line.locator("sup").inner_text() == "2.0"
    assert not table.is_visible()
    bars.locator(".row").nth(1).hover()
    assert bars.get_attribute("data-way") == "7" and bars.locator(".way b b").count() == 0
    assert states(line.inner_text(), "<b>", "score 1.0", "top-k 1", "2nd")
    line.hover()
    assert bars.get_attribute("data-way") == "5"
    line.click()
    assert table.locator("tr").all_inner_texts()[1].split("\t") == ["e to the x", "e2.0", "7.4"]
    assert line.get_attribute("aria-expanded") == "true"


@pytest.mark.slow
@pytest.mark.parametrize("show", sampled(["told", "ways"]))
def test_the_way_is_told_by_the_keyboard_alone(visit: Any, show: str) -> None:
    seen = visit(show)
    bars = seen.part("candidates")
    bars.locator(".row[tabindex='0']").focus()
    seen.press("ArrowUp", "ArrowDown")
    assert bars.get_attribute("data-way") == "7"
    seen.page.keyboard.press("ArrowUp")
    assert bars.get_attribute("data-way") == "5"
    seen.press("Tab", "Enter")
    assert bars.get_attribute("data-open") == "way" and bars.locator(".stages").is_visible()
