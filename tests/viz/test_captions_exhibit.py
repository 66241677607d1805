"""The exhibit on captions: each number that it shows is that of the shipped captioner's run, and odd scenes are answered calmly."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from exhibit_pages import StepPages, bar_labels, instruments, said
from exhibit_visits import answered
from shown_values import states

import core
from core.data.scenes.language import GRID, caption, read
from core.errors import InputError
from viz.course.vision.show_attend_tell import charts, judging, maths, steps
from viz.course.vision.show_attend_tell.params import TEXTS, Params

TEXT = Params().text
page = StepPages("show_attend_tell", shared=())


@pytest.fixture(scope="module")
def data():
    return maths.describe(TEXT)


def test_every_word_has_a_map_over_the_grid_that_sums_to_one(data):
    weights = core.open_model(maths.MODEL).run(TEXT).attention("alignment").weights[0, 0]
    assert np.array_equal(data.weights, weights)
    assert data.weights.shape == (len(data.words), GRID**2) and data.words[-1] == maths.END
    np.testing.assert_allclose(data.weights.sum(1), 1, rtol=1e-5)
    (header,) = instruments(answered(page(2)), "image")
    assert header["cells"] == [GRID, GRID] and len(header["asks"]) == len(data.words)
    assert header["keys"] == data.names and header["limit"] == pytest.approx(float(data.weights.max()))


def test_the_context_is_the_gated_mean_of_the_cells(data):
    cells = core.open_model(maths.MODEL).run(TEXT).trace["encoder.annotations"]
    wanted = data.gates[:, None] * (data.weights @ cells)
    np.testing.assert_allclose(data.context, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_hard_attention_reads_one_drawn_cell_a_word():
    one, again = maths.describe(TEXT, 3), maths.describe(TEXT, 3)
    assert set(np.unique(one.weights)) == {0, 1} and (one.weights.sum(1) == 1).all()
    assert np.array_equal(one.weights, again.weights) and one.sentence == again.sentence
    cells = core.open_model(maths.MODEL).run(TEXT).trace["encoder.annotations"]
    wanted = one.gates[:, None] * cells[one.weights.argmax(1)]
    np.testing.assert_allclose(one.context, wanted, rtol=1e-4, atol=1e-5)

    def sampled(rows: list[list[float]], seed: int) -> torch.Tensor:
        return maths.Sampled("x", seed)(torch.tensor([[rows]], dtype=torch.float32))

    rows = sampled([[0.25, 0.75], [0, 0]], 0)
    assert rows.sum().item() == 1 and not rows[0, 0, 1].any()
    second = [int(sampled([[0.25, 0.75]], seed).argmax()) for seed in range(400)]
    assert 0.68 < np.mean(second) < 0.82, "as often as the weights say"


def test_the_printed_numbers_stand_beside_the_gates_of_this_run(data):
    assert steps.PRINTED == {"A": 0.98, "woman": 0.54, "is": 0.37, "throwing": 0.33, ".": 0.33}
    test = answered(page(3))
    assert bar_labels(test) == ["0.98", "0.54", "0.37", "0.33", "0.33"]
    assert bar_labels(test, 1) == [f"{gate:.2f}" for gate in data.gates]


def test_right_and_wrong_captions_are_cards_to_judge():
    before, after = said(page(6)), said(answered(page(6)))
    counts = [*map(len, judging.PRINTED.values())]
    assert sum(counts) == 23 and counts[:2] == [6, 6]
    texts = [text for each in judging.PRINTED.values() for text in each]
    assert all(text in after for text in [*judging.PRINTED, *texts])
    assert sum(text in before for text in texts) == 1


@pytest.mark.slow
def test_own_captions_are_counted_against_the_grammar():
    right, rows = maths.count_right(0)
    assert len(rows) == maths.N_SCENES and right == sum(text == caption(scene) for scene, text, _ in rows)
    alone = maths.describe(maths.scene_text(rows[0][0])).sentence
    assert alone == rows[0][1], "many at once write what one alone writes"
    assert states(said(answered(page(5, judge=0))), f"{right} of {maths.N_SCENES}")


@pytest.mark.parametrize(
    ("own", "says"),
    [
        ("red dog 1,1", "cannot be drawn"),
        ("red cat 9,9", "stands outside"),
        ("<b>x</b>", "is not a thing of a scene"),
        ("red cat 1,1; red cat 1,1", "Two things stand"),
        ("red cat 0,0; blue house 1,1; green tree 2,2", "no sentence"),
    ],
)
def test_what_is_no_scene_is_told_in_words_and_one_without_a_sentence_is_captioned(own, says):
    test = page(2, own=own)
    assert says in said(test) and "<b>" not in "".join(str(each.value) for each in test.markdown)


def test_a_touch_places_a_thing_and_another_takes_it_away():
    own = TEXTS[0]
    assert maths.placed(own, "green star", 24) == f"{own}; green star 4,4"
    placed = maths.placed(own, "green star", 1).split("; ")
    assert placed == ["blue house 0,3", "blue house 3,4", "green star 1,0"]
    with pytest.raises(InputError):
        read(maths.placed("red cat 1,0", "red cat", 1))
    assert Params().text == maths.scene_of(Params().draw) != Params(draw=7).text == maths.scene_of(7)


def test_the_board_draws_each_pixel_of_ink_once(data):
    boxes = charts.runs(data.pixels, side=60, spill=0)
    area = sum((box["right"] - box["left"]) * (box["bottom"] - box["top"]) for box in boxes[1:])
    assert round(area) == (data.pixels != data.pixels[0, 0]).any(-1).sum()
