"""Colours, the Plotly template and the Altair theme.

A figure is drawn once, in the light palette below. `in_dark` swaps every colour of it for its dark twin, so a pure
figure never asks which theme the visitor has. The same colours stand in `.streamlit/config.toml` (a test compares).

Colour means one thing: probabilities `SEQUENTIAL` from 0 to 1; scores and differences `DIVERGING`, centred on 0;
kinds `CATEGORICAL`, heads `HEADS` by their number; forbidden cells hatched with `HATCH`, never the colour of zero.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go


@dataclass(frozen=True)
class Palette:
    """One theme, as hexadecimal colours. The n-th colour of each list has the n-th of the other palette as its twin."""

    background: str
    surface: str
    text: str
    muted: str
    line: str
    hatch: str
    primary: str
    link: str
    sequential: tuple[str, ...]
    diverging: tuple[str, ...]
    categorical: tuple[str, ...]
    heads: tuple[str, ...]
    inks: tuple[str, str]


LIGHT = Palette(
    background="#fbfaf7",
    surface="#f1efe8",
    text="#1c1b22",
    muted="#64636d",
    line="#e0dccf",
    hatch="#a8a292",
    primary="#3f51b5",
    link="#3f51b5",
    sequential=(
        "#fbfaf7",
        "#e6e6f2",
        "#ccd0e8",
        "#adb5dd",
        "#8c97d0",
        "#6c79c3",
        "#4f5eb6",
        "#3a479d",
        "#29337a",
        "#1a2152",
    ),
    diverging=(
        "#8a3d06",
        "#b55e17",
        "#dc9150",
        "#efc59c",
        "#f7e7d6",
        "#f4f2f3",
        "#d9dbec",
        "#b6bee0",
        "#7f8bcb",
        "#4a59b3",
        "#232c6b",
    ),
    categorical=("#3f51b5", "#c9741c", "#2a9d8f", "#b5446e", "#7a6ff0", "#6b7a3a", "#8c6d46", "#4a90c2"),
    heads=(
        "#4151b6",
        "#b13e06",
        "#863b85",
        "#4a91d1",
        "#f25914",
        "#0c4c4f",
        "#a57499",
        "#7f63ee",
        "#49745d",
        "#6f1b0d",
        "#0ea053",
        "#442b74",
    ),
    inks=("#000000", "#ffffff"),
)
DARK = Palette(
    background="#14151a",
    surface="#1e2027",
    text="#ecebe6",
    muted="#a09fa8",
    line="#33353f",
    hatch="#6c6f7e",
    primary="#5b6ade",
    link="#9aa6ff",
    sequential=(
        "#14151a",
        "#1d2138",
        "#293055",
        "#374175",
        "#475496",
        "#5a69b7",
        "#7483d3",
        "#94a1e6",
        "#b8c1f2",
        "#e2e6fb",
    ),
    diverging=(
        "#ffd9b0",
        "#f0a45d",
        "#a9662a",
        "#70441f",
        "#3a2a1e",
        "#191a20",
        "#252b48",
        "#374176",
        "#5a69b8",
        "#94a1e7",
        "#e2e6fc",
    ),
    categorical=("#8b99f9", "#f0a45c", "#53c4b5", "#e07aa0", "#b0a8ff", "#a9bb6c", "#c9a77c", "#7fbbe6"),
    heads=(
        "#9499fa",
        "#8ca507",
        "#b73379",
        "#6cfeb9",
        "#6e50d9",
        "#ebb078",
        "#0c8bbb",
        "#b9dcfe",
        "#ae7f75",
        "#33c9c5",
        "#057918",
        "#f2e32f",
    ),
    inks=("#ffffff", "#000000"),
)

SEQUENTIAL = list(LIGHT.sequential)
DIVERGING = list(LIGHT.diverging)
CATEGORICAL = list(LIGHT.categorical)
HEADS = list(LIGHT.heads)
TEXT, MUTED, LINE, HATCH, SURFACE, BACKGROUND = (
    LIGHT.text,
    LIGHT.muted,
    LIGHT.line,
    LIGHT.hatch,
    LIGHT.surface,
    LIGHT.background,
)
PRIMARY = LIGHT.categorical[0]  # the accent inside a figure

LOW_INK, HIGH_INK = LIGHT.inks
INK_TURNS = 0.589
"""The share of SEQUENTIAL below which type in LOW_INK, and above which type in HIGH_INK has a contrast of 4.5 and more, in both palettes."""
READABLE = 4.5
"""The least contrast of type with its ground (Web Content Accessibility Guidelines 2.1, 1.4.3)."""
PRESENT_TYPE = 18  # pixels: the smallest type in present mode
PRESENT_SCALE = 1.5
"""The factor by which type is larger in present mode."""
FONT, SERIF, MONO = "Inter, sans-serif", "ReaderSerif, serif", "JetBrains Mono, monospace"


def dark_twins() -> dict[str, str]:
    """Return the dark twin of each light colour.

    >>> dark_twins()["#fbfaf7"]
    '#14151a'
    """
    pairs = {
        getattr(LIGHT, name): getattr(DARK, name)
        for name in ("background", "surface", "text", "muted", "line", "hatch")
    }
    for name in ("inks", "heads", "categorical", "diverging", "sequential"):
        pairs |= dict(zip(getattr(LIGHT, name), getattr(DARK, name), strict=True))
    return pairs


def text_colour(share: float) -> str:
    """Return the colour of text on a share of SEQUENTIAL."""
    return HIGH_INK if share > INK_TURNS else LOW_INK


def shade(share: float, colours: Sequence[str] = LIGHT.sequential) -> tuple[str, str]:
    """Return the colour of a scale nearest to a share from 0 to 1, and the colour of text on it that can be read in both palettes.

    >>> shade(0.0), shade(1.0, DIVERGING)
    (('#fbfaf7', '#000000'), ('#232c6b', '#ffffff'))
    """
    step = colours[round(min(max(share, 0.0), 1.0) * (len(colours) - 1))]
    return step, HIGH_INK if contrast(HIGH_INK, step) >= READABLE else LOW_INK


def in_dark(tree: Any) -> Any:
    """Return a figure (a tree of dicts and lists) with every palette colour swapped for its dark twin.

    >>> in_dark({"line": {"color": "#1c1b22"}, "text": ["#1c1b22 said", 3]})
    {'line': {'color': '#ecebe6'}, 'text': ['#1c1b22 said', 3]}
    """
    return _swap(tree, dark_twins())


@functools.lru_cache(128)
def svg_in_dark(svg: str) -> str:
    """Return the text of an SVG drawing with every palette colour in it swapped for its dark twin.

    >>> svg_in_dark('<path fill="#1c1b22"/>')
    '<path fill="#ecebe6"/>'
    """
    pairs = dark_twins()
    return re.sub(r"#[0-9a-f]{6}", lambda found: pairs.get(found[0], found[0]), svg)


def _swap(tree: Any, pairs: dict[str, str]) -> Any:
    if isinstance(tree, str):
        return pairs.get(tree, tree)
    if isinstance(tree, dict):
        return {name: _swap(value, pairs) for name, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [_swap(value, pairs) for value in tree]
    return tree


def for_present_mode(tree: Any, font: bool = False) -> Any:
    """Return a figure (a tree of dicts and lists) with its type half as large again, and never below 18 px; labels have as much more room.

    >>> for_present_mode({"tickfont": {"size": 13}, "marker": {"size": 6}, "labelFontSize": 10, "labelLimit": 180})
    {'tickfont': {'size': 19.5}, 'marker': {'size': 6}, 'labelFontSize': 18, 'labelLimit': 270.0}
    """
    if isinstance(tree, dict):
        return {
            name: _present_size(value)
            if name.endswith("ontSize") or (font and name == "size")
            else PRESENT_SCALE * value
            if name == "labelLimit"
            else for_present_mode(value, name.endswith("font"))
            for name, value in tree.items()
        }
    if isinstance(tree, (list, tuple)):
        return [for_present_mode(value, font) for value in tree]
    return tree


def _present_size(size: Any) -> Any:
    if isinstance(size, (list, tuple)):
        return [_present_size(value) for value in size]
    return max(PRESENT_TYPE, PRESENT_SCALE * size) if isinstance(size, (int, float)) else size


@functools.cache
def template() -> go.layout.Template:
    """Return the Plotly template, in light colours: quiet grid, Inter, no background of its own. A figure copies it."""
    axis = {
        "gridcolor": LINE,
        "linecolor": LINE,
        "zerolinecolor": LINE,
        "tickcolor": LINE,
        "automargin": True,
        "tickfont": {"size": 13, "color": MUTED},
        "title": {"font": {"size": 13, "color": MUTED}, "standoff": 8},
    }
    scale = [[i / (len(SEQUENTIAL) - 1), colour] for i, colour in enumerate(SEQUENTIAL)]
    around = [[i / (len(DIVERGING) - 1), colour] for i, colour in enumerate(DIVERGING)]
    bar = {"outlinewidth": 0, "thickness": 10, "tickfont": {"size": 13, "color": MUTED}}
    return go.layout.Template(
        data={"heatmap": [{"colorbar": bar}]},
        layout={
            "font": {"family": FONT, "size": 14, "color": TEXT},
            "title": {"font": {"family": SERIF, "size": 17, "color": TEXT}, "x": 0, "xanchor": "left"},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "colorway": CATEGORICAL,
            "colorscale": {"sequential": scale, "diverging": around},
            "xaxis": axis,
            "yaxis": axis,
            "margin": {"l": 8, "r": 8, "t": 32, "b": 8},
            "legend": {"font": {"size": 13, "color": TEXT}, "title": {"font": {"size": 13, "color": MUTED}}},
            "coloraxis": {"colorbar": bar},
            "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": MUTED, "activecolor": TEXT},
            "hoverlabel": {
                "bgcolor": SURFACE,
                "bordercolor": LINE,
                "font": {"family": FONT, "size": 13, "color": TEXT},
            },
        },
    )


def altair_config() -> dict[str, Any]:
    """Return the Altair (Vega-Lite) configuration, in light colours; `parts.show` merges it below a chart's own."""
    axis = {
        "labelColor": MUTED,
        "titleColor": MUTED,
        "gridColor": LINE,
        "domainColor": LINE,
        "tickColor": LINE,
        "labelFontSize": 13,
        "titleFontSize": 13,
        "titleFontWeight": "normal",
        "titlePadding": 10,
        "labelLimit": 180,
    }
    return {
        "font": FONT,
        "background": "transparent",
        "view": {"stroke": None},
        "axis": axis,
        "aria": False,
        "mark": {"aria": False},  # a chart has one name and its table, not a node for each mark
        "legend": {
            "labelColor": TEXT,
            "titleColor": MUTED,
            "labelFontSize": 13,
            "titleFontSize": 13,
            "titleFontWeight": "normal",
        },
        "header": {"labelColor": TEXT, "titleColor": MUTED, "labelFontSize": 13, "titleFontSize": 13},
        "title": {"font": SERIF, "fontSize": 17, "fontWeight": 600, "anchor": "start", "color": TEXT},
        "range": {
            "category": CATEGORICAL,
            "ordinal": SEQUENTIAL,
            "ramp": SEQUENTIAL,
            "heatmap": SEQUENTIAL,
            "diverging": DIVERGING,
        },
        "text": {"color": TEXT, "fontSize": 13},
        "rule": {"color": MUTED},
    }


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours as the Web Content Accessibility Guidelines 2.1 define it (1 to 21).

    >>> contrast("#ffffff", "#000000")
    21.0
    """
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return round((light + 0.05) / (dark + 0.05), 6)


def _luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
