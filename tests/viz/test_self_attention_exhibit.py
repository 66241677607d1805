"""The exhibit on self-attention: grids, questions, both conventions, as printed, examples, the link."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from exhibit_pages import StepPages, instruments, said, said_and_set
from shown_values import states

from viz.charts.curves import number
from viz.course.self_attention.self_attention import boards, exhibit, folds, link
from viz.course.shared import self_attention
from viz.instruments.board.board import EditedCell
from viz.labels import percent

GUESS = {"count": "36", "which": "eating", "reaches": "1"}
ASKED = StepPages("self_attention", shared=("text", "convention"))


def page(step: int, *folds: str, **link: object):
    """Draw a step with its question answered."""
    return ASKED(step, *folds, guess=GUESS, **link)


def grids(test) -> dict[str, Any]:
    (board,) = instruments(test, "lines")
    items = [part for line in board["lines"] for item in line for part in item.get("unit", [item])]
    return {grid["name"]: grid for item in items for grid in item.get("stack", [item]) if "name" in grid}


def values(test, name: str) -> np.ndarray:
    return np.array(grids(test)[name]["values"])


@pytest.fixture(scope="module")
def found():
    return exhibit.compute(exhibit.Params()).attention


def best(found: self_attention.Attended) -> str:
    return ("She", "is", "eating", "a", "green", "apple")[int(found.dots[-1].argmax())]


def test_the_page_opens_with_a_question_that_counts_the_scores():
    before, other = ASKED(), ASKED(n=4, guess={"count": "16"})
    assert list(grids(before)) == ["X", "Z"] and ASKED.answer(before, "count") == "36"
    assert grids(before)["Z"]["covered"] and "values" not in grids(before)["Z"]
    scores = grids(page(1))["S"]
    assert scores["size"] == [6, 6] and "values" not in scores
    assert ASKED.answer(other, "count") == "16" and "4 · 4 = 16" in said(other)


def test_every_matrix_stands_on_the_board_with_its_shape_and_r_differs_from_p():
    """C024."""
    sizes = {"d": 5, "p": 2, "r": 6, "n": 4}
    found = exhibit.compute(exhibit.Params(**sizes)).attention
    seen: dict[str, Any] = {}
    for step in (3, 4, 5):
        seen |= grids(ASKED(step, guess={"which": best(found)}, **sizes))
    shapes = {"X": "d × n = 5 × 4", "W_Q": "d × p = 5 × 2", "W_V": "d × r = 5 × 6"}
    shapes |= {"Q": "p × n = 2 × 4", "K": "p × n = 2 × 4", "V": "r × n = 6 × 4"}
    shapes |= {"S": "n × n = 4 × 4", "A": "n × n = 4 × 4", "Z": "r × n = 6 × 4"}
    assert {name: seen[name]["shape"] for name in shapes} == shapes
    turned = {"X": found.x, "Q": found.q, "K": found.k, "V": found.v, "Z": found.z}
    right = {name: matrix.T for name, matrix in turned.items()}
    right |= {"W_K": found.w_k, "S": found.scores, "A": found.weights}
    for name, numbers in right.items():
        np.testing.assert_allclose(seen[name]["values"], numbers, atol=1e-6, err_msg=name)
        marked = ["column" if name in turned else "row", 3]
        assert name == "W_K" or marked in seen[name]["marked"]
    q, k, v = (torch.from_numpy(part.astype(np.float32))[None] for part in (found.q, found.k, found.v))
    theirs = F.scaled_dot_product_attention(q, k, v)[0].numpy()
    np.testing.assert_allclose(np.transpose(seen["Z"]["values"]), theirs, atol=2e-6)


@pytest.mark.parametrize("step", [3, 5])
def test_turning_the_convention_turns_shapes_and_no_number(step):
    """C025."""
    columns, rows = (grids(page(step, convention=convention)) for convention in ("columns", "rows"))
    assert set(columns) == set(rows)
    for name, grid in columns.items():
        turned, other = name in "XQKVZ", rows[name]
        for field in ("values", "explanations"):
            cells = np.array(grid[field], dtype=object)
            assert (cells.T if turned else cells).tolist() == other[field]
        assert (grid["shape"] != other["shape"]) == turned


def test_the_arithmetic_of_a_cell_adds_up(found):
    """Every text names the factors on the board; evaluated, its products give the cell."""

    def result(products: str) -> float:
        return eval(products.split(": ")[-1].replace("·", "*").replace("−", "-"))

    scores, outputs = grids(page(4)), grids(page(5))
    text = scores["S"]["explanations"][5][2]
    assert result(text.split(" = ")[1]) == found.dots[5, 2] and text.endswith(number(found.scores[5, 2]))
    assert result(scores["Q"]["explanations"][2][5].split(" = ")[0]) == found.q[5, 2]
    products = outputs["Z"]["explanations"][1][5].split(" = ")[0]
    assert result(products) == pytest.approx(found.z[5, 1], abs=5e-4)


def test_scores_are_covered_until_the_best_key_is_guessed_and_the_answer_is_the_runs_own(found):
    before = ASKED(4)
    assert all("values" not in grids(before)[name] for name in "SA")
    assert ASKED.answer(before, "which") == best(found) == "eating"
    assert states(said(page(4)), percent(found.weights[5, 2]), "1.00")
    moved = "K00:9_K10:-9"
    other = best(exhibit.compute(exhibit.Params(set=moved)).attention)
    assert ASKED.answer(ASKED(4, set=moved), "which") == other != "eating"


def test_as_printed_the_columns_do_not_sum_to_one(found):
    """C026."""
    before, sums = ASKED(5, printed=1), found.weights.sum(0)
    assert "values" not in grids(before)["Z_printed"] and grids(before)["A"]["sums"] == ["row"]
    test = page(5, printed=1)
    for at in (2, 5):
        assert ASKED.answer(page(5, printed=1, at=at), "reaches") == number(sums[at])
    marks = grids(test)["A"]
    assert marks["sums"] == ["row", "column"] and marks["marked"] == [["column", 5]]
    printed = found.v.T @ found.weights
    np.testing.assert_allclose(values(test, "Z_printed"), printed, atol=1e-6)
    np.testing.assert_allclose(values(test, "Z_printed − Z"), printed - found.z.T, atol=2e-6)
    assert np.abs(sums - 1).max() > 0.2 and ", ".join(number(s) for s in sums) in said(test)
    assert states(said(test), number(np.abs(printed - found.v.T @ found.weights.T).max()))


def test_i_am_a_student():
    """C028, and C030 by hand."""
    test, with_itself = page(6, "equation"), page(6, own=1)
    assert values(test, "a").round(12).tolist() == [[0.7, 0.2, 0.1]]
    assert grids(test)["s"]["columns"] == ["I", "am", "a"]
    assert "v(student) = 0.7 v(I) + 0.2 v(am) + 0.1 v(a) = (" in said(test)
    equation = r"v_{\text{student}} = 0.7\, v_{\text{I}} + 0.2\, v_{\text{am}} + 0.1\, v_{\text{a}}"
    assert equation in said_and_set(test).replace("\\\\", "\\")
    np.testing.assert_allclose(values(test, "z")[:, 0], values(test, "V") @ [0.7, 0.2, 0.1], atol=1e-6)
    np.testing.assert_allclose(values(with_itself, "a")[0], np.array([7, 2, 1, 1]) / 11, atol=1e-6)
    assert "v(student) = 0.636 v(I)" in said(with_itself)


def test_she_is_eating_a_green_apple_and_moved_scores_change_the_mix():
    """C029."""
    test = page(6, example="apple")
    assert values(test, "a").round(12).tolist() == [[0.1, 0.1, 0.5, 0.1, 0.2]]
    assert "v(apple) = 0.1 v(She) + 0.1 v(is) + 0.5 v(eating) + 0.1 v(a) + 0.2 v(green) = (" in said(test)
    moved = page(6, example="apple", scores="0_0_-5_0_3_0")
    shares = self_attention.shares(np.array([0.0, 0, -5, 0, 3]))
    np.testing.assert_allclose(values(moved, "a")[0], shares, atol=1e-6)
    np.testing.assert_allclose(values(moved, "z")[:, 0], values(moved, "V") @ shares, atol=1e-5)


def test_the_word_attends_to_itself_or_not():
    """C030."""
    test, alone = page(5, itself=0), page(5, itself=0, text="Hello")
    assert (np.diag(values(test, "A")) == 0).all() and (np.diag(values(page(5), "A")) > 0).all()
    assert np.array_equal(grids(test)["A"]["shut"], np.eye(6))
    assert [states(box.label, "Eq. (16)") for box in test.toggle] == [True, False]
    assert not values(alone, "Z").any() and "no key left" in said(page(4, itself=0, text="Hello"))


def test_what_is_touched_on_the_board_goes_into_the_link(monkeypatch):
    written: dict[str, object] = {}
    monkeypatch.setattr(boards.state, "write", lambda **values: written.update(values))
    monkeypatch.setattr(
        boards.state, "read", lambda name, default, parse=str: "Q01:2" if name.endswith("set") else default
    )
    monkeypatch.setattr(boards, "edited_cell", lambda key: EditedCell("W_V", 3, 1, -2.0))
    boards._edit()
    assert written.pop("self_attention.set") == "Q01:2_V31:-2"
    assert exhibit.compute(exhibit.Params(set="V31:-2")).attention.w_v[3, 1] == -2
    monkeypatch.setattr(boards, "edited_cell", lambda key: EditedCell("s", 0, 1, -9.0))
    boards._edit()
    scores = link.scores(str(written.pop("self_attention.scores")))
    assert scores == pytest.approx((np.log(7), -5, 0, 0), abs=1e-4)
    monkeypatch.setattr(boards, "chosen_word", lambda key, n: 3)
    monkeypatch.setattr(boards, "chosen_convention", lambda key: "rows")
    boards._choose(6)
    boards._turn()
    assert written == {"self_attention.at": 3, "convention": "rows"}


def test_equal_words_have_equal_queries():
    queries = values(page(3, text="the cat and the cat", n=8), "Q")
    np.testing.assert_array_equal(queries[:, 0], queries[:, 3])


def test_with_one_matrix_for_both_the_scores_are_a_kernel():
    test = ASKED(4, tied=1, guess={"which": "apple"})
    np.testing.assert_array_equal(values(test, "S"), values(test, "S").T)
    assert "S is symmetric" in said(test) and "kernel:" not in said(page(4))


def test_the_lines_to_take_away_make_the_same_numbers(capsys):
    params = exhibit.Params(text="the cat and the dog", n=5, d=3, p=4, r=2, lot=8, set="K00:2", itself=False)
    names: dict[str, Any] = {}
    exec(folds.code(params), names)
    np.testing.assert_array_equal(names["found"].z, exhibit.compute(params).attention.z)
    assert float(capsys.readouterr().out.split()[-1]) < 1e-12
