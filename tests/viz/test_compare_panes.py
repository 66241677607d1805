"""The panes of Compare: added, swapped, changed, refused, and written on in two ways."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from packets import opened
from test_compare_page import GPT, READER, compared, drawn, heats, linked, preset
from test_look_page import page, said

import core
from core.analysis.heads.pattern_distance import compare_patterns
from core.edits import ZeroHead
from core.errors import InputError
from viz.widgets import pins
from viz.widgets.pins import View
from viz.workspace.compare import continuation, presets
from viz.workspace.compare import page as compare
from viz.workspace.shared import tasks


def test_a_pair_is_measured_on_what_either_may_look_at():
    found = compare.compute(compare.Params())
    pair, may = found.pair(0, 1), found.allowed[0]
    assert (np.triu(found.weights[0], 1) == 0).all() and not np.triu(may, 1).any()
    wanted = compare_patterns(found.weights[0], found.weights[1], may)
    assert (pair.likeness.bits, pair.likeness.correlation) == (wanted.bits, wanted.correlation)
    assert not pair.compared[~may].any()


def test_four_panes_and_a_chosen_pair():
    views = [View(GPT, "The cat sat on the mat.", "causal", layer, 0) for layer in range(4)]
    test = linked(*views, **{"compare.pair": "B − D", "compare.row": "2"})
    assert len(heats(test)) == 5
    *patterns, difference = drawn(test)
    np.testing.assert_allclose(difference, patterns[1] - patterns[3], atol=1e-5)
    assert "“sat”" in said(test) and "B gives" in said(test) and "D gives" in said(test)
    assert next(one for one in test.button if one.label == "+ pane").disabled
    assert opened(heats(test)[0])[0]["selected"][0] == 2


def test_a_pane_is_added_swapped_changed_and_taken_out():
    views = View(GPT, "The cat sat.", "causal", 0, 0), View(GPT, "The cat sat.", "causal", 1, 0)
    test = linked(*views)

    def press(label: str) -> tuple[View, ...]:
        next(one for one in test.button if one.label == label).click().run()
        assert not test.exception and heats(test)
        return tuple(
            one if one.text else View(one.model, test.query_params["text"], one.kind, one.layer, one.head)
            for one in pins.from_link(test.query_params["compare.panes"])
        )

    three = press("+ pane")
    assert three[:2] == views and len(three) == 3 and three[2] not in views
    assert press("Swap with B") == (views[1], views[0], three[2])
    assert press("Take out") == (views[0], three[2])
    box = next(one for one in test.selectbox if one.label == "B: the head")
    assert heats(test)
    box.select_index(5).run()
    now = pins.from_link(test.query_params["compare.panes"])
    assert (now[1].layer, now[1].head) == (0, 5) and "L0.H5" in opened(heats(test)[1])[0]["title"]


def test_the_sentence_of_the_page_is_read_by_all_panes_that_follow_it():
    views = (
        View(GPT, "The cat sat.", "causal", 0, 0),
        View(GPT, "The cat sat.", "causal", 1, 0),
        View(GPT, "A dog ran.", "causal", 1, 0),
    )
    test = linked(*views)
    test.text_input[0].set_value("My house is red.").run()
    assert not test.exception
    found = [opened(packet)[0]["queries"] for packet in heats(test)]
    assert found[0] == found[1] and "house" in found[0] and "dog" in found[2]


def test_another_model_begins_with_its_own_pair():
    test = linked(
        View(GPT, "The cat sat.", "causal", 0, 0),
        View(GPT, "The cat sat.", "causal", 1, 0),
        View(GPT, "The cat sat.", "causal", 2, 0),
    )
    test.query_params["model"] = READER
    test.run()
    assert not test.exception and len(heats(test)) == 3


def test_a_view_that_cannot_be_shown_says_so_and_leaves_the_others():
    views = (
        View(GPT, "The cat sat.", "causal", 0, 0),
        View(GPT, "The cat sat.", "causal", 44, 0),
        View(GPT, "The cat sat.", "causal", 1, 0),
    )
    test = linked(*views)
    assert "has no head L44.H0" in said(test) and len(heats(test)) == 3


def test_nonsense_in_the_link_opens_the_telling_pair_with_a_notice():
    test = page(
        "compare",
        near="",
        **{"compare.panes": "~~~", "compare.row": "x", "compare.pair": "?", "compare.by": "?"},
    )
    assert len(heats(test)) == 3 and "cannot be shown" in said(test)


def test_one_pin_gets_a_partner_of_its_own_text():
    found = compare.views_of(
        compare.Params(GPT, "Another text.", views=(View(GPT, "The cat sat.", "causal", 3, 6),))
    )
    assert [view.text for view in found] == ["The cat sat."] * 2 and (found[0].layer, found[0].head) == (3, 6)


def test_a_pair_is_offered_where_its_models_are():
    names, usable = {pair.name for pair in presets.openable_pairs()}, tasks.usable()
    needed = {pair.name: {view.model for view in pair.views} for pair in presets.TELLING}
    assert names >= {name for name, models in needed.items() if models <= {*usable}} and len(names) > 4
    bidirectional = {name for name, models in needed.items() if presets.FILLER in models}
    assert bidirectional and bool(bidirectional & names) == (presets.FILLER in usable)


def test_a_prompt_is_written_on_in_two_ways_and_the_prompt_itself_stays():
    greedy, lot = preset("Two strategies")
    texts = [continuation.continued(view)[0] for view in (greedy, lot)]
    assert (
        all(text.startswith(presets.STORY) and len(text) > len(presets.STORY) + 20 for text in texts)
        and texts[0] != texts[1]
    )
    found = compared(greedy, lot)
    n = len(presets.STORY.split())
    assert abs(found.pair(0, 1).difference[:n]).max() < 1e-6, (
        "a causal model reads the prompt the same whatever it wrote behind it"
    )


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
