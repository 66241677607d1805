"""Marks of viz.charts.marks: what is covered is not in the chart, and what is known is."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
from drawn_layers import all_rows, drawn_rows, layer

from viz import languages, number_text, theme
from viz.charts import marks
from viz.labels import percent
from viz.widgets import page_parts
from viz.workspace.find.charts import thumbnail


def test_covered_numbers_are_not_in_the_chart() -> None:
    table = pd.DataFrame({"a": [0.123, 0.987], "b": [0.456, 0.5]}, ["one", "two"])
    for mark in (marks.bars, marks.columns):
        hidden, partly = mark(table, percent, covered=True), mark(table.assign(b=np.nan), percent)
        assert [bar["label"] for bar in hidden.to_dict()["data"]["values"]] == [marks.COVER] * 4
        assert not any(digits in json.dumps(hidden.to_dict()) for digits in ("12%", "123", "987", "456"))
        bars = [(bar["group"], bar["value"], bar["label"]) for bar in partly.to_dict()["data"]["values"]]
        assert bars == [("a", 0.123, "12%"), ("b", 0, "?"), ("a", 0.987, "99%"), ("b", 0, "?")]


def test_bars_below_zero_and_highlighted_ones() -> None:
    bars = marks.bars(pd.Series({"up": 1.5, "down": -0.25}), "{:+.2f}").to_dict()
    assert [bar["label"] for bar in bars["data"]["values"]] == ["+1.50", "−0.25"]
    assert [bar["colour"] for bar in bars["data"]["values"]] == theme.CATEGORICAL[:2]
    assert bars["encoding"]["x"]["scale"]["domain"] == [-0.25, 1.5]
    own = marks.bars(pd.Series({"<b>": 1.0, "other": 0.5}), highlighted=["<b>"], end=2, level=0.5).to_dict()
    assert [bar["colour"] for bar in own["data"]["values"]] == [theme.PRIMARY, theme.SEQUENTIAL[3]]
    assert own["encoding"]["x"]["scale"]["domain"] == [0, 2] and {"value": 0.5} in [
        row for layer in own["layer"] for row in layer.get("data", {}).get("values", [])
    ]
    assert not marks.bars(pd.Series(dtype=float)).to_dict()["data"]["values"]


def test_lines_have_a_dot_at_each_number() -> None:
    table = pd.DataFrame({"loss": {1: 4.0, 4: 2.0}, "yours": {2: 3.0}})
    chart = marks.lines(table, hues=[2, 0], scales=("log2", "log"), level=1.0).to_dict()
    dots = [(dot["line"], dot["x"], dot["y"]) for dot in chart["data"]["values"]]
    assert sorted(dots) == [("loss", 1, 4.0), ("loss", 4, 2.0), ("yours", 2, 3.0)]
    colour = chart["encoding"]["color"]["scale"]
    assert colour["range"] == [theme.CATEGORICAL[2], theme.CATEGORICAL[0]]
    assert not marks.lines(pd.DataFrame({"": {}})).to_dict()["data"]["values"]


def test_covered_lines_are_axes_and_rules_alone() -> None:
    table = pd.DataFrame({"a": [12.5, 987.0], "b": [456.0, 321.0]}, [10, 1000])
    hidden = marks.lines(
        table, scales=("log", "log"), overlay=marks.rules({"n = 99": 99}), covered=True, legend=False
    )
    assert drawn_rows(hidden, mark="line") == [] and {"x": 99} in all_rows(hidden, mark="rule")
    assert not any(digits in json.dumps(hidden.to_dict()) for digits in ("12.5", "987", "456", "321"))
    edges = hidden.to_dict()["encoding"]["x"]["scale"]["domain"]
    assert edges[0] <= 10 and edges[1] >= 1000


def test_an_axis_of_shares_has_both_ends_though_every_second_label_is_left_out() -> None:
    for ends in ((0, 1), (-0.02, 1.25)):
        axis = marks.lines(pd.DataFrame({"a": [0.5]}), form=".0%", ends=ends).to_dict()["encoding"]["y"][
            "axis"
        ]
        assert axis["values"][::2] == [0, 0.5, 1]


def test_names_at_the_ends_of_lines_are_apart_and_powers_of_ten_have_names() -> None:
    table = pd.DataFrame({"one": [1.0, 1e5], "other": [2.0, 1.01e5]}, [1, 8])
    chart = marks.lines(
        table, form=number_text.decade, dashed=["other"], scales=("log2", "log"), legend=False, height=275
    )
    first, second = drawn_rows(chart, "text")
    assert [first["text"], second["text"]] == [["one"], ["other"]] and second["y"] > 2 * first["y"]
    axis = chart.to_dict()["encoding"]["y"]["axis"]
    assert axis["values"] == [10.0**power for power in range(6)] and "10,000" in axis["labelExpr"]
    assert layer(chart, mark="line")["encoding"]["strokeDash"]["scale"]["range"] == [[1, 0], [6, 4]]


def test_a_row_of_cells_is_framed_and_bars_have_colours_of_their_own() -> None:
    chart = marks.cells(pd.DataFrame([[0.1], [0.2]]), highlighted=(1, None), notes=["a", "b"])
    assert drawn_rows(chart, mark="rect", without=["value"]) == [{"place": 1}]
    assert [cell["note"] for cell in drawn_rows(chart, "value")] == ["a", "b"]
    bars = marks.bars(pd.Series([1.0, 2.0]), hues=[theme.HEADS[1], 1])
    assert [bar["colour"] for bar in drawn_rows(bars, mark="bar")] == [theme.HEADS[1], theme.CATEGORICAL[1]]


def test_cells_are_pale_dark_covered_or_without_a_number() -> None:
    table = pd.DataFrame([[0.25, np.nan], [0.75, 0.5]], ["<b>", "two"], ["a", "a"])
    chart = marks.cells(table, highlighted=(1, 0)).to_dict()
    rows = chart["data"]["values"]
    assert [(cell["place"], cell["value"], cell["label"]) for cell in rows[::2]] == [
        (0, 0.25, "25%"),
        (1, 0.75, "75%"),
    ]
    assert rows[1]["value"] is None and [cell.get("highlighted") for cell in rows] == [None, None, True, None]
    hidden = marks.cells(table, covered=True).to_dict()
    assert {(cell["value"], cell["label"]) for cell in hidden["data"]["values"]} == {(None, marks.COVER)}
    apart = marks.cells(table, None, ends=(-2, 2), key="cosine").to_dict()
    colour = layer(apart, mark="rect")["encoding"]["color"]
    assert colour["scale"]["range"] == theme.DIVERGING and colour["legend"]["title"] == "cosine"
    assert len(apart["layer"]) == 1  # no labels


def test_cells_of_names_have_colours_and_grey_is_zero_where_factors_are_equal() -> None:
    names = pd.DataFrame([["a", "b"]])
    chart = marks.cells(names, None, hues={"a": "#111111", "b": "#222222"}, key="kind", clickable=True)
    cell = layer(chart, mark="rect")
    assert cell["encoding"]["color"]["scale"]["range"] == ["#111111", "#222222"]
    assert [row["value"] for row in drawn_rows(chart, mark="rect")] == ["a", "b"]
    assert "picked" in json.dumps(chart.to_dict())
    changes = marks.cells(pd.DataFrame([[0.0, 0.00004]]), ends=(0.001, 1), logarithmic=True)
    assert [row["value"] for row in changes.to_dict()["data"]["values"]] == [0, 0.00004]
    assert sum(each["mark"].get("color") == theme.HATCH for each in changes.to_dict()["layer"]) == 1


def test_a_scatter_has_dots_in_rows_or_question_marks() -> None:
    table = pd.DataFrame({"loss": [1.5, 3.5], "row": [0, 1], "of": ["<b>", "two"], "ours": [True, False]})
    options = {"kind": "of", "hues": {"<b>": "#111111", "two": "#222222"}, "rows": ["first", "second"]}
    chart = marks.scatter(table, "loss", "row", notes=["of"], highlighted="ours", clickable="of", **options)
    dots = chart.to_dict()["data"]["values"]
    assert [(dot["x"], dot["y"], dot["kind"], dot["ring"]) for dot in dots] == [
        (1.5, 0, "<b>", True),
        (3.5, 1, "two", False),
    ]
    assert chart.to_dict()["encoding"]["y"]["scale"]["domain"] == [1.5, -0.5]
    hidden = marks.scatter(table, "loss", "row", covered=True, ends=((0, 4), None), **options)
    assert not hidden.to_dict()["data"]["values"] and "3.5" not in json.dumps(hidden.to_dict())
    assert [row["y"] for row in all_rows(hidden, mark="text")] == [0, 1]


def test_bars_of_kinds_have_a_legend_and_a_frame() -> None:
    table = pd.Series({"a": 1.0, "b": -2.0, "c": 3.0})
    chart = marks.bars(table, hues=[0, 1, 0], kinds=["x", "y", "x"], highlighted=["b"], clickable=True)
    colour = layer(chart, mark="bar")["encoding"]["color"]["scale"]
    assert (colour["domain"], colour["range"]) == (["x", "y"], theme.CATEGORICAL[:2])
    assert [bar["highlighted"] for bar in drawn_rows(chart, mark="bar")] == [False, True, False]


def test_stacked_bars_have_their_sum_at_the_end() -> None:
    table = pd.DataFrame({"a": [1.5, 0.25], "b": [3.0, 0.5]}, ["x", "y"])
    for covered in (False, True):
        chart = marks.bars(table, "{:.2f}", stacked=True, covered=covered).to_dict()
        totals = [row["label"] for layer in chart["layer"] for row in layer.get("data", {}).get("values", [])]
        assert totals == (["?", "?"] if covered else ["4.50", "0.75"]) and "yOffset" not in chart["encoding"]
        assert chart["encoding"]["x"]["scale"]["domain"] == ([0, 1] if covered else [0, 4.5])


def test_charts_write_numbers_as_the_language_does() -> None:
    values, look = pd.Series({"parameters": 12345.5}), page_parts._Look()

    def numbers_of_charts() -> tuple[Any, Any, str, Any]:
        bars, weights = marks.bars(values), thumbnail(np.eye(2), ["a", "b"], ["a", "b"])
        vega, plotly = page_parts._tree(bars, look), page_parts._tree(weights, look).to_dict()
        share = plotly["data"][0]["hovertemplate"].partition("{text}: ")[2].partition("<")[0]
        label = bars.to_dict()["data"]["values"][0]["label"]
        return vega["config"].get("locale"), plotly["layout"].get("separators"), label, share

    english = numbers_of_charts()
    with languages.using("es"):
        locale, *spanish = numbers_of_charts()
    assert locale["number"] == {
        "decimal": ".",
        "thousands": "\u202f",
        "percent": "\u202f%",
        "grouping": [3],
        "currency": ["$", ""],
    }
    assert spanish == [".\u202f", "12\u202f345.5", "%{customdata:.0f}\u202f%"]
    assert english == (None, None, "12,345.5", "%{z:.0%}") == numbers_of_charts()
