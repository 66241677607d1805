"""ALBERT in three steps: each step by AppTest, its numbers computed again; small random models stand in for the trained ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
import tiny_models
from drawn_layers import all_rows, drawn_rows
from exhibit_pages import bar_labels, drawn, said
from shown_values import states
from streamlit.testing.v1 import AppTest

import core.serving.engine
from core.models.albert import SHARED
from viz.course.bert.albert import maths, pairs
from viz.course.bert.albert.params import NAMES, Params
from viz.course.bert.stories import stories
from viz.labels import percent

SLUG = "albert."


@pytest.fixture(scope="module", autouse=True)
def engine(tmp_path_factory) -> Iterator[core.serving.engine.Engine]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(tiny_models.MODELS, "bert-mini", ("bert", {}))
        patch.setitem(tiny_models.MODELS, "albert-mini", ("albert", {}))
        with tiny_models.served(
            patch, tmp_path_factory.mktemp("models"), "bert-mini", "albert-mini"
        ) as served:
            yield served


def page(step: int, *, folds: tuple[str, ...] = (), state: dict | None = None, **link: str) -> AppTest:
    held = {f"fold:{SLUG}{name}": True for name in folds} | (state or {})
    asked = {SLUG + "step": str(step)} | {
        name if name == "text" else SLUG + name: value for name, value in link.items()
    }
    return drawn("albert", asked, held, guarded=True)


def asked(test: AppTest, name: str) -> tuple:
    return test.session_state[f"predict:{SLUG}{name}:asked"]["of"]


def commit(test: AppTest, name: str) -> AppTest:
    return test.button(key=f"predict:{SLUG}{name}:commit").click().run()


@pytest.mark.slow
def test_the_tables_have_the_numbers_of_the_slides_and_break_even_where_they_should():
    """C097."""
    before = page(1)
    assert not before.exception and asked(before, "even")[3] == pytest.approx(30522 * 768 / (30522 + 768))
    assert "V × H = 23,440,896" in said(before) and "4,005,120" not in said(before)
    assert {"V × H = 23,440,896", "?"} <= {row["said"] for row in all_rows(before, "said", mark="text")}
    told = commit(before, "even")
    assert "3,906,816 + 98,304 = 4,005,120: 5.85 times fewer" in said(told)
    assert "E = V·H / (V + H) = 749.1" in said(told)
    boxes = drawn_rows(told, "of")
    areas = [(box["right"] - box["x"]) * (box["bottom"] - box["y"]) for box in boxes]
    assert areas == pytest.approx([23_440_896, 3_906_816, 98_304])  # to scale: an area is a count


@pytest.mark.slow
def test_sliders_move_the_counts_and_a_wide_table_is_told():
    wide = commit(page(1, E="1000"), "even")
    assert states(said(wide), "749.1")
    large = commit(page(1, H="4096"), "even")
    assert "125,018,112" in said(large) and "4,431,104" in said(large)
    odd = page(1, E="0", V="-7", H="none")
    assert not odd.exception and "V × H" in said(odd)


@pytest.mark.quick(1)
@pytest.mark.parametrize("shared", SHARED)
def test_four_choices_with_counts_and_the_same_memory(shared):
    """C098."""
    before = page(2, shared=shared)
    assert not before.exception and "7,087,872" not in said(before)
    assert bar_labels(before, 1) == ["85,054,464"]
    cells = drawn_rows(before, "value", "at")
    for part, of in (("attention", "self_attn"), ("feed-forward", "ffn")):
        row = [cell for cell in cells if cell["value"].endswith(part)]
        assert len(row) == 12
        assert len({cell["note"] for cell in row}) == (1 if of in SHARED[shared] else 12)
        assert len({cell["label"] for cell in row}) == (1 if of in SHARED[shared] else 12)
    found = 12 if "ffn" in SHARED[shared] else 1
    assert states(said(before), f"{found} of 12 layers")
    told = page(2, shared=shared, state={f"predict:{SLUG}fewest.Base": "feed-forward"})
    layers, whole, theirs = maths.counted(shared)
    assert states(said(told), f"{layers:,} parameters", f"{whole:,}")
    assert f"{theirs / whole:.2f} times as many" in said(told) and theirs == 109_482_240
    bars = bar_labels(told, 1)
    assert bars == [f"{maths.counted(choice)[0]:,}" for choice in NAMES]
    assert f"{12 * (4 * 768**2 + 2 * 768 * 3072):,} multiplications" in said(told)


@pytest.mark.slow
def test_both_ratios_of_the_erratum():
    for shape, ratio in (("Base", "9.37"), ("Large", "18.95")):
        told = page(2, shape=shape, state={f"predict:{SLUG}fewest.{shape}": "feed-forward"})
        assert f"{ratio} times as many" in said(told)


@pytest.mark.slow
def test_how_alike_the_layers_are_is_measured_on_the_visitors_sentence():
    test = page(2, folds=("alike",), text="She has a white car.")
    for name in ("bert-mini", "albert-mini"):
        run = core.serving.engine.default().open(name).run("She has a white car.")
        hidden = run.hidden().astype(float)
        cosines = [
            (a * b).sum(-1) / (np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1))
            for a, b in pairwise(hidden)
        ]
        rows = [row for row in drawn_rows(test, mark="line", place=2) if row["line"] == name]
        assert [row["y"] for row in rows] == pytest.approx([float(each.mean()) for each in cosines], abs=1e-5)


@pytest.mark.slow
def test_pairs_of_both_tasks_stand_side_by_side_and_a_bag_of_words_tells_one():
    """C099."""
    before = page(3)
    assert not before.exception and asked(before, "order")[3] == 0.5
    learned = {task: pairs.learned(task) for task in pairs.TASKS}
    assert percent(learned[pairs.NEXT].held_out) not in said(before)
    for place, task in enumerate(pairs.TASKS):
        right, wrong = pairs.sample_pairs(task, Params().draw)
        shown = [row["said"] for row in drawn_rows(before, mark="rect", place=place)]
        assert shown == [right.first, right.second, wrong.first, wrong.second]
    told = commit(before, "order")
    assert learned[pairs.ORDER].held_out == 0.5 and learned[pairs.NEXT].held_out > 0.7
    assert f"held-out pairs: {percent(learned[pairs.NEXT].held_out)} and" in said(told)
    assert "sentence order 0." in said(told)  # no word that only one of the two orders has


@pytest.mark.parametrize("draw", range(12))
def test_the_label_rule_and_the_multiset_of_words(draw):
    right, swapped = pairs.sample_pairs(pairs.ORDER, draw)
    assert (right.label, swapped.label) == (1, 0)
    assert (swapped.first, swapped.second) == (right.second, right.first)
    count = [Counter(pairs.words(f"{pair.first} {pair.second}")) for pair in (right, swapped)]
    assert count[0] == count[1] == right.words
    story = " ".join(stories()[right.stories[0]])
    assert f"{right.first} {right.second}" in story and f"{right.second} {right.first}" not in story
    same, other = pairs.sample_pairs(pairs.NEXT, draw)
    assert same == right and other.first == right.first and other.stories[0] != other.stories[1]
    assert other.words != same.words


@pytest.mark.slow
def test_a_bag_scores_both_orders_of_any_pair_alike_and_learns_the_other_task():
    found = pairs.learned(pairs.ORDER)
    rows = pairs.neighbours(True)
    swapped = [pairs.wrong(pairs.ORDER, pair, True)[0] for pair in rows]
    np.testing.assert_allclose(found.score(rows), found.score(swapped), atol=1e-6)
    for draw in (1, 2):
        assert pairs.learned(pairs.NEXT, draw).held_out > 0.65
    first = {text for pair in pairs.neighbours(False) for text in (pair.first, pair.second)}
    assert not first & {
        text for pair in rows for text in (pair.first, pair.second)
    }  # measured on what it never read


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (("", "Then he left."), "The first text is empty."),
        (("The baker lit the fire.", "Then he put the bread into the oven."), "P(in order)"),
        (("Yes.", "?!"), "The second text is empty."),
        (("word " * 900, "Yes."), "This page reads up to 1,000."),
        (("狗在跑。", "猫在睡。"), "0 of them known"),
        (("<b>No</b>", "**No**"), "In both orders the same words"),
    ],
)
def test_ones_own_pair_is_read_or_answered_calmly(texts, words):
    test = page(3, folds=("own",), a=texts[0], b=texts[1])
    assert not test.exception and words in said(test) + " ".join(str(error.value) for error in test.error)


@pytest.mark.quick(1)
@pytest.mark.parametrize("text", ["", "dog", "word " * 900, "狗在跑。"])
def test_a_sentence_for_the_layers_is_read_or_answered_calmly(text):
    assert not page(2, folds=("alike",), text=text).exception
