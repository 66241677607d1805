"""The plane before it reaches the browser: what is sent, what is refused, and a move that comes back."""

from __future__ import annotations

import pytest
import streamlit as st

from viz.instruments.plane.plane import Point, Score, base, moved_points, plane_packet

POINTS = [Point("q", (1, 0), "query"), Point("<b>", (0, 1)), Point("k", (1, 1), movable=False)]


def test_names_places_and_scores_travel() -> None:
    header = plane_packet(
        POINTS,
        values=[(1, 0), (0, 1)],
        scores=[Score("dot"), Score("general", w=((1, 0), (0, 1)))],
        drawn_score=1,
    ).header
    assert [point["name"] for point in header["points"]] == ["q", "<b>", "k"] and header["points"][2][
        "movable"
    ] is False
    assert (
        header["values"] == [[1, 0], [0, 1]]
        and header["scores"][1]["w"] == ((1, 0), (0, 1))
        and header["task"] == "attend"
    )


@pytest.mark.parametrize(
    ("points", "options", "words"),
    [
        (POINTS[1:], {}, "one query"),
        (POINTS[:1], {}, "at least one key"),
        (POINTS, {"values": [(0, 0)]}, "1 values for 2 keys"),
        (POINTS, {"scores": [Score("worst")]}, "score 'worst'; there are dot"),
        (POINTS, {"drawn_score": 1}, "score 1 of 1"),
        (POINTS, {"plus": [7]}, "count 3 points"),
    ],
)
def test_what_does_not_fit_is_refused(points, options, words) -> None:
    with pytest.raises(ValueError, match=words):
        plane_packet(points, **options)


def test_the_parameters_of_a_score_are_the_arguments_of_the_look_up() -> None:
    assert Score("cosine", 3, label="x").arguments() == {"rule": "cosine", "sharpness": 3}
    assert Score("linear", q=(1, 2), k=(3, 4)).arguments() == {
        "rule": "linear",
        "sharpness": 1.0,
        "q": (1, 2),
        "k": (3, 4),
    }


@pytest.mark.parametrize(
    ("points", "found"),
    [
        ([[0.5, 9], [0, 0], [1, 1]], [(0.5, 2), (0, 0), (1, 1)]),
        ([[0, 0]], None),
        ([[0, 0], [0, 0], [0, float("nan")]], None),
        ("x", None),
        ([[0, 0], [0, 0], ["1", 0]], None),
        (None, None),
    ],
)
def test_a_move_from_a_browser_is_checked(monkeypatch, points, found) -> None:
    monkeypatch.setattr(
        st,
        "session_state",
        {"p": {"moved": {"id": "1", "base": base(POINTS, False), "points": points, "values": []}}},
    )
    assert moved_points("p", POINTS) == (None if found is None else (found, []))
    assert moved_points("p", POINTS[:2]) is None, "a move of other points"
    assert moved_points("other", POINTS) is None
