"""Compare: panes on common words, what is said of a pair, the telling pairs, links that restore everything."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from deep import deep
from model_shapes import served_shapes
from packets import opened
from shown_values import states
from streamlit.testing.v1 import AppTest
from workspace_pages import matrices, page, said, sent

import core
from core.analysis.attention.align import align_words, pool_patterns
from core.analysis.attribution.means import mean_outputs
from core.analysis.heads.pattern_distance import compare_patterns
from viz.shell.selection import Selection
from viz.widgets import pins
from viz.widgets.pins import View
from viz.workspace.compare import data, folds, presets
from viz.workspace.compare import page as compare
from viz.workspace.compare import pair as pair_of
from viz.workspace.shared import model_run
from viz.workspace.shared.toy_models import own_texts
from viz.workspace.what_if import data as changes

GPT, READER = "gpt-mini", "translator-en-es"
CAT = "The cat sat on the mat."


def linked(*views: View, **more: str) -> AppTest:
    return page("compare", **pins.panes(views), **more)


def heats(test: AppTest) -> list[dict]:
    return [opened(packet)[0] for packet in sent(test, "scale", "axis")]


def drawn(test: AppTest) -> list[np.ndarray]:
    return [np.nan_to_num(weights) for weights in matrices(test, "scale", "axis")]


def preset(name: str) -> tuple[View, ...]:
    return next(pair.views for pair in presets.TELLING if pair.name == name)


def compared(*views: View, by: str = "word") -> data.Compared:
    return compare.compute(compare.Params(views=views, by=by))


def by_word(view: View) -> core.Attention:
    """The attention of a plain run for a view."""
    return core.open_model(view.model).run(view.text).attention(view.kind, by="word")


def test_it_opens_with_two_heads_that_do_something_else_in_one_group_on_one_scale():
    test, found = page("compare"), compare.compute(compare.Params())
    a, b = views = data.opening(compare.Params(GPT))
    assert a.kind == b.kind and (a.layer, a.head) != (b.layer, b.head)
    assert [pane.view for pane in found.panes] == list(views)
    assert found.pair(0, 1).likeness.bits > 0.2, "a telling pair is far apart"
    assert [(head["group"], head["scale"]) for head in heats(test)] == [
        ("compare", scale) for scale in ("pattern", "pattern", "difference")
    ]
    assert len({(*head["queries"], *head["shape"]) for head in heats(test)}) == 1


def test_the_head_that_was_in_view_is_the_first_pane():
    a, b = data.opening(Selection(GPT, "The cat sat.", kind="causal", layer=3, head=6))
    assert (a.layer, a.head) == (3, 6) != (b.layer, b.head)


def test_two_texts_stand_opposite_each_other_and_what_is_left_over_is_shown():
    views = View(GPT, CAT, "causal", 0, 0), View(GPT, "The old cat sat on the rug.", "causal", 0, 0)
    test = linked(*views)
    words = [[*view.text.removesuffix(".").split(" "), "."] for view in views]
    assert [head["queries"] for head in heats(test)[:2]] == [["The", "(old)", *words[0][1:]], words[1]]
    assert [head["lone"] for head in heats(test)] == [[[1], [1]], [[], []], [[1], [1]]], (
        "no mask forbids what has no counterpart; the difference lacks what either lacks"
    )
    assert states(said(test), "mat | rug") and states(said(test), "B: old")
    a, b = map(by_word, views)
    words = align_words(a.queries, b.queries)
    wanted = pool_patterns([a.weights[0, 0], b.weights[0, 0]], words, words)
    np.testing.assert_allclose(drawn(test)[:2], wanted, atol=1e-6)


def test_two_tokenizers_meet_at_their_letters():
    text = "The animal didn't cross the street because it was too wide."
    found = compared(View(READER, text, "self", 0, 0), View(GPT, text, "causal", 0, 0), by="token")
    row = next(place for place, slot in enumerate(found.rows) if len(slot[0]) == 2)
    assert [found.word("queries", row, pane).replace("·", "") for pane in (0, 1)] == ["wide"] * 2
    for pane, weights in enumerate(found.weights):
        there = np.array([bool(slot[pane]) for slot in found.rows])
        np.testing.assert_allclose(weights.sum(-1), there, atol=1e-5)


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", ["Tired or wide?", "One word changed", "One word changed, both ways"])
def test_a_minimal_pair_opens_with_the_head_that_differs_most(name):
    """Against a plain loop over all heads."""
    found = compared(*preset(name))
    kind, view = found.panes[0].view.kind, found.panes[1].view
    runs = [by_word(replace(one, kind=kind)) for one in preset(name)]
    words = align_words(runs[0].queries, runs[1].queries)
    bits = np.empty(runs[0].weights.shape[:2])
    for place in np.ndindex(bits.shape):
        bits[place] = compare_patterns(
            *pool_patterns([run.weights[place] for run in runs], words, words)
        ).bits
    assert (view.layer, view.head) == np.unravel_index(bits.argmax(), bits.shape)
    assert found.pair(0, 1).likeness.bits == pytest.approx(bits.max(), abs=1e-3)


def test_a_recurrent_model_is_compared_with_one_that_has_heads():
    a, b = data.opening(Selection("bahdanau-en-es", "She has a white car."))
    assert (a.model, a.kind, b.model) == ("bahdanau-en-es", "alignment", READER)
    found = compared(a, b)
    first, second = found.panes
    assert (first.has_one_alignment, first.name, second.view.kind) == (True, "bahdanau-en-es", "cross")
    assert found.word("queries", 0, 0) == "Ella"


def test_heads_of_a_layer_joined_and_unequal_kinds_of_views():
    found = compared(*(View(GPT, CAT, "causal", 3, how) for how in ("mean", "max", "rollout")))
    weights = by_word(found.panes[0].view).weights[3]
    np.testing.assert_allclose(found.weights[:2], [weights.mean(0), weights.max(0)], atol=1e-6)
    assert [pair.name for pair in found.pairs()] == ["A − B", "A − C", "B − C"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("views", "by", "how"),
    [
        (preset("Tired or wide?"), "word", "align_words"),
        (
            (
                View(READER, "The animal was wide.", "self", 0, 0),
                View(GPT, "The animal was wide.", "causal", 3, "mean"),
            ),
            "token",
            "align_tokens",
        ),
        (preset("With and without recurrence"), "word", "align_words"),
        (preset("A head switched off"), "word", "from_text"),
    ],
)
def test_the_lines_of_python_compute_the_numbers_of_the_page(views, by, how):
    found = compared(*views, by=by)
    pair, held = found.pair(0, 1), dict[str, object]()
    lines = folds.code(*found.panes, pair, by)
    exec(lines, held)
    assert how in lines
    np.testing.assert_allclose(held["first"], found.weights[0], atol=1e-9)
    np.testing.assert_allclose(held["second"], found.weights[1], atol=1e-9)
    measured = compare_patterns(held["first"], held["second"], held["cells"])
    assert (measured.correlation, measured.bits) == pytest.approx(
        (pair.likeness.correlation, pair.likeness.bits), abs=1e-9, nan_ok=True
    )


def test_the_table_holds_the_numbers_of_the_pair():
    found = compare.compute(compare.Params())
    pair = found.pair(0, 1)
    table = folds.table(found, pair)
    assert len(table) == len(pair.order)
    assert table["divergence in bits"].mean() == pytest.approx(pair.likeness.bits, abs=1e-3)


@pytest.mark.parametrize("model", ["induction-tiny", "recorded: copy"])
def test_a_model_of_letters_has_means_over_lines_of_its_own_task(model):
    reader, lines = model_run.open_model(model), own_texts(model)
    over, edit_to_mean = changes.over(reader), "mean:layer.1.self_attn.heads:1::{}"
    assert lines and over in "lines of its task"
    wanted = mean_outputs(reader, [line.text for line in lines], "causal")
    np.testing.assert_allclose(changes.means(reader, "causal"), wanted, atol=1e-6)
    run = changes.first(Selection(model, lines[0].text))
    (edit,), wrong = changes.readable(edit_to_mean.format("lines of its task"), run)
    assert not wrong and edit.vector == pytest.approx(wanted[1, 1].tolist())
    _, wrong = changes.readable(edit_to_mean.format("our sentences"), run)
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
    views = [View(model, text, kind=kind, layer=1, head=2) for text in (first, second)]
    one, other = map(by_word, views)
    common = [a == b for a, b in zip(one.queries, other.queries, strict=False)].index(False)
    found = compared(*views)
    notes = [
        line
        for line in pair_of.notes(found, found.pair(0, 1))
        if "reads the whole text" in line or "reads from left to right" in line
    ]
    assert len(notes) == bool(common)
    if common:
        apart = np.abs(np.subtract(*(side.weights[1, 2, :common, :common] for side in (one, other)))).max()
        if model == "gpt-mini":
            assert f"({common} row" in notes[0] and apart < 1e-6
        else:  # what stands beside the shared words may be further apart, not nearer
            assert 0 < apart <= float(notes[0].split("by up to ")[1].split(",")[0]) + 0.005


def test_rows_that_a_learned_sink_shortens_are_explained(tmp_path, monkeypatch):
    with served_shapes(monkeypatch, tmp_path, "sink", "bytes"):
        short, whole = (View(model, "She has", "causal", 1, 0) for model in ("sink", "bytes"))
        found, both = compared(short, whole), compared(short, replace(short, head=1))
        assert found.weights[0].sum(1).max() < 0.99 and found.weights[1].sum(1).min() > 0.99
        assert [bool(pane.columns) for pane in found.panes] == [True, False]
        for pair, where in ((found, "In A: "), (both, "")):
            (told,) = (note for note in pair_of.notes(pair, pair.pair(0, 1)) if "learned sink" in note)
            assert told.startswith(where) and states(told, "100%")
