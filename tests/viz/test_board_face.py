"""The blackboard's Python side: what is sent is true, covered grids send no number, what comes back is judged."""

from __future__ import annotations

import math

import numpy as np
import pytest
import streamlit as st

from viz.instruments.board.board import (
    MOST,
    EditedCell,
    Grid,
    Sign,
    board_packet,
    chosen_convention,
    chosen_word,
    edited_cell,
)


def test_a_packet_holds_the_numbers_and_refuses_names_that_do_not_fit():
    values = np.array([[1.0, -2.5, 1 / 3]])
    head = board_packet(
        [
            [
                Grid("W_Q", values, "1 × 3", columns=["a", " b", "c"], edit=True),
                Sign("→", "softmax"),
                [Grid("A", values, "", scale="weights")],
            ]
        ]
    ).header
    first, sign, stack = head["lines"][0]
    assert (
        first["values"] == [[1.0, -2.5, 0.333333]] and first["columns"] == ["a", "·b", "c"] and first["edit"]
    )
    assert sign == {"sign": "→", "says": "softmax"} and stack["stack"][0]["scale"] == "weights"
    with pytest.raises(ValueError, match="2 names for 3 columns"):
        Grid("X", values, "", columns=["a", "b"]).as_json()
    with pytest.raises(ValueError, match="1 axes"):
        Grid("X", np.ones(3), "").as_json()


def test_a_covered_grid_sends_its_size_alone():
    sent = Grid("S", np.array([[0.123456]]), "1 × 1", explanations=[["0.123456"]], covered=True).as_json()
    assert sent["size"] == [1, 1] and "0.123456" not in str(sent)


@pytest.mark.parametrize(
    ("sent", "understood"),
    [
        ({"grid": "W_Q", "at": [1, 2], "value": 2}, EditedCell("W_Q", 1, 2, 2.0)),
        ({"grid": "W_Q", "at": [1, 2], "value": 99}, EditedCell("W_Q", 1, 2, MOST)),
        ({"grid": "W_Q", "at": [1, -2], "value": 2}, None),
        ({"grid": 3, "at": [1, 2], "value": 2}, None),
        ({"grid": "W_Q", "at": [1], "value": 2}, None),
        ({"grid": "W_Q", "at": [0, 0], "value": math.nan}, None),
        ({"grid": "W_Q", "at": [0, 0], "value": "2"}, None),
        ("x", None),
        (None, None),
    ],
)
def test_what_the_browser_says_is_judged(monkeypatch, sent, understood):
    monkeypatch.setattr(st, "session_state", {"b": {"edit": sent, "word": sent, "turn": sent}})
    assert edited_cell("b") == understood and chosen_word("b", 3) is None and chosen_convention("b") is None


def test_a_word_and_a_turn_are_understood(monkeypatch):
    monkeypatch.setattr(st, "session_state", {"b": {"word": 2, "turn": "rows"}})
    assert (chosen_word("b", 3), chosen_word("b", 2), chosen_convention("b")) == (2, None, "rows")
