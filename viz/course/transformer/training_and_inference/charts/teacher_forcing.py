"""Training a decoder as tiles: what it reads under what it should say, and the passes of use one after the other.

Numbers and words in, an Altair chart out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from viz import theme
from viz.charts.parts import vega
from viz.charts.parts.figures import draw_once
from viz.labels import shorten, visible
from viz.number_text import number

Array = np.ndarray[Any, np.dtype[Any]]
Chart = alt.LayerChart | alt.FacetChart
Rows = list[dict[str, Any]]
WRAPPED, LETTERS = 6, 14
"""From so many places on the two rows stand upright, as a phone is too narrow for them; so many letters of a token are drawn."""
END = "END"
QUIET: dict[str, Any] = {"fontSize": 13, "color": theme.MUTED, "baseline": "bottom"}
HEAD = "M0,0L-1,-0.42L-1,0.42Z"
GAP = 1.9
"""How far the two rows are from each other, in tiles."""
NUMBERS = "max(108, 0.24 * width)"
"""Pixels that two columns of numbers take."""


@draw_once
def rows(
    targets: Sequence[str], read: Sequence[str | None], *, arrows: bool = True, selected: int | None = None
) -> Chart:
    """Draw the target tokens and below them the decoder's input, as tiles; an arrow leads from each target token to the position where it is read.

    A token of None is a question mark. With more than `WRAPPED` positions the rows become columns. `arrows`: each arrow leads to the next position
    (shifted right); without it, straight to the same position. `selected` is the framed position.

    >>> [len(layer["data"]["values"]) for layer in rows(["De", "END"], ["START", "De"]).to_dict()["layer"]]
    [4, 1, 1, 4, 1, 1]
    """
    n = len(targets)
    upright = n > WRAPPED
    x, y = vega.hidden_axes(
        [-0.75, 2.65] if upright else [-0.6, n - 0.4], [n - 0.4, -2.2] if upright else [2.75, -0.95]
    )
    tiles = [
        _tile(_point(t, row, upright), token, fill, framed=t == selected)
        for row, tokens, fill in ((0, targets, theme.SEQUENTIAL[1]), (1, read, theme.SURFACE))
        for t, token in enumerate(tokens)
    ]
    moves = [_arrow(t, t + arrows, upright) for t in range(n - arrows) if read[t + arrows] is not None]
    captions = [
        note
        for row, name in enumerate(("target: what it should predict", "decoder input: what it reads"))
        for note in _caption(name, row, upright)
    ]
    limit = alt.ExprRef(f"{0.88 / (3.4 if upright else n)} * width")
    told = [_middle(tile) for tile in tiles if not tile["hidden"]]
    hidden = [_middle(tile) for tile in tiles if tile["hidden"]]
    size = 16 if upright or n <= 4 else 14
    words = [
        _words(found, x, y, color=colour, fontSize=size, limit=limit)
        for found, colour, size in ((told, theme.TEXT, size), (hidden, theme.CATEGORICAL[1], 20))
        if found
    ]
    align = "center" if upright else "left"
    notes = [
        _words(
            [note for note in captions if note["baseline"] == baseline],
            x,
            y,
            **(QUIET | {"fontSize": 14, "align": align, "baseline": baseline}),
        )
        for baseline in (("bottom",) if upright else ("bottom", "top"))
    ]
    layers = [_tiles(tiles, x, y), *_arrows(moves, x, y), *words, *notes]
    height = 60 + 36 * n if upright else 240
    return alt.layer(*layers).properties(
        width="container", height=height, padding=vega.AROUND, view=vega.BARE
    )


@draw_once
def passes(read: Sequence[str], targets: Sequence[str], one: Array, step: Array, upto: int) -> Chart:
    """Pass after pass: a row holds what is read by then, the newest tile strong; at the right P of the wanted token both ways.

    `upto` passes are drawn. Shapes: one, step (m,) are the probabilities of the one pass and of the single steps.

    >>> layers = passes(["START", "De"], ["De", "END"], np.array([0.9, 0.8]), np.array([0.9, 0.8]), 1).to_dict()["layer"]
    >>> [row["text"] for row in layers[2]["data"]["values"]]
    ['0.9000']
    """
    n = len(targets)
    few = n <= WRAPPED
    line = 0.5 if n <= 4 else 0.62 if few else 1.0  # of a heading, in tiles
    x, y = vega.hidden_axes(
        [-0.5, n - 0.5], [n - 0.4, -0.6 - 2 * line], range=[0, alt.ExprRef(f"width - {NUMBERS}")]
    )
    tiles: Rows = [
        _tile((j, t), read[j] if t < upto else "", _shade(j == t, t < upto), half=(0.47, 0.4))
        for t in range(n)
        for j in range(t + 1)
    ]
    newest = [
        tile | {"side": 0 if few else 1 if t < n / 2 else -1}
        for t, tile in enumerate(tiles[t * (t + 3) // 2] for t in range(upto))
    ]
    pitch, size = f"(width - {NUMBERS}) / {n}", 13 if n <= 4 else 12
    layers = [_tiles(tiles, x, y)]
    sides = {0: "center", 1: "left", -1: "right"}  # a long word reaches to where there is nothing else
    for side, align in sides.items():
        found = [
            _middle(tile) | {"x": (tile["x"] + tile["x2"]) / 2 - 0.43 * side}
            for tile in newest
            if tile["side"] == side
        ]
        room = {"limit": alt.ExprRef(f"1.4 * {pitch}")} if few else {}
        if found:
            layers.append(_words(found, x, y, fontSize=size, align=align, **room))
    kept = [_middle(tiles[t * (t + 1) // 2 + j]) for t in range(upto) for j in range(t)] if few else []
    if kept:
        fits = alt.ExprRef(f"{pitch} < 40 ? 0 : 1")
        layers.append(_words(kept, x, y, fontSize=size, limit=alt.ExprRef(pitch), opacity=fits))
    for place, values, name in ((0.75, one, ("at once", "P all")), (0.25, step, ("by step", "P step"))):
        at = alt.XValue(alt.ExprRef(f"width - {place} * {NUMBERS}"))
        numbers = [{"y": t, "text": number(float(values[t]), 4)} for t in range(upto)]
        heads = [{"y": -0.5 - line * up, "text": word} for up, word in enumerate(name)]
        layers += [_words(numbers, at, y, fontSize=14), _words(heads, at, y, **QUIET)]
    layers.append(_words([{"x": -0.47, "y": -0.5, "text": "read at this step"}], x, y, **QUIET, align="left"))
    height = 70 + (46 if few else 34) * n
    return alt.layer(*layers).properties(
        width="container", height=height, padding=vega.AROUND, view=vega.BARE
    )


def token_name(token: str) -> str:
    """Return a token as it is drawn: without its leading space, shortened.

    >>> token_name(" <b>"), token_name("internationalisation")
    ('<b>', 'internationali…')
    """
    return shorten(visible(token.removeprefix(" ") or token), LETTERS + 1)


def _point(t: float, row: float, upright: bool) -> tuple[float, float]:
    return (row * GAP, t) if upright else (t, row * GAP)


def _tile(
    place: tuple[float, float],
    token: str | None,
    fill: str,
    *,
    framed: bool = False,
    half: tuple[float, float] = (0.44, 0.36),
) -> dict[str, Any]:
    """Return a rectangle around the centre `place`, which reaches `half` (across, down) to each side; a token of None is a question mark."""
    (x, y), (wide, high) = place, half
    return {
        "x": x - wide,
        "x2": x + wide,
        "y": y - high,
        "y2": y + high,
        "fill": fill,
        "edge": theme.CATEGORICAL[1] if framed else theme.LINE,
        "line": 3 if framed else 1,
        "token": "?" if token is None else visible(token),
        "text": "?" if token is None else token_name(token),
        "hidden": token is None,
    }


def _shade(new: bool, done: bool) -> str:
    return theme.BACKGROUND if not done else theme.SEQUENTIAL[3] if new else theme.SURFACE


def _middle(tile: dict[str, Any]) -> dict[str, Any]:
    at = {"x": (tile["x"] + tile["x2"]) / 2, "y": (tile["y"] + tile["y2"]) / 2}
    return at | {name: tile[name] for name in ("text", "token")}


def _caption(name: str, row: int, upright: bool) -> Rows:
    """Return the caption of a row: above the first, below the second; where rows are columns, above each in two lines."""
    if upright:
        return [
            {"x": row * GAP, "y": -0.62 - 0.8 * up, "text": part, "baseline": "bottom"}
            for up, part in enumerate(reversed(name.split(": ")))
        ]
    return [
        {"x": -0.44, "y": row * (GAP + 1.04) - 0.52, "text": name, "baseline": "top" if row else "bottom"}
    ]


def _arrow(start: int, end: int, upright: bool) -> dict[str, Any]:
    """Return an arrow from the near edge of a tile of the target to the near edge of a tile of the input."""
    edge = 0.46 / GAP if upright else 0.4 / GAP
    (x, y), (x2, y2) = _point(start, edge, upright), _point(end, 1 - edge, upright)
    stop = {"stop_x": x2 - 0.04 * (x2 - x), "stop_y": y2 - 0.04 * (y2 - y)}
    return {"x": x, "y": y, "x2": x2, "y2": y2} | stop


def _tiles(tiles: Rows, x: alt.X, y: alt.Y) -> alt.Chart:
    return (
        vega.rows(tiles, x=x, x2="x2:Q", y=y, y2="y2:Q", tooltip=alt.Tooltip("token:N"))
        .mark_rect(cornerRadius=3)
        .encode(
            fill=vega.raw_channel("fill:N", alt.Fill),
            stroke=vega.raw_channel("edge:N", alt.Stroke),
            strokeWidth=vega.raw_channel("line:Q", alt.StrokeWidth),
        )
    )


def _words(words: Rows, x: alt.X | alt.XValue, y: alt.Y, **more: Any) -> alt.Chart:
    """Draw texts at their positions; where they have a token, it is the tooltip."""
    look: dict[str, Any] = {"baseline": "middle", "color": theme.TEXT} | more
    told = {"tooltip": alt.Tooltip("token:N")} if "token" in words[0] else {}
    return vega.rows(words, x=x, y=y, text="text:N", **told).mark_text(**look)


def _arrows(moves: Rows, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    """Draw arrows as lines and heads; all have the direction of the first."""
    if not moves:
        return []
    data, one = vega.rows(moves), moves[0]
    across, down = (
        abs(float(scale["scale"]["domain"][1]) - float(scale["scale"]["domain"][0])) for scale in (x, y)
    )
    turned = alt.ExprRef(
        f"atan2({one['y2'] - one['y']} * height / {down}, {one['x2'] - one['x']} * width / {across}) * 180 / PI"
    )
    lines = data.mark_rule(strokeWidth=2, color=theme.PRIMARY).encode(x=x, y=y, x2="stop_x:Q", y2="stop_y:Q")
    heads = data.mark_point(
        shape=HEAD, size=440, filled=True, opacity=1, color=theme.PRIMARY, angle=turned
    ).encode(x=alt.X("x2:Q", scale=x["scale"], axis=None), y=alt.Y("y2:Q", scale=y["scale"], axis=None))
    return [lines, heads]
