"""The exhibit on another order of the words: rows, questions, links; every number measured again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from drawn_layers import drawn_rows, find_layers
from exhibit_pages import StepPages, said
from shown_values import states

from viz.course.exhibit import fill_in
from viz.course.self_attention.charts.reordered import OTHER, SAME
from viz.course.self_attention.permutation import exhibit, maths, order, steps
from viz.course.self_attention.permutation.params import Params
from viz.number_text import percent_of_change, tiny

FEW = steps.DRAWN_NUMBERS
GUESSED = {"first": maths.MOVES, "set": steps.SET_CHANGES, "mask": "2"}
page = StepPages("permutation")


@pytest.fixture(scope="module")
def data():
    return exhibit.compute(Params())


def revealed(step: int = 1, **link: object):
    return page(step, guess=GUESSED, **link)


def lines(test) -> tuple[int, int]:
    """Return how many lines stand for the same and for other numbers."""
    points = drawn_rows(test, "line")
    same, other = ({p["line"] for p in points if p["numbers"] == kind} for kind in (SAME, OTHER))
    return len(same), len(other)


def side(figure: Any, orient: str) -> dict[str, Any]:
    """Return the cells of one side of the picture: its axis is there."""
    cells = find_layers(figure, "v")
    (found,) = (each for each in cells if each["encoding"]["y"]["axis"]["orient"] == orient)
    return found


def rows(figure: Any, orient: str, width: int = FEW) -> np.ndarray:
    """Return the numbers of one side, a row each."""
    return np.array([cell["v"] for cell in side(figure, orient)["data"]["values"]]).reshape(-1, width)


@pytest.mark.slow
def test_it_opens_with_the_homework_question_and_hides_what_comes_out(data):
    before, after = page(), revealed()
    assert not rows(before, "right").size and not drawn_rows(before, "line")
    assert page.answer(before, "first") == maths.MOVES
    np.testing.assert_allclose(rows(after, "left"), data.plain.before[:, :FEW], atol=1e-4)
    np.testing.assert_allclose(rows(after, "right"), data.plain.after[:, :FEW], atol=1e-4)
    assert '["the", "man", "saw"' in side(before, "right")["encoding"]["y"]["axis"]["labelExpr"]
    limit = np.abs([data.plain.before[:, :FEW], data.plain.after[:, :FEW]]).max()
    assert side(before, "left")["encoding"]["color"]["scale"]["domain"] == pytest.approx([-limit, limit])
    assert states(said(after), f"{data.plain.in_place:.2f}") and lines(after) == (6, 0)
    assert page.answer(page(order="0_1_2_3_4_5"), "first") == maths.STAYS


@pytest.mark.slow
def test_rows_move_along_change_with_positions_and_the_mean_stays(data):
    """C038."""
    moved = list(data.order)
    assert data.order == (0, 4, 2, 3, 1, 5) and data.plain.in_place > 1 and data.all_layers < 1e-4
    np.testing.assert_allclose(data.plain.after, data.plain.before[moved], atol=1e-12)
    before, after = data.patterns
    np.testing.assert_allclose(after, before[:, moved][:, :, moved], atol=1e-12)
    assert states(said(page(2)), "6 layers", "32-bit", tiny(data.all_layers))
    placed, kept, norm = page(3), data.placed.before[moved], np.linalg.norm
    far = norm(data.placed.after - kept, axis=1) / norm(kept, axis=1)
    assert states(said(placed), *(percent_of_change(float(each)) for each in (far.max(), far.mean())))
    assert lines(placed) == (0, 6)
    mean, with_places = page(4), said(page(4, places=1))
    assert "mean is invariant" in said(mean) and lines(mean) == (7, 0) and data.plain.pooled_largest < 1e-12
    np.testing.assert_allclose(rows(mean, "right")[-1], data.plain.after.mean(0)[:FEW], atol=1e-4)
    largest = np.abs(data.placed.before.mean(0) - data.placed.after.mean(0)).max()
    assert f"up to {tiny(float(largest))}" in with_places and "not invariant" in with_places


@pytest.mark.slow
def test_both_homework_questions_are_answered_with_numbers(data):
    """C039."""
    first, twice, every = said(revealed()), revealed(5), revealed(5, twice=6)
    assert "equivariant, not invariant" in first and states(first, tiny(data.plain.largest))
    change = percent_of_change(float(data.repetition.change[:6].max()))
    assert states(said(twice), "“dog”", "6 original rows", change) and lines(twice) == (0, 7)
    assert page.answer(twice, "set") == steps.SET_CHANGES and data.counted < 1e-12
    assert page.answer(every, "set") == steps.SET_STAYS and lines(every) == (12, 0)


@pytest.mark.slow
def test_under_a_mask_rows_with_the_same_past_stay(data):
    past = maths.same_past(data.pieces, data.order)
    assert data.causal.unchanged.tolist() == past == [True, False, False, False, False, True]
    test = revealed(6)
    assert page.answer(test, "mask") == "2" and states(said(test), "2 of 6 rows", "“the”", "“.”")
    test.button(key="permutation.Reverse").click().run()
    assert states(said(test), "1 of 6 rows") or states(said(test), "0 of 6 rows")
    assert page.answer(page(6, order="1_0_2_3_4_5"), "mask") == "4"


@pytest.mark.slow
def test_the_order_is_changed_by_touch_and_by_buttons_and_stands_in_the_link():
    test = page(3)

    def linked(name: str) -> str:
        return str(test.query_params.get(f"permutation.{name}", "")).strip("[]'")

    test.button(key="permutation.As written").click().run()
    assert states(said(test), "6 of 6 rows") and linked("order") == "0_1_2_3_4_5"
    test.session_state["permutation.touch"] = 2
    test.run()
    test.button(key="permutation.draw.again").click().run()
    assert (linked("order"), linked("draw")) == ("", "1") and not states(said(test), "6 of 6 rows")
    test.text_input[0].set_value("She has a white car.").run()
    assert not test.exception and not linked("draw")


def test_a_touched_word_moves_to_the_front(monkeypatch):
    written: dict[str, object] = {}
    monkeypatch.setattr(order.state, "write", lambda **values: written.update(values))
    monkeypatch.setattr(order.st, "session_state", held := {"k": 2})
    order.touch("k", (0, 2, 1))
    assert str(written["permutation.order"]) == "0_1_2" and held["k"] is None


def test_the_lines_to_take_away_make_the_same_numbers():
    params, names = Params("A rose is a rose.", (3, 4, 2, 0, 1, 5)), {}
    data = exhibit.compute(params)
    exec(fill_in(exhibit.EXHIBIT.text.steps[0].code, {}, params, data), names)
    np.testing.assert_allclose(names["plain"].after, data.plain.after)
    np.testing.assert_allclose(names["placed"].change, data.placed.change)
    assert data.plain.unchanged.all()
