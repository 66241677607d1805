"""What a few steps of training do: the loss of each place and of the pair, the largest probabilities, a text's probability so far.

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
from viz.course.transformer.training_and_inference.charts.teacher_forcing import END, Chart, Rows, token_name
from viz.labels import visible
from viz.number_text import number

Array = np.ndarray[Any, np.dtype[Any]]
BANDS = alt.Scale(type="band", padding=0)
TICKS = (1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.001, 1e-4, 1e-5, 1e-6)


@draw_once
def losses(
    read: Sequence[str],
    wanted: Sequence[str],
    values: Array | None,
    before: Array | None = None,
    *,
    height: int | None = None,
) -> Chart:
    """The loss of each place as a bar, "reads → target" beside it; None: the bars are still covered.

    `before` draws what it was as a pale bar behind. Shapes: (m,).

    >>> losses(["START"], ["De"], np.array([0.5])).to_dict()["data"]["values"][0]["said"]
    '0.500'
    """
    n = len(wanted)
    now, past = (
        np.zeros(n) if found is None else np.asarray(found, dtype=np.float64) for found in (values, before)
    )
    most = max(float(now.max(initial=0)), float(past.max(initial=0)), 0.02)
    cells = [
        {
            "place": t,
            "reads": visible(read[t]),
            "says": visible(wanted[t]),
            "now": float(now[t]),
            "before": float(past[t]),
            "end": float(max(now[t], past[t])),
            "said": "?" if values is None else number(float(now[t]), 3),
        }
        for t in range(n)
    ]
    names = [f"{token_name(a)} → {token_name(b)}" for a, b in zip(read, wanted, strict=True)]
    across = vega.exact_scale(0, most * 1.25)
    told = [
        "reads:N",
        ("says:N", "target"),
        *([] if before is None else [("before:Q", "", ".4f")]),
        *([] if values is None else [("now:Q", "loss", ".4f")]),
    ]
    hues = {"before": theme.SEQUENTIAL[3], "now": theme.CATEGORICAL[1]}
    hue = (
        vega.colour_channel("when:N", hues)
        if before is None
        else vega.colour_channel("when:N", hues, vega.legend(offset=4))
    )
    axis = alt.Axis(tickCount=5 if before is None else 4, domain=False, labelOverlap=True, labelBound=True)
    base = vega.rows(
        cells,
        y=vega.row_axis(names, scale=BANDS, labelFontSize=15, labelLimit=320),
        tooltip=vega.tooltip(*told),
    )
    layers = [
        base.transform_calculate(when=f"'{which}'")
        .mark_bar(height={"band": band})
        .encode(
            x=alt.X(f"{which}:Q", scale=across, title="loss, −ln P(the wanted token)", axis=axis), color=hue
        )
        for which, band in ((("before", 0.72), ("now", 0.36)) if before is not None else (("now", 0.62),))
    ]
    said = base.mark_text(fontSize=15, align="left", dx=6)
    layers.append(said.encode(x=alt.X("end:Q", scale=across), text="said:N"))
    return _bare(layers, height or 64 + (46 if n <= 6 else 34) * n)


def _bare(layers: Sequence[alt.Chart], height: int) -> Chart:
    return alt.layer(*layers).properties(
        width="container", height=height, padding=vega.AROUND, view=vega.BARE
    )


@draw_once
def curve(taken: Sequence[float], most: int, places: Array | None = None, *, height: int = 250) -> Chart:
    """The mean loss before any step and after each, thick; thin lines are the single places. Shapes: places (step + 1, m).

    >>> [row["loss"] for row in curve([0.5, 0.4], 8).to_dict()["data"]["values"]]
    [0.5, 0.4]
    """
    x = alt.X(
        "step:Q",
        title="optimiser steps",
        scale=vega.exact_scale(-0.25, most + 0.25),
        axis=alt.Axis(grid=False, values=list(range(most + 1)), format="d", labelOverlap=False),
    )
    y = alt.Y("loss:Q", title="loss", scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=5, domain=False))
    thin = [
        {"step": step, "place": t, "loss": float(value)}
        for step, row in enumerate(() if places is None else np.asarray(places))
        for t, value in enumerate(row)
    ]
    mean = vega.rows([{"step": step, "loss": float(loss)} for step, loss in enumerate(taken)], x=x, y=y)
    told = vega.tooltip(("step:Q", "after step"), ("loss:Q", "mean loss", ".4f"))
    layers = [
        mean.mark_line(strokeWidth=3, color=theme.CATEGORICAL[1]),
        mean.mark_point(filled=True, opacity=1, size=80, color=theme.CATEGORICAL[1]).encode(tooltip=told),
    ]
    if thin:
        each = vega.rows(thin, x=x, y=y, detail="place:N")
        layers.insert(0, each.mark_line(strokeWidth=1.2, color=theme.SEQUENTIAL[3]))
    return _bare(layers, height)


@draw_once
def products(
    ways: Sequence[tuple[str, Sequence[str], Sequence[float]]],
    others: Sequence[Sequence[float]] = (),
    *,
    told: bool = True,
    parts: int = 0,
) -> Chart:
    """How probable the text is so far, token by token, on a logarithmic axis: greedy and the better way, named at their ends.

    ways: (name, tokens, products), greedy first; `parts` is the first place where they differ. `others` are pale.
    Not `told`: only the first step of every way is drawn.

    >>> chart = products([("greedy", ["a", "a"], [0.5, 0.2]), ("best", ["b", "b"], [0.4, 0.36])]).to_dict()
    >>> [(row["way"], row["P"]) for row in chart["layer"][0]["data"]["values"] if row["step"] == 2]
    [('greedy', 0.2), ('best', 0.36)]
    """
    upto = None if told else 1
    longest = max(len(values) for _, _, values in ways)
    low = min(float(min(values[:upto])) for values in (*(values for _, _, values in ways), *others))
    names = [name for name, _, _ in ways]
    aside = alt.ExprRef(f"width - max({9 * max(map(len, names)) + 16}, 0.17 * width)")
    steps = list(range(0, longest + 1, 1 + longest // 8))
    x = alt.X(
        "step:Q",
        title="tokens written",
        scale=vega.exact_scale(-0.03 * longest, longest, range=[0, aside]),
        axis=alt.Axis(grid=False, values=steps, format="d", labelOverlap=False),
    )
    ticks = [tick for tick in TICKS if tick >= low / 2]
    y = alt.Y(
        "P:Q",
        title="probability so far",
        scale=vega.exact_scale(low / 10**0.18, 10**0.12, type="log"),
        axis=alt.Axis(values=ticks, format="~g", domain=False, labelOverlap=True),
    )
    hue = vega.colour_channel("way:N", dict(zip(names, theme.CATEGORICAL[1:3], strict=False)))
    points = [
        {"way": name, "step": step, "P": float(p), "token": token}
        for name, tokens, values in ways
        for step, (token, p) in enumerate(zip(["start", *map(visible, tokens)], [1.0, *values], strict=True))
        if told or step < 2
    ]
    base = vega.rows(points, x=x, y=y, color=hue)
    told_of = vega.tooltip("way:N", "token:N", ("P:Q", "so far", ".4f"))
    layers = [
        base.mark_line(strokeWidth=3),
        base.mark_point(filled=True, opacity=1, size=64).encode(tooltip=told_of),
    ]
    if others:
        pale = [
            {"other": which, "step": step, "P": float(p)}
            for which, values in enumerate(others)
            for step, p in enumerate([1.0, *values[:upto]])
        ]
        each = vega.rows(pale, x=x, y=y, detail="other:N")
        layers.append(each.mark_line(strokeWidth=1.5, color=theme.MUTED, opacity=0.7))
    notes = _notes(ways, told, parts)
    for over in (True, False):
        found = [note for note in notes if note["over"] == over]
        side = 8 if over else -8
        turned: dict[str, Any] = (
            {"angle": 320, "align": "left" if over else "right", "dx": side, "baseline": "middle"}
            if longest > 6
            else {"dy": -side, "baseline": "bottom" if over else "top"}
        )
        if found:
            text = vega.rows(found, x=x, y=y, text="text:N", color=vega.raw_channel("colour:N"))
            layers.append(text.mark_text(fontSize=13 if longest > 4 else 16, **turned))
    for which, (name, _, values) in enumerate(ways if told else ()):
        over = values[-1] > ways[1 - which][2][-1]
        lines = (name, number(float(values[-1]), 3 if values[-1] < 0.1 else 2))
        put: dict[str, Any] = {
            "fontSize": 15,
            "align": "left",
            "dx": 12,
            "baseline": "bottom" if over else "top",
        }
        for row, text in enumerate(reversed(lines) if over else lines):
            end = [{"step": len(values), "P": float(values[-1]), "way": name, "text": text}]
            weight, dy = "normal" if text == name else 600, 2 + 23 * row
            layers.append(
                vega.rows(end, x=x, y=y, text="text:N", color=hue).mark_text(
                    **put, fontWeight=weight, dy=-dy if over else dy
                )
            )
    return _bare(layers, 300 if longest < 4 else 340)


def _notes(ways: Sequence[tuple[str, Sequence[str], Sequence[float]]], told: bool, parts: int) -> Rows:
    """The token of each step, over the upper way and below the lower; what both share is said once."""
    found: Rows = []
    for which, (_, tokens, values) in enumerate(ways):
        for place in range(len(values) if told else 1):
            ends = place == len(tokens) - 1 and tokens[place] == END
            if (which and place < parts) or ends:
                continue
            other = ways[1 - which][2]
            over = values[place] >= other[min(place, len(other) - 1)]
            found.append(
                {
                    "step": place + 1,
                    "P": float(values[place]),
                    "text": token_name(tokens[place]),
                    "over": bool(over),
                    "colour": theme.CATEGORICAL[1 + which] if place >= parts else theme.TEXT,
                }
            )
    return found
