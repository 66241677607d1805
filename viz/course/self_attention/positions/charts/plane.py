"""Positions in the plane: the wave as clocks, a table of vectors as a path.

Numbers and words in, an Altair chart out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from viz import theme
from viz.charts.parts import vega
from viz.charts.parts.figures import draw_once
from viz.labels import phrase

Array = np.ndarray[Any, np.dtype[Any]]


def _true(wide: tuple[float, float], high: tuple[float, float]) -> tuple[alt.X, alt.Y]:
    """Return axes without marks on which one unit is equally long in both directions, so that a circle is round; centred across, aligned at the top."""
    spans = wide[1] - wide[0], high[1] - high[0]
    unit = f"min(width / {spans[0]:.4f}, height / {spans[1]:.4f})"
    sides = [alt.ExprRef(f"width / 2 {sign} {spans[0] / 2:.4f} * {unit}") for sign in "-+"]
    return (
        alt.X("x:Q", axis=None, scale=alt.Scale(domain=list(wide), range=sides, nice=False, zero=False)),
        alt.Y(
            "y:Q",
            axis=None,
            scale=alt.Scale(
                domain=list(high), range=[alt.ExprRef(f"{spans[1]:.4f} * {unit}"), 0], nice=False, zero=False
            ),
        ),
    )


@draw_once
def clocks(angles: Array, rim: Array, names: Sequence[str], *, height: int = 270) -> alt.LayerChart:
    """Draw a clock for each pair of dimensions: the hand points to the angle of the chosen position, dots on the rim are all positions.

    Shapes: angles (pair,), rim (pos, pair), radians clockwise from the top.

    >>> hands = clocks(np.array([0.0, np.pi / 2]), np.zeros((3, 2)), ["a", "b"]).to_dict()["layer"][2]["data"]["values"]
    >>> [(round(row["x2"], 6), round(row["y2"], 6)) for row in hands]
    [(0.4, 0.85), (3.85, 0.0)]
    """
    middles = [2.6 * clock + 0.4 for clock in range(len(names))]
    around = np.linspace(0, 2 * np.pi, 73)
    rings = [
        {"x": middle + float(np.sin(a)), "y": float(np.cos(a)), "clock": clock, "order": i}
        for clock, middle in enumerate(middles)
        for i, a in enumerate(around)
    ]
    dots = [
        {
            "x": middle + float(np.sin(a)),
            "y": float(np.cos(a)),
            "position": t,
            "turned": f"{np.degrees(a) % 360:.3g}°",
        }
        for clock, middle in enumerate(middles)
        for t, a in enumerate(rim[:, clock])
    ]
    hands = [
        {"x": middle, "y": 0.0, "x2": middle + 0.85 * float(np.sin(a)), "y2": 0.85 * float(np.cos(a))}
        for middle, a in zip(middles, angles, strict=True)
    ]
    told = [
        {"x": middle, "y": -1.12, "text": phrase(name).replace(" ", "\n", 1)}
        for middle, name in zip(middles, names, strict=True)
    ]
    across, up = _true((-0.8, middles[-1] + 1.2), (-1.95, 1.1))
    ring, rims, hand, said = (vega.rows(rows).encode(x=across, y=up) for rows in (rings, dots, hands, told))
    layers = [
        ring.mark_line(strokeWidth=1.5, color=theme.HATCH).encode(detail="clock:N", order="order:Q"),
        rims.mark_circle(size=50, opacity=1, color=theme.SEQUENTIAL[4]).encode(
            tooltip=vega.tooltip("position:Q", ("turned:N", "hand at"))
        ),
        hand.mark_rule(strokeWidth=4, strokeCap="round", color=theme.PRIMARY).encode(x2="x2:Q", y2="y2:Q"),
        hand.mark_circle(size=64, opacity=1, color=theme.PRIMARY),
        said.mark_text(baseline="top", dy=3, fontSize=14, color=theme.TEXT, lineBreak="\n").encode(
            text="text:N"
        ),
    ]
    return vega.frame(*layers, height=height)


def _outside(places: Array, i: int) -> tuple[float, float]:
    """Return the unit vector from point i of a path to a clear place for its number: across the path, away from the neighbouring points.

    >>> _outside(np.array([[-1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]), 1)
    (0.0, 1.0)
    """
    along = places[min(i + 1, len(places) - 1)] - places[max(0, i - 1)]
    size = float(np.hypot(*along))
    if size < 1e-9:
        return 0.0, 1.0
    across = np.array([-along[1], along[0]]) / size
    away = across if across @ (places[i] - places[max(0, i - 6) : i + 7].mean(0)) >= 0 else -across
    return float(away[0]) + 0.0, float(away[1]) + 0.0


@draw_once
def paths(tables: Mapping[str, Array], *, height: int = 330) -> alt.LayerChart:
    """Draw the position vectors of each table, projected to a plane, as a path in the order of the positions; each tenth position is numbered.

    Shapes: each table's points (pos, 2).

    >>> drawn = paths({"learned": np.eye(11)[:, :2], "wave": np.eye(11)[:, :2]}).to_dict()["layer"]
    >>> len(drawn[1]["data"]["values"]), [row["text"] for row in drawn[2]["data"]["values"]]
    (22, ['0', '10', '0', '10'])
    """
    wide, apart = 1.5, 0.35
    dots, numbers, heads = [], [], []
    for panel, (name, places) in enumerate(tables.items()):
        low, span, n = places.min(0), np.ptp(places, 0), len(places)
        scale = max(float(span[0]) / wide, float(span[1])) or 1.0
        seen = (places - low - span / 2) / scale + np.array([panel * (wide + apart) + wide / 2, 0.5])
        heads.append({"x": panel * (wide + apart), "y": 1.0, "text": phrase(name)})
        dots += [
            {
                "x": float(x),
                "y": float(y),
                "position": i,
                "shade": round(6 * i / max(n - 1, 1)),
                "table": name,
            }
            for i, (x, y) in enumerate(seen)
        ]
        numbers += [
            {
                "x": float(seen[i, 0]),
                "y": float(seen[i, 1]),
                "text": str(i),
                "dx": 16 * away[0],
                "dy": -14 * away[1],
            }
            for i in range(0, n, 10)
            for away in [_outside(seen, i)]
        ]
    across, up = _true((-0.12, len(tables) * (wide + apart) - apart + 0.12), (-0.12, 1.24))
    base = vega.rows(dots).encode(x=across, y=up)
    hue = alt.Color(
        "shade:O", legend=None, scale=alt.Scale(domain=list(range(7)), range=theme.SEQUENTIAL[3:])
    )
    told = (
        vega.rows(numbers)
        .mark_text(fontSize=13, color=theme.TEXT, dx=alt.ExprRef("datum.dx"), dy=alt.ExprRef("datum.dy"))
        .encode(x=across, y=up, text="text:N")
    )
    titles = (
        vega.rows(heads)
        .mark_text(align="left", baseline="bottom", dy=-26, fontSize=14, color=theme.TEXT)
        .encode(x=across, y=up, text="text:N")
    )
    return vega.frame(
        base.mark_line(strokeWidth=1.5, color=theme.LINE).encode(detail="table:N", order="position:Q"),
        base.mark_circle(size=alt.ExprRef("clamp(width / 14, 16, 64)"), opacity=1).encode(
            color=hue, tooltip=["position:Q"]
        ),
        told,
        titles,
        height=height,
    )
