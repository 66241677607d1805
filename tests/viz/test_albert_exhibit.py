"""ALBERT: its numbers computed again; small random models stand in for the trained ones."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from drawn_layers import drawn_rows
from exhibit_pages import StepPages, bar_labels, said
from exhibit_visits import answered
from shown_values import states
from tiny_models import stand_ins

from core.models.albert import SHARED
from core.serving.engine import default
from viz.course.bert.albert import maths, pairs
from viz.course.bert.albert.params import NAMES, Params
from viz.course.bert.stories import stories
from viz.labels import percent

engine = stand_ins({"bert-mini": ("bert", {}), "albert-mini": ("albert", {})})
page = StepPages("albert")


@pytest.mark.slow
def test_the_tables_have_the_numbers_of_the_slides_and_break_even_where_they_should():
    """C097."""
    test = answered(page())
    assert page.answer(test, "even") == pytest.approx(30522 * 768 / (30522 + 768))
    assert "V × H = 23,440,896" in said(test) and "E = V·H / (V + H) = 749.1" in said(test)
    assert "3,906,816 + 98,304 = 4,005,120: 5.85 times fewer" in said(test)
    areas = [(box["right"] - box["x"]) * (box["bottom"] - box["y"]) for box in drawn_rows(test, "of")]
    assert areas == pytest.approx([23_440_896, 3_906_816, 98_304]), "to scale: an area is a count"


@pytest.mark.slow
def test_sliders_move_the_counts_and_a_wide_table_is_told():
    assert states(said(answered(page(E=1000))), "749.1")
    large = said(answered(page(H=4096)))
    assert "125,018,112" in large and "4,431,104" in large


@pytest.mark.quick(1)
@pytest.mark.parametrize("shared", SHARED)
def test_four_choices_with_counts_and_the_same_memory(shared):
    """C098."""
    test = page(2, shared=shared, guess={"fewest.Base": "feed-forward"})
    cells = drawn_rows(test, "value", "at")
    for part, of in (("attention", "self_attn"), ("feed-forward", "ffn")):
        row = [cell for cell in cells if cell["value"].endswith(part)]
        assert len(row) == 12
        for drawn in ("note", "label"):
            assert len({cell[drawn] for cell in row}) == (1 if of in SHARED[shared] else 12)
    assert states(said(test), f"{12 if 'ffn' in SHARED[shared] else 1} of 12 layers")
    layers, whole, theirs = maths.counted(shared)
    assert theirs == 109_482_240 and maths.counted("none")[0] == 85_054_464
    assert states(said(test), f"{layers:,} parameters", f"{whole:,}")
    assert f"{theirs / whole:.2f} times as many" in said(test)
    assert bar_labels(test, 1) == [f"{maths.counted(choice)[0]:,}" for choice in NAMES]
    assert f"{12 * (4 * 768**2 + 2 * 768 * 3072):,} multiplications" in said(test)


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "ratio"), [("Base", "9.37"), ("Large", "18.95")])
def test_both_ratios_of_the_erratum(shape, ratio):
    test = page(2, shape=shape, guess={f"fewest.{shape}": "feed-forward"})
    assert f"{ratio} times as many" in said(test)


@pytest.mark.slow
def test_how_alike_the_layers_are_is_measured_on_the_visitors_sentence():
    text = "She has a white car."
    test = page(2, "alike", text=text)
    for name in ("bert-mini", "albert-mini"):
        hidden = default().open(name).run(text).hidden().astype(float)
        hidden /= np.linalg.norm(hidden, axis=-1, keepdims=True)
        rows = [row["y"] for row in drawn_rows(test, mark="line", place=2) if row["line"] == name]
        assert rows == pytest.approx([(a * b).sum(-1).mean() for a, b in pairwise(hidden)], abs=1e-5)


@pytest.mark.slow
def test_pairs_of_both_tasks_stand_side_by_side_and_a_bag_of_words_tells_one():
    """C099."""
    test = answered(page(3))
    learned = {task: pairs.learned(task) for task in pairs.TASKS}
    for place, task in enumerate(pairs.TASKS):
        right, wrong = pairs.sample_pairs(task, Params().draw)
        texts = [row["said"] for row in drawn_rows(test, mark="rect", place=place)]
        assert texts == [right.first, right.second, wrong.first, wrong.second]
    assert page.answer(test, "order") == learned[pairs.ORDER].held_out == 0.5
    assert learned[pairs.NEXT].held_out > 0.7
    assert f"held-out pairs: {percent(learned[pairs.NEXT].held_out)} and" in said(test)
    assert "sentence order 0." in said(test)  # no word that only one of the two orders has


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
    found, rows = pairs.learned(pairs.ORDER), pairs.neighbours(True)
    swapped = [pairs.wrong(pairs.ORDER, pair, True)[0] for pair in rows]
    np.testing.assert_allclose(found.score(rows), found.score(swapped), atol=1e-6)
    assert all(pairs.learned(pairs.NEXT, draw).held_out > 0.65 for draw in (1, 2))
    read, held_out = (
        {text for pair in pairs.neighbours(held) for text in (pair.first, pair.second)}
        for held in (False, True)
    )
    assert not read & held_out, "measured on what it never read"


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
    test = page(3, "own", a=texts[0], b=texts[1])
    assert words in said(test) + " ".join(str(error.value) for error in test.error)


@pytest.mark.quick(1)
@pytest.mark.parametrize("text", ["", "dog", "word " * 900, "狗在跑。"])
def test_a_sentence_for_the_layers_is_read_or_answered_calmly(text):
    page(2, "alike", text=text)
