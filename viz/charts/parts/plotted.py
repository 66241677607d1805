"""The common parts of Plotly figures: words without markup, quiet axes, a key in one line, the frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from viz import theme
from viz.labels import plotly_label

QUIET = {"showgrid": False, "zeroline": False, "fixedrange": True}
HIDDEN = {"visible": False, "fixedrange": True}


def plain_text(text: str) -> str:
    """Return words of ours as Plotly text: never markup except for a new line, their spaces unchanged.

    >>> plain_text("two words"), plain_text("<b>")
    ('two words', '&lt;b&gt;')
    """
    return "<br>".join(plotly_label(line).replace("·", " ") for line in text.split("\n"))


def legend_above(y: float, anchor: str = "bottom", **more: Any) -> dict[str, Any]:
    """Return a legend in one line from the left edge, with its `anchor` at a height."""
    return {"orientation": "h", "x": 0, "y": y, "yanchor": anchor} | more


def apply_frame(
    figure: go.Figure, height: int, around: Sequence[int] = (4, 4, 4, 4), **more: Any
) -> go.Figure:
    """Apply the app's look to a figure and return it; `around` is the margin left, right, above and below."""
    margin = dict(zip("lrtb", around, strict=True))
    return figure.update_layout(template=theme.template(), height=height, margin=margin, **more)


def add_note(
    figure: go.Figure, text: str, x: float, y: float, size: int = 14, colour: str = theme.TEXT, **more: Any
) -> None:
    """Write a text into a figure at a position of its axes, without an arrow; `more` are fields of Plotly's annotation."""
    figure.add_annotation(
        **{"text": text, "x": x, "y": y, "showarrow": False, "font": {"size": size, "color": colour}} | more
    )


def add_arrow(
    figure: go.Figure, begin: Sequence[float], end: Sequence[float], colour: str = theme.MUTED, **more: Any
) -> None:
    """Add an arrow from one position to another."""
    (ax, ay), (x, y) = begin, end
    axes = {"xref": "x", "yref": "y", "axref": "x", "ayref": "y"}
    look = {"text": "", "showarrow": True, "arrowhead": 2, "arrowcolor": colour}
    figure.add_annotation(**{"x": x, "y": y, "ax": ax, "ay": ay} | axes | look | more)
