"""The exhibit on another order of the words without a browser: rows, questions, links, folds; every number measured again."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
from drawn_layers import all_rows, drawn_rows, find_layers
from exhibit_pages import drawn, said
from shown_values import states
from streamlit.testing.v1 import AppTest

from core.serving.engine import default
from viz.course.exhibit import fill_in
from viz.course.self_attention.charts.reordered import OTHER, SAME, reordered
from viz.course.self_attention.permutation import exhibit, maths, order, steps
from viz.course.self_attention.permutation.params import Params
from viz.number_text import number, percent_of_change, tiny


def page(*folded: str, state: dict[str, object] | None = None, text: str = "", **link: str) -> AppTest:
    values = {f"permutation.{name}": value for name, value in link.items()} | ({"text": text} if text else {})
    return drawn(
        "permutation", values, {f"fold:{name}": True for name in folded} | (state or {}), guarded=True
    )


def spec(test: AppTest, place: int = 0) -> dict[str, Any]:
    """What an Altair chart of the page was given."""
    return json.loads(test.get("vega_lite_chart")[place].proto.spec)


def lines(test: AppTest) -> dict[str, int]:
    """How many lines there are of each kind."""
    points = drawn_rows(test, "line")
    return {
        kind: len({point["line"] for point in points if point["numbers"] == kind}) for kind in (SAME, OTHER)
    }


def side(figure: Any, orient: str) -> dict[str, Any]:
    """Return the cells of one side of the picture: its axis is there."""
    (found,) = (
        each for each in find_layers(figure, "v") if each["encoding"]["y"]["axis"]["orient"] == orient
    )
    return found


def cells_of(figure: Any, orient: str) -> list[dict[str, Any]]:
    """Return the rows of one side."""
    return side(figure, orient)["data"]["values"]


def rows_of(layer: list[dict[str, Any]], d: int = steps.DRAWN_NUMBERS) -> np.ndarray:
    """The numbers of one side, a row each."""
    return np.array([cell["v"] for cell in layer]).reshape(-1, d)


@pytest.mark.slow
def test_it_opens_with_the_homework_question_and_hides_what_comes_out():
    test = page()
    assert not test.exception and test.title[0].value == exhibit.EXHIBIT.text.info.title
    data = exhibit.compute(Params())
    assert not test.get("plotly_chart") and cells_of(test, "right") == drawn_rows(test, "line") == []
    assert "?" in [each["mark"].get("text") for each in find_layers(test, mark="text")]
    np.testing.assert_allclose(
        rows_of(cells_of(test, "left")), data.plain.before[:, : steps.DRAWN_NUMBERS], atol=1e-4
    )
    names = side(test, "right")["encoding"]["y"]["axis"]["labelExpr"]
    assert '["the", "man", "saw"' in names
    limit = max(
        np.abs(each[:, : steps.DRAWN_NUMBERS]).max() for each in (data.plain.before, data.plain.after)
    )
    domain = side(test, "left")["encoding"]["color"]["scale"]["domain"]
    assert domain == pytest.approx([-limit, limit])
    assert number(-limit, 1) in [row["text"] for row in all_rows(test, "text")]
    told = page(state={"predict:permutation.first": maths.STAYS})
    np.testing.assert_allclose(
        rows_of(cells_of(told, "right")), data.plain.after[:, : steps.DRAWN_NUMBERS], atol=1e-4
    )
    assert f"It is “{maths.MOVES}”" in said(told) and states(said(told), f"{data.plain.in_place:.2f}")
    assert lines(told) == {"the same numbers": 6, "other numbers": 0}
    same = page(state={"predict:permutation.first": maths.STAYS}, order="0_1_2_3_4_5")
    assert "Right." in said(same)


@pytest.mark.slow
def test_rows_move_along_change_with_positions_and_the_mean_stays():
    """C038."""
    data = exhibit.compute(Params())
    ids = default().open("bert-mini").tokenizer.encode("The dog saw the man.").ids
    assert data.order == (0, 4, 2, 3, 1, 5) and len(data.pieces) == len(ids)
    np.testing.assert_allclose(data.plain.after, data.plain.before[list(data.order)], atol=1e-12)
    assert data.plain.in_place > 1 and data.all_layers < 1e-4
    before, after = data.patterns
    np.testing.assert_allclose(after, before[:, list(data.order)][:, :, list(data.order)], atol=1e-12)
    why = page(step="2")
    assert states(said(why), "6 layers", "32-bit", tiny(data.all_layers))
    placed = page(step="3")
    assert lines(placed) == {"the same numbers": 0, "other numbers": 6}
    far = np.linalg.norm(data.placed.after - data.placed.before[list(data.order)], axis=1) / np.linalg.norm(
        data.placed.before[list(data.order)], axis=1
    )
    assert states(said(placed), percent_of_change(float(far.max())), percent_of_change(float(far.mean())))
    mean = page(step="4")
    assert (
        "mean is invariant" in said(mean)
        and data.plain.pooled_largest < 1e-12
        and lines(mean) == {SAME: 7, OTHER: 0}
    )
    np.testing.assert_allclose(
        rows_of(cells_of(mean, "right"))[-1], data.plain.after.mean(0)[: steps.DRAWN_NUMBERS], atol=1e-4
    )
    with_places = page(step="4", places="1")
    assert (
        f"up to {tiny(float(np.abs(data.placed.before.mean(0) - data.placed.after.mean(0)).max()))}"
        in said(with_places)
    )
    assert "not invariant" in said(with_places)


@pytest.mark.slow
def test_both_homework_questions_are_answered_with_numbers():
    """C039."""
    data = exhibit.compute(Params())
    first = page(state={"predict:permutation.first": maths.MOVES})
    assert "equivariant, not invariant" in said(first) and states(said(first), tiny(data.plain.largest))
    twice = page(step="5", state={"predict:permutation.set": steps.SET_CHANGES})
    assert "Right." in said(twice) and states(
        said(twice), "“dog”", "6 original rows", percent_of_change(float(data.repetition.change[:6].max()))
    )
    assert lines(twice) == {"the same numbers": 0, "other numbers": 7}
    every = page(step="5", twice="6", state={"predict:permutation.set": steps.SET_CHANGES})
    assert f"It is “{steps.SET_STAYS}”" in said(every) and lines(every) == {
        "the same numbers": 12,
        "other numbers": 0,
    }
    assert data.counted < 1e-12


@pytest.mark.slow
def test_under_a_mask_rows_with_the_same_past_stay():
    covered = page(step="6")
    assert not re.search(r"\d of \d rows", said(covered))
    test = page(step="6", state={"predict:permutation.mask": "2"})
    data = exhibit.compute(Params())
    assert (
        data.causal.unchanged.tolist()
        == maths.same_past(data.pieces, data.order)
        == [True, False, False, False, False, True]
    )
    assert "Right." in said(test) and states(said(test), "2 of 6 rows", "“the”", "“.”")
    test.button(key="permutation.Reverse").click().run()
    assert "Right." in said(test) and not states(said(test), "2 of 6 rows")
    assert states(said(test), "1 of 6 rows") or states(said(test), "0 of 6 rows")
    last = page(step="6", order="1_0_2_3_4_5", state={"predict:permutation.mask": "2"})
    assert "It is “4”" in said(last)


@pytest.mark.slow
def test_the_order_is_changed_by_touch_and_by_buttons_and_stands_in_the_link():
    test = page(step="3")
    test.button(key="permutation.As written").click().run()
    assert (
        states(said(test), "6 of 6 rows")
        and str(test.query_params["permutation.order"]).strip("[]'") == "0_1_2_3_4_5"
    )
    test.session_state["permutation.touch"] = 2
    test.run()
    test.button(key="permutation.draw.again").click().run()
    assert (
        "permutation.order" not in test.query_params
        and str(test.query_params["permutation.draw"]).strip("[]'") == "1"
    )
    assert sorted(steps_order := np.random.default_rng(1).permutation(6).tolist()) == list(
        range(6)
    ) and not states(said(test), "6 of 6 rows"), steps_order
    test.text_input[0].set_value("She has a white car.").run()
    assert not test.exception and "permutation.draw" not in test.query_params


def test_a_touched_word_moves_to_the_front(monkeypatch):
    written: dict[str, object] = {}
    monkeypatch.setattr(order.state, "write", lambda **values: written.update(values))
    monkeypatch.setattr(order.st, "session_state", held := {"k": 2})
    order.touch("k", (0, 2, 1))
    assert str(written["permutation.order"]) == "0_1_2" and held["k"] is None


@pytest.mark.parametrize("text", [" ", "dog", "word " * 40, "<b>$x$ ![a](b)"])
def test_any_sentence_can_be_typed(text):
    test = page(text=text, step="3")
    assert not test.exception and test.text_input
    assert bool(test.get("vega_lite_chart")) == (text == "<b>$x$ ![a](b)" and "draws up to" not in said(test))


def test_the_proof_stands_below_the_equation_and_the_lines_make_the_same_numbers():
    test = page("permutation.equation", step="5", state={"predict:permutation.set": steps.SET_CHANGES})
    assert not test.exception and any("P S P" in each.value for each in test.latex)
    params = Params("A rose is a rose.", (3, 4, 2, 0, 1, 5))
    data, names = exhibit.compute(params), {}
    exec(fill_in(exhibit.EXHIBIT.text.steps[0].code, {}, params, data), names)
    np.testing.assert_allclose(names["plain"].after, data.plain.after)
    np.testing.assert_allclose(names["placed"].change, data.placed.change)
    assert data.plain.unchanged.all()


def test_figures_as_data():
    with pytest.raises(ValueError, match="1 words for 2 rows"):
        reordered(np.eye(2), np.eye(2), ["a"], (0, 1), np.zeros(2), unchanged=(True, True), titles=("", ""))
    made = reordered(
        np.eye(2),
        np.eye(3)[:, :2],
        ["<b>", "b"],
        (0, 1, 0),
        np.array([0, 0.5, 0]),
        unchanged=(True, False, True),
        titles=("p", "q"),
    )
    drawing = made.to_dict()
    left, right, paths = cells_of(drawing, "left"), cells_of(drawing, "right"), drawn_rows(drawing, "line")
    assert [cell["word"] for cell in right][::2] == ["<b>", "b", "<b>"] and len(
        {cell["y"] for cell in left}
    ) == 2
    expected = json.dumps(["<b>\u20020%", "b\u200250%", "<b>\u20020%"])
    assert side(drawing, "right")["encoding"]["y"]["axis"]["labelExpr"].startswith(expected)
    ends = {line: [point["y"] for point in paths if point["line"] == line] for line in range(3)}
    assert (
        ends[2][0] == left[0]["y"]
        and ends[2][-1] == right[-1]["y"]
        and [point["numbers"] for point in paths][::13] == [SAME, OTHER, SAME]
    )
    with_mean = reordered(
        np.eye(2),
        np.eye(2),
        ["a", "b"],
        (0, 1),
        np.zeros(2),
        unchanged=(True, True),
        titles=("p", "q"),
        covered=True,
        means=(np.ones(2), np.ones(2), 0.5, False),
    ).to_dict()
    assert (
        len(cells_of(with_mean, "left")) == 6
        and cells_of(with_mean, "right") == []
        and "50%" not in json.dumps(with_mean)
    )
    assert exhibit.thumbnail().count("<path") == 7
