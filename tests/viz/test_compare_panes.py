"""The panes of Compare: added, swapped, changed, refused, and written on in two ways."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from test_compare_page import CAT, GPT, READER, compared, drawn, heats, linked, preset
from workspace_pages import again, button, page, said

import core
from core.analysis.heads.pattern_distance import compare_patterns
from core.edits import ZeroHead
from core.errors import InputError
from viz.widgets import pins
from viz.widgets.pins import View
from viz.workspace.compare import continuation, presets
from viz.workspace.compare import page as compare
from viz.workspace.shared import tasks

FIRST, SECOND = (View(GPT, "The cat sat.", "causal", layer, 0) for layer in (0, 1))


def test_a_pair_is_measured_on_what_either_may_look_at():
    found = compare.compute(compare.Params())
    pair, may = found.pair(0, 1), found.allowed[0]
    assert (np.triu(found.weights[0], 1) == 0).all() and not np.triu(may, 1).any()
    wanted = compare_patterns(*found.weights, may)
    assert (pair.likeness.bits, pair.likeness.correlation) == (wanted.bits, wanted.correlation)
    assert not pair.compared[~may].any()


def test_four_panes_and_a_chosen_pair():
    views = [View(GPT, CAT, "causal", layer, 0) for layer in range(4)]
    test = linked(*views, compare__pair="B − D", compare__row="2")
    *patterns, difference = drawn(test)
    assert len(patterns) == 4 and button(test, "+ pane").disabled
    np.testing.assert_allclose(difference, patterns[1] - patterns[3], atol=1e-5)
    assert all(part in said(test) for part in ("“sat”", "B gives", "D gives"))
    assert heats(test)[0]["selected"][0] == 2


def test_a_pane_is_added_swapped_changed_and_taken_out():
    test = linked(FIRST, SECOND)

    def press(label: str) -> tuple[View, ...]:
        button(test, label).click()
        found = pins.from_link(again(test).query_params["compare.panes"])
        return tuple(view if view.text else replace(view, text=test.query_params["text"]) for view in found)

    *two, third = press("+ pane")
    assert two == [FIRST, SECOND] and third not in two
    assert press("Swap with B") == (SECOND, FIRST, third)
    assert press("Take out") == (FIRST, third)
    (box,) = (one for one in test.selectbox if one.label == "B: the head")
    box.select_index(5)
    (_, now) = pins.from_link(again(test).query_params["compare.panes"])
    assert (now.layer, now.head) == (0, 5) and "L0.H5" in heats(test)[1]["title"]


def test_the_sentence_of_the_page_is_read_by_all_panes_that_follow_it():
    test = linked(FIRST, SECOND, replace(SECOND, text="A dog ran."))
    test.text_input[0].set_value("My house is red.")
    queries = [head["queries"] for head in heats(again(test))]
    assert queries[0] == queries[1] and "house" in queries[0] and "dog" in queries[2]


def test_another_model_begins_with_its_own_pair():
    test = linked(FIRST, SECOND, replace(FIRST, layer=2))
    test.query_params["model"] = READER
    assert len(heats(again(test))) == 3


def test_a_view_that_cannot_be_shown_says_so_and_leaves_the_others():
    test = linked(FIRST, replace(FIRST, layer=44), SECOND)
    assert "has no head L44.H0" in said(test) and len(heats(test)) == 3


def test_nonsense_in_the_link_opens_the_telling_pair_with_a_notice():
    test = page("compare", compare__panes="~~~", compare__row="x", compare__pair="?", compare__by="?")
    assert len(heats(test)) == 3 and "cannot be shown" in said(test)


def test_one_pin_gets_a_partner_of_its_own_text():
    one, other = compare.views_of(compare.Params(GPT, "Another text.", views=(SECOND,)))
    assert (one, other.text) == (SECOND, SECOND.text)


def test_a_pair_is_offered_where_its_models_are():
    names, usable = {pair.name for pair in presets.openable_pairs()}, tasks.usable()
    needed = {pair.name: {view.model for view in pair.views} for pair in presets.TELLING}
    assert names >= {name for name, models in needed.items() if models <= {*usable}} and len(names) > 4
    bidirectional = {name for name, models in needed.items() if presets.FILLER in models}
    assert bidirectional and bool(bidirectional & names) == (presets.FILLER in usable)


def test_a_prompt_is_written_on_in_two_ways_and_the_prompt_itself_stays():
    views = preset("Two strategies")
    one, other = (continuation.continued(view)[0].removeprefix(presets.STORY) for view in views)
    assert one != other and min(len(one), len(other)) > 20 and presets.STORY not in one + other
    before = compared(*views).pair(0, 1).difference[: len(presets.STORY.split())]
    assert abs(before).max() < 1e-6, "a causal model reads the prompt the same whatever it wrote behind it"


@pytest.mark.parametrize(
    "words",
    ["", " ", "lots", "lot t=", "lot k=0.5", "lot x=1", "beam", "beam x", "beam 999", "greedy 2", "lot p=7"],
)
def test_a_way_of_writing_that_cannot_be_read_is_an_input_error(words):
    with pytest.raises(InputError):
        continuation.strategy_of(words)


def test_a_changed_run_stands_beside_the_run_as_it_is():
    views = preset("A head switched off")
    test = linked(*views)
    assert "Layer 2, head 1 zero-ablated" in said(test) and "As it is" in said(test)
    run = core.open_model(GPT).run(views[1].text, edits=(ZeroHead("layer.2.self_attn.heads", 1),))
    np.testing.assert_allclose(drawn(test)[1], run.attention(by="word").weights[3, 6], atol=1e-6)
    wrong = linked(views[0], replace(views[1], edits="zero:layer.1.self_attn.heads:44"))
    assert len(heats(wrong)) == 1 and "44" in said(wrong)
