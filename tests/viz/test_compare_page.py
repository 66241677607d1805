"""Compare: panes on common words, what is said of a pair, the telling pairs, links that restore everything."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from deep import deep
from model_shapes import write
from packets import opened, unpacked
from shown_values import states
from streamlit.testing.v1 import AppTest
from test_look_page import named, packets, page, said
from tiny_models import _unmeasured

import core
import core.serving.engine
from core.analysis.attention.align import align_words, pool_patterns
from core.analysis.attribution.means import mean_outputs
from core.analysis.heads.pattern_distance import compare_patterns
from core.serving.engine import Engine
from viz.shell.selection import Selection
from viz.widgets import pins
from viz.widgets.pins import View
from viz.workspace.compare import data, folds, presets
from viz.workspace.compare import page as compare
from viz.workspace.compare import pair as pair_of
from viz.workspace.shared import head_survey, model_run
from viz.workspace.shared.toy_models import own_texts
from viz.workspace.what_if import data as changes

GPT, READER = "gpt-mini", "translator-en-es"


def linked(*views: View, **more: str) -> AppTest:
    test = page("compare", near="", **pins.panes(views), **more)
    assert heats(test)  # what is steady in packets comes with the first run
    return test


def heats(test: AppTest) -> list[bytes]:
    return named(test, "scale", "axis")


def drawn(test: AppTest) -> list[np.ndarray]:
    return [np.nan_to_num(unpacked(packet, page=packets(test))) for packet in heats(test)]


def preset(name: str) -> tuple[View, ...]:
    return next(pair.views for pair in presets.TELLING if pair.name == name)


def compared(*views: View, by: str = "word") -> data.Compared:
    return compare.compute(compare.Params(views=views, by=by))


def test_it_opens_with_two_heads_that_do_something_else():
    test = page("compare", near="")
    a, b = views = data.opening(compare.Params(GPT))
    assert a.kind == b.kind and (a.layer, a.head) != (b.layer, b.head)
    assert len(heats(test)) == 3 and "differ most" in said(test)
    found = compare.compute(compare.Params())
    assert [pane.view for pane in found.panes] == list(views)
    assert found.pair(0, 1).likeness.bits > 0.2, "a telling pair is far apart"


def test_the_head_that_was_in_view_is_the_first_pane():
    a, b = data.opening(Selection(GPT, "The cat sat.", kind="causal", layer=3, head=6))
    assert (a.layer, a.head) == (3, 6) and (b.layer, b.head) != (3, 6)


def test_all_pictures_are_one_group_on_one_scale_and_have_the_same_words():
    test = page("compare", near="")
    headers = [opened(packet)[0] for packet in heats(test)]
    assert {header["group"] for header in headers} == {"compare"}
    assert [header["scale"] for header in headers] == ["pattern", "pattern", "difference"]
    assert len({tuple(header["queries"]) for header in headers}) == 1 and {
        tuple(header["shape"]) for header in headers
    } == {tuple(headers[0]["shape"])}


def test_on_a_causal_model_rows_before_the_changed_word_are_equal_exactly_and_the_page_says_why():
    test = linked(*preset("One word changed"))
    told = said(test)
    assert "0, exactly" in told and "left to right" in told and "tired | wide" in told
    difference = drawn(test)[2]
    first = opened(heats(test)[0])[0]["queries"].index("tired")
    assert (difference[:first] == 0.0).all() and abs(difference[first:]).max() > 0.01


def test_in_an_encoder_a_changed_word_changes_the_rows_before_it():
    views = preset("Tired or wide?")
    found = compared(*views)
    pair = found.pair(0, 1)
    row = pair_of.row_of(pair)
    assert row == int(np.nanargmax(pair.likeness.rows)), (
        "the row that is told about is the one that moves most"
    )
    looks = [
        found.word("keys", int(weights[row].argmax()), pane) for pane, weights in enumerate(found.weights)
    ]
    assert looks[0] != looks[1]
    changed = found.words("queries", 0).index("tired")
    assert pair.likeness.rows[:changed].max() > 0.05, "words before the changed one look elsewhere as well"
    assert any("whole text" in note for note in pair_of.notes(found, pair))


def test_two_texts_stand_opposite_each_other_and_what_is_left_over_is_shown():
    views = (
        View(GPT, "The cat sat on the mat.", "causal", 0, 0),
        View(GPT, "The old cat sat on the rug.", "causal", 0, 0),
    )
    test = linked(*views)
    headers = [opened(packet)[0] for packet in heats(test)]
    assert headers[0]["queries"] == ["The", "(old)", "cat", "sat", "on", "the", "mat", "."] and headers[1][
        "queries"
    ] == ["The", "old", "cat", "sat", "on", "the", "rug", "."]
    assert [header["lone"] for header in headers[:3]] == [[[1], [1]], [[], []], [[1], [1]]], (
        "no mask forbids what has no counterpart; the difference lacks what either lacks"
    )
    assert states(said(test), "mat | rug") and states(said(test), "B: old")
    a, b = (core.open_model(GPT).run(view.text).attention(by="word") for view in views)
    words = align_words(a.queries, b.queries)
    wanted = pool_patterns([a.weights[0, 0], b.weights[0, 0]], words, words)
    for shown, weights in zip(drawn(test), wanted, strict=False):
        np.testing.assert_allclose(shown, weights, atol=1e-6)


def test_two_tokenizers_meet_at_their_letters():
    text = "The animal didn't cross the street because it was too wide."
    found = compared(View(READER, text, "self", 0, 0), View(GPT, text, "causal", 0, 0), by="token")
    row = next(place for place, slot in enumerate(found.rows) if len(slot[0]) == 2)
    assert (
        found.word("queries", row, 0).replace("·", "")
        == found.word("queries", row, 1).replace("·", "")
        == "wide"
    )
    for pane, weights in enumerate(found.weights):
        there = np.array([bool(slot[pane]) for slot in found.rows])
        np.testing.assert_allclose(weights.sum(-1), there, atol=1e-5)


@pytest.mark.quick(2)
@pytest.mark.parametrize("pair", presets.TELLING, ids=lambda pair: pair.name)
def test_every_telling_pair_that_is_offered_can_be_shown(pair):
    if pair not in presets.openable_pairs():
        pytest.skip("one of its models is not here")
    found = compared(*pair.views)
    told = found.pair(0, 1)
    assert len(told.order) > 3 and told.likeness.rows[told.order[0]] > 0.05, (
        "a pair that tells something differs"
    )
    assert "Jensen-Shannon divergence" in pair_of.sentence(found, told, pair_of.row_of(told))


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", ["Tired or wide?", "One word changed", "One word changed, both ways"])
def test_a_minimal_pair_opens_with_the_head_that_differs_most(name):
    """Against a plain loop over all heads."""
    a, b = preset(name)
    found = compared(a, b)
    kind = found.panes[0].view.kind
    runs = [core.open_model(view.model).run(view.text).attention(kind, by="word") for view in (a, b)]
    rows = columns = align_words(runs[0].queries, runs[1].queries)
    bits = np.empty(runs[0].weights.shape[:2])
    for layer, head in np.ndindex(bits.shape):
        first, second = pool_patterns([run.weights[layer, head] for run in runs], rows, columns)
        bits[layer, head] = compare_patterns(first, second).bits
    view = found.panes[1].view
    assert (view.layer, view.head) == np.unravel_index(bits.argmax(), bits.shape)
    assert found.pair(0, 1).likeness.bits == pytest.approx(bits.max(), abs=1e-3)


def test_a_recurrent_model_is_compared_with_one_that_has_heads():
    a, b = data.opening(Selection("bahdanau-en-es", "She has a white car."))
    assert (a.model, a.kind, b.model) == ("bahdanau-en-es", "alignment", READER)
    found = compared(a, b)
    assert (
        found.panes[1].view.kind == "cross"
        and found.panes[0].has_one_alignment
        and found.panes[0].name == "bahdanau-en-es"
    )
    assert found.word("queries", 0, 0) == "Ella"


def test_heads_of_a_layer_joined_and_unequal_kinds_of_views():
    text = "The cat sat on the mat."
    found = compared(
        View(GPT, text, "causal", 3, "mean"),
        View(GPT, text, "causal", 3, "max"),
        View(GPT, text, "causal", 3, "rollout"),
    )
    run = core.open_model(GPT).run(text).attention(by="word")
    np.testing.assert_allclose(found.weights[0], run.weights[3].mean(0), atol=1e-6)
    np.testing.assert_allclose(found.weights[1], run.weights[3].max(0), atol=1e-6)
    assert [pair.name for pair in found.pairs()] == ["A − B", "A − C", "B − C"]


@pytest.mark.slow
def test_the_lines_of_python_compute_the_numbers_of_the_page():
    text = "The animal was wide."
    cases = [
        (compare.Params(views=preset("Tired or wide?")), "align_words"),
        (
            compare.Params(
                views=(View(READER, text, "self", 0, 0), View(GPT, text, "causal", 3, "mean")), by="token"
            ),
            "align_tokens",
        ),
        (compare.Params(views=preset("With and without recurrence")), "align_words"),
        (compare.Params(views=preset("A head switched off")), "from_text"),
    ]
    for params, how in cases:
        found = compare.compute(params)
        pair = found.pair(0, 1)
        lines = folds.code(found.panes[0], found.panes[1], pair, params.by)
        held: dict[str, object] = {}
        exec(lines, held)
        np.testing.assert_allclose(held["first"], found.weights[0], atol=1e-9)
        np.testing.assert_allclose(held["second"], found.weights[1], atol=1e-9)
        assert how in lines
        measured = compare_patterns(held["first"], held["second"], held["cells"])
        assert (measured.correlation, measured.bits) == pytest.approx(
            (pair.likeness.correlation, pair.likeness.bits), abs=1e-9, nan_ok=True
        ), "the lines print what the page shows"


def test_the_table_and_the_equation_hold_the_numbers_of_the_pair():
    found = compare.compute(compare.Params())
    pair = found.pair(0, 1)
    table = folds.table(found, pair)
    assert len(table) == len(pair.order) and table["divergence in bits"].mean() == pytest.approx(
        pair.likeness.bits, abs=1e-3
    )


@pytest.mark.parametrize("model", ["induction-tiny", "recorded: copy"])
def test_a_model_of_letters_has_means_over_lines_of_its_own_task(model):
    reader, lines = model_run.open_model(model), own_texts(model)
    over = changes.over(reader)
    assert lines and over in "mean:layer.1.self_attn.heads:1::lines of its task"
    wanted = mean_outputs(reader, [line.text for line in lines], "causal")
    np.testing.assert_allclose(changes.means(reader, "causal"), wanted, atol=1e-6)
    run = changes.first(Selection(model, lines[0].text))
    (edit,), wrong = changes.readable("mean:layer.1.self_attn.heads:1::lines of its task", run)
    assert not wrong and edit.vector == pytest.approx(wanted[1, 1].tolist())
    _, wrong = changes.readable("mean:layer.1.self_attn.heads:1::our sentences", run)
    assert over in str(wrong[0])


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The dog ran home.", "The dog ran away."),
        ("The old man had a cat.", "The old man had a white dog."),
        ("She is happy.", "He is happy."),
    ],
)
@pytest.mark.parametrize("model", deep(["gpt-mini", "bert-mini"], {"gpt-mini"}))
def test_what_is_said_of_rows_before_the_difference_is_so_in_both_runs(model: str, first: str, second: str):
    """Recomputed from the two runs alone: how many words they share at the start, and how far those rows of the head are apart."""
    kind = core.open_model(model).run(first).kinds[0]
    sides = [core.open_model(model).run(text).attention(kind, by="word") for text in (first, second)]
    common = next(
        place
        for place, (one, other) in enumerate(zip(sides[0].queries, sides[1].queries, strict=False))
        if one != other
    )
    found = compared(*(View(model, text, kind=kind, layer=1, head=2) for text in (first, second)))
    said = [
        line
        for line in pair_of.notes(found, found.pair(0, 1))
        if "reads the whole text" in line or "reads from left to right" in line
    ]
    assert len(said) == bool(common)
    if common:
        apart = float(np.abs(np.subtract(*(side.weights[1, 2, :common, :common] for side in sides))).max())
        if model == "gpt-mini":
            assert f"({common} row" in said[0] and apart < 1e-6
        else:
            told = float(said[0].split("by up to ")[1].split(",")[0])
            assert apart > 0 and told >= apart - 0.005, (
                "what stands beside the shared words may be further apart, not nearer"
            )


def test_rows_that_a_learned_sink_shortens_are_explained(tmp_path, monkeypatch):
    write(tmp_path, "sink")
    write(tmp_path, "bytes")
    monkeypatch.setenv("ATLAS_MODELS", str(tmp_path))
    with Engine() as engine:
        monkeypatch.setattr(core.serving.engine, "_default", engine)
        monkeypatch.setattr(head_survey, "survey", lambda name: _unmeasured(engine.open(name)))
        short, whole = (View(model, "She has", "causal", 1, 0) for model in ("sink", "bytes"))
        found = compared(short, whole)
        assert found.weights[0].sum(1).max() < 0.99 and found.weights[1].sum(1).min() > 0.99
        assert [bool(pane.columns) for pane in found.panes] == [True, False]
        told = (
            "A learned sink takes weight and gives no value: the weights of a row add up to less than 100%."
        )
        assert f"In A: {told}" in pair_of.notes(found, found.pair(0, 1))
        both = compared(short, replace(short, head=1))
        assert any(states(note, told) for note in pair_of.notes(both, both.pair(0, 1)))
