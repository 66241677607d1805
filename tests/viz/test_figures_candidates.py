"""The bars of candidates as data: lengths, labels, what was cut, the lot."""

from __future__ import annotations

import plotly.graph_objects as go
import pytest

from viz.figures.candidates import Bar, Lot, candidates


def trace(figure: go.Figure, name: str):
    return next(found for found in figure.data if found.name == name)


def texts(figure: go.Figure) -> list[str]:
    return [note.text for note in figure.layout.annotations]


def test_bars_show_what_the_choice_was_made_from():
    figure = candidates([Bar("a", 0.6, 0.6, taken=True), Bar(" b", 0.3, 0.3)], others=(7, 0.1, 0.1))
    after = trace(figure, "after")
    assert list(after.x) == [0.6, 0.3, 0.1]
    assert list(after.y) == [0, 1, 2]
    assert figure.layout.yaxis.ticktext == ("a", "·b", "7 others")
    assert figure.layout.xaxis.range == (0, 1)
    assert len(set(after.marker.color)) == 3
    assert texts(figure) == ["<b>60 %</b>", "30 %", "10 %"]
    assert {found.name for found in figure.data} == {"after"}


def test_cut_tokens_are_hatched_and_say_what_cut_them():
    bars = [Bar("a", 0.5, 0.8, taken=True), Bar("b", 0.2, 0.2), Bar("c", 0.2, 0.0, cut_by="top_k"), Bar("d", 0.05, 0.0, cut_by="top_p")]
    figure = candidates(bars, others=(9, 0.05, 0.0))
    assert list(trace(figure, "cut").x) == [0, 0, 0.2, 0.05, 0.05]
    assert trace(figure, "cut").marker.pattern.shape == "/"
    assert list(trace(figure, "before").x) == [0.5]
    assert texts(figure)[2:] == ["20 %, cut by top-k", "5.0 %, cut by top-p", "5.0 %, cut"]


def test_the_lot_points_into_the_part_of_the_taken_token():
    bars = [Bar("a", 0.6, 0.6), Bar("b", 0.4, 0.4, taken=True)]
    figure = candidates(bars, lot=Lot(0.71, 0.6, 1.0))
    taken = [shape for shape in figure.layout.shapes if (shape.x0, shape.x1) == (0.6, 1.0)]
    assert len(taken) == 1
    assert list(trace(figure, "lot").x) == [0.71]
    assert figure.layout.yaxis.ticktext[-1] == "the lot"
    assert "0.710 was drawn" in texts(figure)


@pytest.mark.parametrize("token", ["<b>bold</b>", "<a href='http://x'>x</a>", "\n", "", "\ud800", "x" * 99, "&amp;"])
def test_tokens_are_never_markup_and_the_figure_survives_json(token):
    figure = candidates([Bar(token, 1.0, 1.0, taken=True)])
    label = figure.layout.yaxis.ticktext[0]
    assert "<" not in label
    assert label
    figure.to_json()
