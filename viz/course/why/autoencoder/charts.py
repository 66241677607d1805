"""An autoencoder as a picture: what goes in, the context's few numbers, what comes out; and what is lost by the size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from viz import theme
from viz.charts import marks
from viz.charts.parts import panels, vega
from viz.charts.parts.figures import draw_once
from viz.labels import phrase
from viz.languages import _, mark, ngettext

Array = np.ndarray[Any, np.dtype[Any]]
ENTRY, MIDDLE, EXIT = (0.0, 0.24), (0.34, 0.62), (0.72, 1.0)
"""Where the three boxes stand, as shares of the width."""
TOP, FOOT = 0.13, 0.9
"""Between these shares of the height a box is filled; its names stand above and below."""
LETTER = 0.56
"""How wide a letter is, as a share of its size."""
LEARNED = mark("learned from a random start")


@draw_once
def boxes(
    entry: tuple[str, Array, bool],
    context: Array,
    exits: Sequence[tuple[str, Array | str | None]],
    *,
    limit: float | None = None,
    height: int = 380,
) -> vega.Layers:
    """Draw three boxes from left to right: the encoder's input, the hidden space, the decoders' outputs.

    entry: (name, (row, column) numbers, whether they are signed; unsigned ones are ink from 0 to 1).
    context: (p,), one bar each; `limit` is the end of their scale. exits: (decoder's name, dots or a word; None: covered).

    >>> drawn = [layer["data"]["values"] for layer in boxes(("A", np.eye(2), False), np.array([1.0, -2.0]), [("French", "l'arbre")]).to_dict()["layer"]]
    >>> [bar["value"] for bar in drawn[3]], drawn[5][-1]["text"]
    ([1.0, -2.0], "l'arbre")
    """
    name, values, signed = entry
    end = (float(np.abs(values).max()) or 1.0) if signed else 1.0
    tiles, dots = (_tiles(values), []) if signed else ([], _dots(values, ENTRY, TOP, FOOT))
    p, middle = len(context), sum(MIDDLE) / 2
    long, high = (
        (MIDDLE[1] - MIDDLE[0]) / 2 / (limit or float(np.abs(context).max(initial=0)) or 1.0),
        (FOOT - TOP) / max(p, 3),
    )
    bars = [
        {
            "left": middle,
            "right": middle + float(value) * long,
            "top": TOP + (at + 0.1) * high,
            "bottom": TOP + (at + 0.9) * high,
            "name": f"c{at + 1}",
            "value": float(value),
        }
        for at, value in enumerate(context)
    ]
    heads = (
        name,
        ngettext("c: {n} number", "c: {n} numbers", p),
        _("out") if len(exits) == 1 else _("{n} decoders", n=len(exits)),
    )
    notes = [_note(head, span, 0.05, 14) for head, span in zip(heads, (ENTRY, MIDDLE, EXIT), strict=True)]
    notes += [
        _note("→", span, 0.5, 26, theme.MUTED) for span in ((ENTRY[1], MIDDLE[0]), (MIDDLE[1], EXIT[0]))
    ]
    notes += [
        _note(foot, span, 0.95, 13, theme.MUTED)
        for foot, span in ((_("encoder"), ENTRY), (_("hidden space"), MIDDLE), (_("decoder"), EXIT))
    ]
    drawn = [place for place, (_name, made) in enumerate(exits) if isinstance(made, np.ndarray)]
    for place, (decoder, made) in enumerate(exits):
        if isinstance(made, np.ndarray):  # two side by side
            half, tall = (EXIT[1] - EXIT[0]) / 2, (FOOT - TOP + 0.03) / ((len(drawn) + 1) // 2)
            left, top = EXIT[0] + half * (place % 2), TOP - 0.03 + tall * (place // 2)
            span = (left + 0.012, left + half - 0.012) if len(exits) > 1 else EXIT
            dots += _dots(made, span, top + 0.075, top + tall - 0.015)
            notes.append(_note(decoder, span, top + 0.035, 12, theme.MUTED))
        else:
            top, tall = TOP + (FOOT - TOP) * place / len(exits), (FOOT - TOP) / len(exits)
            notes += [
                _note(decoder, EXIT, top + min(0.25 * tall, 0.05), 12, theme.MUTED),
                _note(
                    made if made is not None else "?",
                    EXIT,
                    top + (0.66 if len(exits) > 1 else 0.5) * tall,
                    17 if len(exits) > 1 else 20,
                ),
            ]
    across = alt.X("left:Q", axis=None, scale=alt.Scale(domain=[0, 1], nice=False))
    down = alt.Y("top:Q", axis=None, scale=alt.Scale(domain=[1, 0], nice=False))

    def framed(rows: Sequence[Mapping[str, Any]]) -> alt.Chart:
        return vega.rows(rows).encode(x=across, x2="right:Q", y=down, y2="bottom:Q")

    def centred(rows: Sequence[Mapping[str, Any]]) -> alt.Chart:
        return vega.rows(rows).encode(x=panels.with_field(across, "x:Q"), y=panels.with_field(down, "y:Q"))

    hue = alt.Color(
        "value:Q",
        legend=None,
        scale=alt.Scale(
            domain=[-end, end] if signed else [0, 1],
            range=theme.DIVERGING if signed else theme.SEQUENTIAL,
            interpolate="rgb",
            clamp=True,
        ),
    )
    told = [alt.Tooltip("value:Q", format=".3f")]
    unit = "min(width * datum.wide, height * datum.high)"  # a dot is as wide as it is high
    frames = framed(
        [{"left": a, "right": b, "top": 0.0, "bottom": 1.0} for a, b in (ENTRY, MIDDLE, EXIT)]
    ).mark_rect(filled=False, stroke=theme.LINE, strokeWidth=1.5)
    tile = framed(tiles).mark_rect(stroke=theme.BACKGROUND, strokeWidth=1).encode(color=hue, tooltip=told)
    dot = (
        centred(dots)
        .mark_square(
            opacity=1,
            size=alt.ExprRef(f"pow({unit}, 2)"),
            stroke=theme.BACKGROUND,
            strokeWidth=1,
            xOffset=alt.ExprRef(f"datum.column * {unit}"),
            yOffset=alt.ExprRef(f"datum.row * {unit}"),
        )
        .encode(color=hue, tooltip=told)
    )
    zero = (
        vega.rows([{"left": middle, "top": TOP, "bottom": FOOT}])
        .mark_rule(color=theme.MUTED)
        .encode(x=across, y=down, y2="bottom:Q")
    )
    bar = (
        framed(bars)
        .mark_rect()
        .encode(
            color=alt.condition(
                "datum.value < 0", alt.value(theme.DIVERGING[2]), alt.value(theme.DIVERGING[8])
            ),
            tooltip=[alt.Tooltip("name:N", title=" "), *told],
        )
    )
    muted = alt.condition("datum.muted", alt.value(theme.MUTED), alt.value(theme.TEXT))
    fitted = alt.ExprRef(
        f"min(datum.fontSize, max(11, width * datum.wide / (max(1, length(datum.text)) * {LETTER})))"
    )
    text = (
        centred(notes)
        .mark_text(fontSize=fitted, limit=alt.ExprRef("width * datum.wide + 8"))
        .encode(text="text:N", color=muted)
    )
    return alt.layer(tile, dot, zero, bar, frames, text).properties(
        width="container", height=height, padding=vega.AROUND, view=vega.BARE
    )


def _tiles(values: Array) -> list[dict[str, float]]:
    """Return numbers (row, column) as tiles that fill the first box from edge to edge."""
    wide, high = (ENTRY[1] - ENTRY[0]) / values.shape[1], (FOOT - TOP) / values.shape[0]
    return [
        {
            "left": ENTRY[0] + j * wide,
            "right": ENTRY[0] + (j + 1) * wide,
            "top": TOP + i * high,
            "bottom": TOP + (i + 1) * high,
            "value": round(float(value), 6),
        }
        for (i, j), value in np.ndenumerate(values)
    ]


def _dots(values: Array, span: tuple[float, float], top: float, bottom: float) -> list[dict[str, float]]:
    """Return numbers (row, column) as square dots, centred in the area `span` by `top` to `bottom` and as large as fits."""
    rows, columns = values.shape
    return [
        {
            "x": sum(span) / 2,
            "y": (top + bottom) / 2,
            "wide": 0.94 * (span[1] - span[0]) / columns,
            "high": (bottom - top) / rows,
            "row": i - (rows - 1) / 2,
            "column": j - (columns - 1) / 2,
            "value": round(float(value), 6),
        }
        for (i, j), value in np.ndenumerate(values)
    ]


def _note(
    text: str, span: tuple[float, float], y: float, size: int, colour: str = theme.TEXT
) -> dict[str, Any]:
    return {
        "text": phrase(text),
        "x": sum(span) / 2,
        "y": y,
        "wide": 0.94 * (span[1] - span[0]),
        "fontSize": size,
        "muted": colour == theme.MUTED,
    }


@draw_once
def losses(
    curves: Mapping[str, Array],
    learned: Mapping[int, float],
    p: int,
    *,
    covered: bool = False,
    height: int = 340,
) -> vega.Layers:
    """Draw the share that an autoencoder does not restore, in percent, over the size p of the context: lines from closed forms, dots from trained models.

    curves: by name, (p,) for p = 0, 1, ..; the first is the one with the dots and the mark at `p`.
    covered: the axes alone.

    >>> chart = losses({"letters": np.array([1.0, 0.5, 0.0])}, {1: 0.5}, 1).to_dict()
    >>> [row["y"] for row in chart["data"]["values"]], [row["x"] for row in chart["layer"][-2]["data"]["values"]]
    ([1.0, 0.5, 0.0], [1])
    """
    table = pd.DataFrame({name: pd.Series(curve) for name, curve in curves.items()})
    table[_(LEARNED)] = np.nan
    return marks.lines(
        table,
        x=_("p, numbers in the context"),
        title=_("lost, %"),
        form=".0%",
        ends=(0, 1.08),
        hues=[*range(len(curves)), 0],
        overlay=[
            *marks.rules({f"p = {p}": p}),
            *marks.dots([] if covered else [(_(LEARNED), size, value) for size, value in learned.items()]),
        ],
        covered=covered,
        height=height,
    )
