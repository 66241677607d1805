"""The pictures of the exhibit on positional encoding, and the sentence below them."""

from __future__ import annotations

from typing import Any

import numpy as np

from viz.charts.curves import lanes, profiles
from viz.course.self_attention.positional_encoding.charts import signed_matrix
from viz.course.self_attention.positional_encoding.encoding import Data
from viz.course.shared import positions
from viz.number_text import number

LOW = 340
"""Height of a picture in present mode, in pixels, that leaves its sentence on the screen."""


def figures(position: int, data: Data, room: bool = False) -> list[tuple[Any, str]]:
    """Return the picture of the view, or two, each with its alternative text.

    In present mode (`room`) they are low enough to leave the sentence on the screen.
    """
    n, width = data.table.shape
    if data.curves:
        return [_curves(position, data, data.curves, room)]
    if data.products is not None and data.row is not None:
        return _products(position, data, data.products, data.row, room)
    if data.distance and data.bias:
        bands = (
            {name: (each.k, each.mean, each.low, each.high) for name, each in part.items()}
            for part in (data.distance, data.bias)
        )
        titles = ("How far apart two position vectors are", "What distance does to a score")
        told = "Distance of two position vectors, and change of the score, by the distance of the positions."
        return [(profiles(*bands, titles=titles, **_size(room)), told)]
    height, limit = LOW if room else 430, _limit(data.table, data)
    matrix = signed_matrix(
        data.table, rows="position", columns="dimension", limit=limit, marked=position, height=height
    )
    return [(matrix, f"Position vectors as rows: {n} positions, {width} dimensions.")]


def _curves(position: int, data: Data, curves: positions.Curves, room: bool) -> tuple[Any, str]:
    names = [f"dimension {i}: {name}" for i, name in zip(curves.dimensions, curves.names, strict=True)]
    lines = lanes(
        curves.samples,
        names,
        x=curves.x,
        smooth=curves.smooth,
        limit=1.0 if data.formula else float(np.abs(curves.samples).max()),
        marked=position,
        hues=[i % 2 if data.formula else 0 for i in curves.dimensions],
        **_size(room),
    )
    told = (
        f"Curves of {len(names)} dimensions over {len(data.table)} positions; position {position} is marked."
    )
    return lines, told


def _products(
    position: int, data: Data, products: np.ndarray, curve: tuple[np.ndarray, np.ndarray], room: bool
) -> list[tuple[Any, str]]:
    (x, y), row = curve, products[position]
    square = signed_matrix(
        products,
        rows="position",
        columns="the other position",
        unit="dot product",
        limit=_limit(products, data),
        square=True,
        marked=position,
        height=LOW if room else 480,
    )
    line = lanes(
        row[None],
        [f"row {position} of the matrix"],
        x=x,
        smooth=y[None],
        limit=float(row.max()),
        low=min(0.0, float(row.min())),
        x_title="the other position",
        **(_size(room) or {"height": 400}),
    )
    return [
        (square, f"Dot products between {len(data.table)} positions."),
        (line, f"Row {position} of the matrix as a curve."),
    ]


def _size(room: bool) -> dict[str, Any]:
    """Return height of curves and of their titles in present mode, where letters are larger."""
    return {"height": LOW, "line": 32} if room else {}


def _limit(values: np.ndarray, data: Data) -> float:
    """Return the end of the colour scale: the largest number; of a trained table all but its 2% of outliers."""
    size = np.abs(values)
    return float(round(size.max(), 9) if data.formula else np.quantile(size, 0.98))


def sentence(position: int, data: Data) -> str:
    """Return a sentence of numbers on the quantities that are drawn."""
    n, row = len(data.table), data.table[position]
    if data.curves:
        few, shown = len(row) <= 6, [number(v, 4) for v in row]
        if not few:
            shown[3:-2] = ["…"]
        some = "" if few else f", {len(row)} numbers"
        waves = ""
        if data.formula is not None:
            first, *_, last = data.formula.wavelengths()
            waves = f" The first wave repeats every {first:,.2f} positions, the last every {last:,.0f}."
            if len(row) != data.formula.d_model:
                some = f": {len(row)} numbers, though d = {data.formula.d_model}"
        return f"Position {position} is the vector [{', '.join(shown)}]{some}.{waves}"
    if data.products is not None:
        beside = min(position + 1, n - 1)
        near, far = data.products[position, [beside, n - 1]]
        return (
            f"Position {position} with itself: {number(data.products[position, position])}; with position {beside}: "
            f"{number(near)}; with position {n - 1}: {number(far)}."
        )
    if data.distance:
        steps = min(5, n - 1)
        mean, low, high = next(iter(data.distance.values())).at_offset(steps)
        where = "at every position"
        if high - low >= 1e-9:
            where = f"from {number(low, 3)} to {number(high, 3)} by position"
        return f"Two positions {steps} steps apart have vectors {number(mean, 3)} apart, {where}."
    half, most = positions.share_of_variance(data.table), positions.most_changed(data.table)
    return (
        f"The first half of the {len(row)} dimensions holds {100 * half:.3f}% of all variation over "
        f"the {n} positions; dimension {most} changes most from one position to the next."
    )
