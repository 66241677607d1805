"""The data of a chart as one table: for those who cannot see it, and for "Show data" of its tool bar.

A chart is drawn in layers, each from rows of its own, with places and colours in them. The table has the fields of its
tooltips; for a chart without tooltips those along its axes, or else its written labels.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pandas as pd

PLACES = ("x", "y", "xOffset", "yOffset")
"""Channels that all layers may share; the layer of the table has no part in their scales."""
TABLE, ROWS = "as a table", "rows"
"""Names of data in a chart that is sent: its table, and the rows that layers without their own share."""
_NAME_BY_NUMBER = re.compile(r"(\[.*\])\[datum\.(\w+)\]")
"""An expression of Vega that takes one of some names by its number."""
Row = dict[str, Any]


def attach_table(tree: dict[str, Any]) -> dict[str, Any]:
    """Return the same chart with its table as the first of its named data; a layer that draws nothing asks for it, or Vega would drop it."""
    silent = {
        "data": {"name": TABLE},
        "transform": [{"filter": "false"}],
        "mark": {"type": "line"},
        "encoding": {name: {"value": 0} for name in tree.get("encoding", {}) if name in PLACES},
    }
    named = {TABLE: extract_table(tree)} | tree.get("datasets", {})
    shared = tree.get("data", {})
    if "values" in shared:
        named[ROWS], shared = pd.DataFrame(shared["values"]), {"name": ROWS}
    return (
        tree | {"layer": [*tree["layer"], silent], "datasets": named} | ({"data": shared} if shared else {})
    )


def extract_table(tree: dict[str, Any]) -> pd.DataFrame:
    """Return the data of the chart `tree`, without repeated rows.

    >>> bar = {"mark": "bar", "encoding": {"tooltip": [{"field": "v", "title": "weight"}]}, "data": {"values": [{"x": 3, "v": 0.5}, {"x": 4, "v": 0.5}]}}
    >>> extract_table({"layer": [bar, bar]}).to_dict("records")
    [{'weight': 0.5}, {'weight': 0.5}]
    """
    layers = [(layer, _rows(layer, tree)) for layer in tree["layer"]]
    for tell in (_pointed, _along, _labels):
        found, seen = [], set[str]()
        for layer, rows in layers:
            mine = [
                row
                for row in tell(layer, rows)
                if any(value not in ("", " ", None) for value in row.values())
            ]
            found += [
                row for row in mine if repr(row) not in seen
            ]  # a second layer of the same rows says them once
            seen |= {repr(row) for row in mine}
        if found:
            return pd.DataFrame(found)
    return pd.DataFrame()


def _rows(layer: dict[str, Any], tree: dict[str, Any]) -> list[Row]:
    data = layer.get("data", tree.get("data", {}))
    rows = data["values"] if "values" in data else tree.get("datasets", {}).get(data.get("name"), [])
    for step in layer.get("transform", []):
        if found := _NAME_BY_NUMBER.fullmatch(step.get("calculate", "")):
            names = json.loads(found[1])
            rows = [row | {step["as"]: names[row[found[2]]]} for row in rows]
    return rows


def _pointed(layer: dict[str, Any], rows: list[Row]) -> Iterator[Row]:
    told = layer.get("encoding", {}).get("tooltip") or []
    fields = {
        each["field"]: (each.get("title") or "").strip() or each["field"]
        for each in (told if isinstance(told, list) else [told])
        if "field" in each
    }
    for row in rows:
        yield {title: row[field] for field, title in fields.items() if field in row}


def _along(layer: dict[str, Any], rows: list[Row]) -> Iterator[Row]:
    """Yield the positions on two axes with a title, for marks of plain numbers."""
    axes = [
        channel
        for name, channel in layer.get("encoding", {}).items()
        if name in ("x", "y")
        and "field" in channel
        and channel.get("title")
        and "labelExpr" not in (channel.get("axis") or {})
    ]
    for row in rows if len(axes) == 2 and _mark(layer)["type"] != "text" else []:
        yield {channel["title"]: row[channel["field"]] for channel in axes}


def _labels(layer: dict[str, Any], rows: list[Row]) -> Iterator[Row]:
    encoding, mark = layer.get("encoding", {}), _mark(layer)
    text = encoding.get("text", {"value": mark.get("text")})
    for row in rows if mark["type"] == "text" else []:
        yield _names(encoding, row) | {
            "written": row.get(text["field"]) if "field" in text else text.get("value")
        }


def _mark(layer: dict[str, Any]) -> dict[str, Any]:
    mark = layer["mark"]
    return mark if isinstance(mark, dict) else {"type": mark}


def _names(encoding: dict[str, Any], row: Row) -> Row:
    """Return the name of a row's position on an axis, where the axis has a list of names."""
    for channel in (encoding.get("y", {}), encoding.get("x", {})):
        found = _NAME_BY_NUMBER.fullmatch((channel.get("axis") or {}).get("labelExpr", ""))
        if found and "field" in channel:
            name = json.loads(found[1])[int(row[channel["field"]])]
            return {"name": " ".join(name) if isinstance(name, list) else name}
    return {}
