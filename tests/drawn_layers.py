"""Layers of Altair charts, found by what they draw: a test does not depend on the order in which a chart lays them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pyarrow as pa
from streamlit.testing.v1 import AppTest

Figure = AppTest | alt.TopLevelMixin | Mapping[str, Any]
Rows = list[dict[str, Any]]


def specification(figure: Figure, place: int = 0) -> tuple[dict[str, Any], dict[str, Rows]]:
    """Return the specification of a chart and its named tables; of a page, the chart in this place."""
    if isinstance(figure, AppTest):
        proto = figure.get("vega_lite_chart")[place].proto
        tables = {
            table.name: pa.ipc.open_stream(table.data.data).read_all().to_pylist() for table in proto.datasets
        }
        return json.loads(proto.spec), tables
    tree = dict(figure) if isinstance(figure, Mapping) else figure.to_dict()
    return tree, tree.get("datasets", {})


def mark_type(layer: Mapping[str, Any]) -> str:
    """Return the mark of a layer: bar, line, rect, text, rule, circle."""
    mark = layer.get("mark", "")
    return mark if isinstance(mark, str) else mark["type"]


def encoded(layer: Mapping[str, Any]) -> set[str]:
    """Return the fields that a layer encodes."""
    channels = [each for each in layer.get("encoding", {}).values() if isinstance(each, dict)]
    return {each["field"] for each in channels if "field" in each}


def find_layers(
    figure: Figure, *fields: str, mark: str = "", without: Sequence[str] = (), place: int = 0
) -> list[dict[str, Any]]:
    """List the layers that encode all `fields` and none of `without`, of one kind of mark where it is named, each with its rows as data.

    A chart of one layer is its own layer. The empty layer in which a page keeps the table of a chart is left out.
    """
    tree, tables = specification(figure, place)
    layers = [
        {**each, "encoding": {**tree.get("encoding", {}), **each.get("encoding", {})}}
        for each in tree.get("layer", [tree])
    ]
    if isinstance(figure, AppTest) and "layer" in tree:
        layers = layers[:-1]
    found = []
    for each in layers:
        data = each.get("data", tree.get("data", {}))
        rows = data.get("values", tables.get(data.get("name", ""), []))
        if {*fields} <= encoded(each) and not {*without} & encoded(each) and mark in ("", mark_type(each)):
            found.append({**each, "data": {"values": rows}})
    return found


def layer(
    figure: Figure, *fields: str, mark: str = "", without: Sequence[str] = (), place: int = 0
) -> dict[str, Any]:
    """Return the first of the layers that are so; several have to draw the same rows, so that "the layer" is well said.

    >>> chart = {"data": {"values": [{"a": 1}]}, "layer": [{"mark": "bar", "encoding": {"x": {"field": "a"}}}]}
    >>> layer(chart, "a")["data"]["values"], mark_type(layer(chart, mark="bar"))
    ([{'a': 1}], 'bar')
    """
    found = find_layers(figure, *fields, mark=mark, without=without, place=place)
    there = [(mark_type(each), sorted(encoded(each))) for each in find_layers(figure, place=place)]
    assert found, f"no {mark or 'layer'} of {fields}; there are {there}"
    assert all(each["data"] == found[0]["data"] for each in found), f"several of {fields}; there are {there}"
    return found[0]


def drawn_rows(
    figure: Figure, *fields: str, mark: str = "", without: Sequence[str] = (), place: int = 0
) -> Rows:
    """Return the rows that the layer draws."""
    return layer(figure, *fields, mark=mark, without=without, place=place)["data"]["values"]


def all_rows(figure: Figure, *fields: str, mark: str = "", place: int = 0) -> Rows:
    """List the rows of all such layers, where which of them draws a row does not matter."""
    layers = find_layers(figure, *fields, mark=mark, place=place)
    return [row for each in layers for row in each["data"]["values"]]
