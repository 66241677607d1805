"""The exhibit on captions: each number that it shows is that of the shipped captioner's run, and odd scenes are answered calmly."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from exhibit_pages import bar_labels, drawn, said
from packets import opened, packets_of
from shown_values import states

import core
from core.data.scenes.language import GRID, caption, read
from core.errors import InputError
from viz.course.vision.show_attend_tell import charts, judging, maths, steps
from viz.course.vision.show_attend_tell.params import SLUG, TEXTS, Params

TEXT = Params().text


@pytest.fixture(scope="module")
def data():
    return maths.describe(TEXT)


def page(step, known=True, **link):
    query = {f"{SLUG}.step": str(step), **{f"{SLUG}.{name}": value for name, value in link.items()}}
    test = drawn(SLUG, query, {}, guarded=True)
    assert not test.exception
    if known:
        for pills in [each for each in test.button_group if str(each.key).startswith("predict:")]:
            test = drawn(SLUG, query, {pills.key: pills.options[0]}, guarded=True)
        assert not test.exception
    return test


def test_every_word_has_a_map_over_the_grid_that_sums_to_one(data):
    run = core.open_model(maths.MODEL).run(TEXT)
    weights = run.attention("alignment").weights[0, 0]
    assert np.array_equal(data.weights, weights)
    assert data.weights.shape == (len(data.words), GRID**2) and data.words[-1] == maths.END
    np.testing.assert_allclose(data.weights.sum(1), 1, rtol=1e-5)
    (shown,) = [packet for packet in map(opened, packets_of(page(2))) if "image" in packet[0]]
    header = shown[0]
    assert header["cells"] == [GRID, GRID] and len(header["asks"]) == len(data.words)
    assert header["keys"] == data.names and header["limit"] == pytest.approx(float(data.weights.max()))


def test_the_context_is_the_gated_mean_of_the_cells(data):
    trace = core.open_model(maths.MODEL).run(TEXT).trace
    cells = trace["encoder.annotations"]
    np.testing.assert_allclose(
        data.context, data.gates[:, None] * (data.weights @ cells), rtol=1e-4, atol=1e-5
    )


@pytest.mark.slow
def test_hard_attention_reads_one_drawn_cell_a_word(data):
    one, again = maths.describe(TEXT, 3), maths.describe(TEXT, 3)
    assert set(np.unique(one.weights)) == {0, 1} and (one.weights.sum(1) == 1).all()
    assert np.array_equal(one.weights, again.weights) and one.sentence == again.sentence
    cells = core.open_model(maths.MODEL).run(TEXT).trace["encoder.annotations"]
    np.testing.assert_allclose(
        one.context, one.gates[:, None] * cells[one.weights.argmax(1)], rtol=1e-4, atol=1e-5
    )
    rows = maths.Sampled("x", 0)(pattern_of([[0.25, 0.75], [0, 0]]))
    assert rows.sum().item() == 1 and not rows[0, 0, 1].any()
    drawn_cells = [int(maths.Sampled("x", seed)(pattern_of([[0.25, 0.75]])).argmax()) for seed in range(400)]
    assert 0.68 < np.mean(drawn_cells) < 0.82, "as often as the weights say"


def pattern_of(rows):
    return torch.tensor([[rows]], dtype=torch.float32)


def test_the_printed_numbers_stand_beside_the_gates_of_this_run(data):
    hidden, shown = page(3, known=False), page(3)
    assert steps.PRINTED == {"A": 0.98, "woman": 0.54, "is": 0.37, "throwing": 0.33, ".": 0.33}
    for test in (hidden, shown):
        assert bar_labels(test) == ["0.98", "0.54", "0.37", "0.33", "0.33"]
    assert len(hidden.get("vega_lite_chart")) == 1
    assert bar_labels(shown, 1) == [f"{gate:.2f}" for gate in data.gates]


def test_right_and_wrong_captions_are_cards_to_judge():
    shown = said(page(6))
    assert sum(map(len, judging.PRINTED.values())) == 23 and [*map(len, judging.PRINTED.values())][:2] == [
        6,
        6,
    ]
    for name, texts in judging.PRINTED.items():
        assert name in shown and all(text in shown for text in texts)
    before = said(page(6, known=False))
    assert sum(text in before for texts in judging.PRINTED.values() for text in texts) == 1


@pytest.mark.slow
def test_own_captions_are_counted_against_the_grammar():
    right, rows = maths.count_right(0)
    assert len(rows) == maths.N_SCENES and right == sum(text == caption(scene) for scene, text, _ in rows)
    assert maths.describe(maths.scene_text(rows[0][0])).sentence == rows[0][1], (
        "many at once write what one alone writes"
    )
    shown = page(5, judge="0")
    assert states(said(shown), f"{right} of {maths.N_SCENES}")


@pytest.mark.parametrize(
    ("own", "says"),
    [
        ("red dog 1,1", "cannot be drawn"),
        ("red cat 9,9", "stands outside"),
        ("<b>x</b>", "is not a thing of a scene"),
        ("red cat 1,1; red cat 1,1", "Two things stand"),
    ],
)
def test_what_is_no_scene_is_told_in_words(own, says):
    test = page(1, known=False, own=own)
    assert says in said(test) and "<b>" not in "".join(str(each.value) for each in test.markdown)


def test_a_scene_without_a_sentence_is_captioned_and_that_is_said():
    test = page(2, known=False, own="red cat 0,0; blue house 1,1; green tree 2,2")
    assert "no sentence" in said(test)


def test_a_touch_places_a_thing_and_another_takes_it_away():
    own = TEXTS[0]
    assert maths.placed(own, "green star", 24) == f"{own}; green star 4,4"
    assert maths.placed(own, "green star", 1).split("; ") == [
        "blue house 0,3",
        "blue house 3,4",
        "green star 1,0",
    ]
    with pytest.raises(InputError):
        read(maths.placed("red cat 1,0", "red cat", 1))
    assert Params().text == maths.scene_of(Params().draw) != Params(draw=7).text == maths.scene_of(7)


def test_the_board_draws_each_pixel_of_ink_once(data):
    boxes = charts.runs(data.pixels, side=60, spill=0)
    drawn_pixels = sum((box["right"] - box["left"]) * (box["bottom"] - box["top"]) for box in boxes[1:])
    assert round(drawn_pixels) == (data.pixels != data.pixels[0, 0]).any(-1).sum()
