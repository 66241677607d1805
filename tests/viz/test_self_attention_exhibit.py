"""The exhibit on self-attention without a browser: grids, questions, both conventions, as printed, examples, the link."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from exhibit_pages import drawn, said, said_and_set
from packets import opened
from shown_values import states
from streamlit.testing.v1 import AppTest

from viz.charts.curves import number
from viz.course.self_attention.self_attention import boards, exhibit, folds, link
from viz.course.shared import self_attention
from viz.instruments.board.board import EditedCell
from viz.labels import percent

FOLDS = (
    "self_attention.equation",
    "self_attention.looking",
    "Self-attention.documents",
    "self_attention.table",
    "self_attention.take",
)
REACHES = "predict:self_attention.reaches"
KNOWN = {"predict:self_attention.count": "36", "predict:self_attention.which": "eating"}


def page(*folded: str, state: dict[str, object] | None = None, **given: str) -> AppTest:
    named = {
        name if name in ("text", "convention") else f"self_attention.{name}": value
        for name, value in given.items()
    }
    return drawn(
        "self_attention",
        named,
        {f"fold:{name}": True for name in folded} | (KNOWN if state is None else state),
        guarded=True,
    )


def board(test: AppTest) -> dict[str, Any]:
    return next(
        head
        for e in test.get("bidi_component")
        if e.proto.bytes and "lines" in (head := opened(e.proto.bytes)[0])
    )


def grids(test: AppTest) -> dict[str, Any]:
    items = [part for line in board(test)["lines"] for item in line for part in item.get("unit", [item])]
    return {grid["name"]: grid for item in items for grid in item.get("stack", [item]) if "name" in grid}


def values(grid: dict[str, Any]) -> np.ndarray:
    return np.array(grid["values"])


def test_the_page_opens_with_a_question_that_counts_the_scores():
    test = page(state={})
    assert not test.exception and test.title[0].value == "Self-attention"
    assert (
        list(grids(test)) == ["X", "Z"]
        and grids(test)["Z"]["covered"]
        and "values" not in grids(test)["Z"]
        and "36" not in said(test)
    )
    told = page(state={"predict:self_attention.count": "30"})
    assert (
        states(said(told), "said “30”", "is “36”")
        and grids(told)["S"]["size"] == [6, 6]
        and "values" not in grids(told)["S"]
    )
    other = page(n="4", state={"predict:self_attention.count": "16"})
    assert "Right." in said(other) and "4 · 4 = 16" in said(other)


def test_every_matrix_stands_on_the_board_with_its_shape_and_r_differs_from_p():
    """C024."""
    found = exhibit.compute(exhibit.Params(d=5, p=2, r=6, n=4)).attention
    seen: dict[str, Any] = {}
    for step in ("3", "4", "5"):
        seen |= grids(
            page(
                step=step,
                d="5",
                p="2",
                r="6",
                n="4",
                state={"predict:self_attention.which": link_best(found)},
            )
        )
    shapes = {
        "X": "d × n = 5 × 4",
        "W_Q": "d × p = 5 × 2",
        "W_V": "d × r = 5 × 6",
        "Q": "p × n = 2 × 4",
        "K": "p × n = 2 × 4",
        "V": "r × n = 6 × 4",
        "S": "n × n = 4 × 4",
        "A": "n × n = 4 × 4",
        "Z": "r × n = 6 × 4",
    }
    assert {name: seen[name]["shape"] for name in shapes} == shapes
    right = {
        "X": found.x.T,
        "W_K": found.w_k,
        "Q": found.q.T,
        "K": found.k.T,
        "V": found.v.T,
        "S": found.scores,
        "A": found.weights,
        "Z": found.z.T,
    }
    for name, numbers in right.items():
        np.testing.assert_allclose(values(seen[name]), numbers, atol=1e-6, err_msg=name)
    theirs = F.scaled_dot_product_attention(
        *(torch.from_numpy(part.astype(np.float32))[None] for part in (found.q, found.k, found.v))
    )[0].numpy()
    np.testing.assert_allclose(values(seen["Z"]).T, theirs, atol=2e-6)
    assert all(["column", 3] in seen[name]["marked"] for name in "XQKVZ") and all(
        ["row", 3] in seen[name]["marked"] for name in "SA"
    )


def link_best(found: self_attention.Attended) -> str:
    return ("She", "is", "eating", "a", "green", "apple")[int(found.dots[-1].argmax())]


def test_turning_the_convention_turns_shapes_and_no_number():
    """C025."""
    for step in ("3", "5"):
        columns, rows = (grids(page(step=step, convention=convention)) for convention in ("columns", "rows"))
        assert set(columns) == set(rows)
        for name, grid in columns.items():
            turned = name in "XQKVZ"
            np.testing.assert_array_equal(
                values(grid).T if turned else values(grid), values(rows[name]), err_msg=name
            )
            assert (grid["shape"] != rows[name]["shape"]) == turned
            texts = np.array(grid["explanations"], dtype=object)
            assert (texts.T if turned else texts).tolist() == rows[name]["explanations"]
    assert "Q Kᵀ" in str(board(page(step="4", convention="rows"))["lines"])


def test_the_arithmetic_of_a_cell_adds_up():
    """Every text names the factors on the board; evaluated, its products give the cell."""
    test = page(step="4")
    found = exhibit.compute(exhibit.Params()).attention
    text = grids(test)["S"]["explanations"][5][2]
    sum_ = text.split(" = ")[1].replace("·", "*").replace("−", "-")
    assert eval(sum_) == found.dots[5, 2] and text.endswith(number(found.scores[5, 2]))
    text = grids(test)["Q"]["explanations"][2][5]
    assert eval(text.split(": ")[-1].split(" = ")[0].replace("·", "*").replace("−", "-")) == found.q[5, 2]
    text = grids(page(step="5"))["Z"]["explanations"][1][5]
    assert eval(text.split(": ")[-1].split(" = ")[0].replace("·", "*").replace("−", "-")) == pytest.approx(
        found.z[5, 1], abs=5e-4
    )


def test_scores_are_covered_until_the_best_key_is_guessed_and_the_answer_is_the_runs_own():
    before = page("self_attention.table", "self_attention.equation", step="4", state={})
    assert (
        "values" not in grids(before)["S"] and "values" not in grids(before)["A"] and "%" not in said(before)
    )
    assert "eating" in str(before.get("button_group")[1].options) and "Right." not in said(before)
    after = page(step="4")
    found = exhibit.compute(exhibit.Params()).attention
    assert "Right." in said(after) and states(said(after), percent(found.weights[5, 2]), "1.00")
    moved = exhibit.Params(set="K00:9_K10:-9")
    best = link_best(exhibit.compute(moved).attention)
    assert best != "eating" and f"It is “{best}”." in said(page(step="4", set="K00:9_K10:-9"))


def test_as_printed_the_columns_do_not_sum_to_one():
    """C026."""
    found = exhibit.compute(exhibit.Params()).attention
    seen, sums = grids(before := page(step="5", printed="1")), found.weights.sum(0)
    assert (
        "values" not in seen["Z_printed"]
        and seen["A"]["sums"] == ["row"]
        and number(sums[0]) not in said(before)
    )
    test = page(step="5", printed="1", state={REACHES: "1"})
    seen = grids(test)
    assert states(said(test), "said “1”", f"is “{number(sums[5])}”")
    assert f"It is “{number(sums[2])}”." in said(page(step="5", printed="1", at="2", state={REACHES: "1"}))
    assert seen["A"]["sums"] == ["row", "column"] and seen["A"]["marked"] == [["column", 5]]
    np.testing.assert_allclose(values(seen["Z_printed"]), found.v.T @ found.weights, atol=1e-6)
    np.testing.assert_allclose(
        values(seen["Z_printed − Z"]), found.v.T @ found.weights - found.z.T, atol=2e-6
    )
    assert np.abs(sums - 1).max() > 0.2 and ", ".join(number(s) for s in sums) in said(test)
    assert states(said(test), number(np.abs(found.v.T @ (found.weights - found.weights.T)).max()))
    assert "Z_printed" not in grids(page(step="5")) and "attention of PyTorch" in said_and_set(
        page("self_attention.equation", step="5")
    )


def test_i_am_a_student():
    """C028, and C030 by hand."""
    test = page("self_attention.equation", step="6")
    assert values(grids(test)["a"]).round(12).tolist() == [[0.7, 0.2, 0.1]] and grids(test)["s"][
        "columns"
    ] == ["I", "am", "a"]
    assert "v(student) = 0.7 v(I) + 0.2 v(am) + 0.1 v(a) = (" in said(test)
    assert (
        r"v_{\text{student}} = 0.7\, v_{\text{I}} + 0.2\, v_{\text{am}} + 0.1\, v_{\text{a}}"
        in said_and_set(test).replace("\\\\", "\\")
    )
    v = values(grids(test)["V"])
    np.testing.assert_allclose(values(grids(test)["z"])[:, 0], v @ [0.7, 0.2, 0.1], atol=1e-6)
    with_itself = page(step="6", own="1")
    np.testing.assert_allclose(values(grids(with_itself)["a"])[0], np.array([7, 2, 1, 1]) / 11, atol=1e-6)
    assert "v(student)." not in said(with_itself) and "v(student) = 0.636 v(I)" in said(with_itself)


def test_she_is_eating_a_green_apple_and_moved_scores_change_the_mix():
    """C029."""
    test = page(step="6", example="apple")
    assert values(grids(test)["a"]).round(12).tolist() == [[0.1, 0.1, 0.5, 0.1, 0.2]]
    assert "v(apple) = 0.1 v(She) + 0.1 v(is) + 0.5 v(eating) + 0.1 v(a) + 0.2 v(green) = (" in said(test)
    moved = page(step="6", example="apple", scores="0_0_-5_0_3_0")
    shares = self_attention.shares(np.array([0.0, 0, -5, 0, 3]))
    np.testing.assert_allclose(values(grids(moved)["a"])[0], shares, atol=1e-6)
    np.testing.assert_allclose(values(grids(moved)["z"])[:, 0], values(grids(moved)["V"]) @ shares, atol=1e-5)


def test_the_word_attends_to_itself_or_not():
    """C030."""
    test = page(step="5", itself="0")
    weights = values(grids(test)["A"])
    assert (
        (np.diag(weights) == 0).all()
        and np.array_equal(grids(test)["A"]["shut"], np.eye(6))
        and (np.diag(values(grids(page(step="5"))["A"])) > 0).all()
    )
    assert [states(box.label, "Eq. (16)") for box in test.toggle] == [True, False]
    alone = page(step="5", itself="0", text="Hello")
    assert not alone.exception and values(grids(alone)["Z"]).any() == 0
    assert "no key left" in said(page(step="4", itself="0", text="Hello"))


def test_what_is_touched_on_the_board_goes_into_the_link(monkeypatch):
    written: dict[str, object] = {}
    monkeypatch.setattr(boards.state, "write", lambda **values: written.update(values))
    monkeypatch.setattr(
        boards.state, "read", lambda name, default, parse=str: "Q01:2" if name.endswith("set") else default
    )
    monkeypatch.setattr(boards, "edited_cell", lambda key: EditedCell("W_V", 3, 1, -2.0))
    boards._edit()
    assert (
        written.pop("self_attention.set") == "Q01:2_V31:-2"
        and exhibit.compute(exhibit.Params(set="V31:-2")).attention.w_v[3, 1] == -2
    )
    monkeypatch.setattr(boards, "edited_cell", lambda key: EditedCell("s", 0, 1, -9.0))
    boards._edit()
    assert link.scores(str(written.pop("self_attention.scores"))) == pytest.approx(
        (np.log(7), -5, 0, 0), abs=1e-4
    )
    monkeypatch.setattr(boards, "chosen_word", lambda key, n: 3)
    monkeypatch.setattr(boards, "chosen_convention", lambda key: "rows")
    boards._choose(6)
    boards._turn()
    assert written == {"self_attention.at": 3, "convention": "rows"}


def test_the_draw_is_seen_and_repeats_the_same_numbers():
    test = page(step="2")
    assert [box.value for box in test.number_input] == [exhibit.Params().lot]
    first = values(grids(test)["X"])
    test.button(key="self_attention.draw.again").click().run()
    assert (values(grids(test)["X"]) != first).any()
    again = page(step="2", draw=str(exhibit.Params().lot))
    np.testing.assert_array_equal(values(grids(again)["X"]), first)


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    "text", ["", "Hello", "word " * 600, "<b>x</b> ![i](http://a) $1$ \u202e", "the cat and the cat"]
)
def test_any_sentence(text):
    for step in ("1", "4"):
        test = page(step=step, text=text, n="8")
        assert not test.exception
        assert (
            "no word" in said_and_set(test) + "".join(box.value for box in (*test.error, *test.warning))
        ) == (text == "")
    if text.startswith("the"):
        seen = values(grids(page(step="3", text=text))["Q"])
        np.testing.assert_array_equal(seen[:, 0], seen[:, 3])


@pytest.mark.slow
def test_every_fold_opens_with_the_numbers_of_its_step():
    for step in range(1, 7):
        test = page(*FOLDS, f"self_attention.change.{step - 1}", step=str(step))
        assert not test.exception and len(test.dataframe) == 1 and len(test.code) >= 2, step
        assert len(test.text_input) == len(test.number_input) == 1 and len(test.slider) == 4, (
            "each control once, in its step or in the fold"
        )
    documents = said(page(FOLDS[2], step="5"))
    assert all(f"**{id}**" in documents for id in ("E1", "E5", "E13", "E14", "E17"))


def test_with_one_matrix_for_both_the_scores_are_a_kernel():
    test = page(step="4", tied="1", state=KNOWN | {"predict:self_attention.which": "apple"})
    s = values(grids(test)["S"])
    np.testing.assert_array_equal(s, s.T)
    assert "S is symmetric" in said(test) and "kernel:" not in said(page(step="4"))


def test_the_lines_to_take_away_make_the_same_numbers(capsys):
    params = exhibit.Params(text="the cat and the dog", n=5, d=3, p=4, r=2, lot=8, set="K00:2", itself=False)
    names: dict[str, Any] = {}
    exec(folds.code(params), names)
    np.testing.assert_array_equal(names["found"].z, exhibit.compute(params).attention.z)
    assert float(capsys.readouterr().out.split()[-1]) < 1e-12
