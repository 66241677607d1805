"""What grows how fast: costs over the length on logarithmic axes, the rows of a table as bars, the way between two words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from viz import theme
from viz.labels import plain

HUES = {"self-attention": theme.CATEGORICAL[0], "recurrence": theme.CATEGORICAL[1], "LSTM": theme.CATEGORICAL[1]}
DRAWN = 13
"""Words of a chain that are drawn; of a longer one the first and the last."""
UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def short(value: float) -> str:
    """A large number in three digits.

    >>> short(1_280_000), short(13_107_200), short(8_589_934_592), short(512)
    ('1.28 M', '13.1 M', '8.59 G', '512')
    """
    size, unit = next(((size, unit) for size, unit in UNITS if value >= size), (1.0, ""))
    return f"{value / size:.3g} {unit}".strip()


COUNTS = ((12, "trillion"), (9, "billion"), (6, "million"))
BYTES = ((12, "TB"), (9, "GB"), (6, "MB"), (3, "kB"))


def decade(power: int, unit: str = "") -> str:
    """A power of ten in words, which are read from afar where an exponent is not.

    >>> decade(4), decade(8), decade(4, "bytes"), decade(-1, "ms")
    ('10,000', '100 million', '10 kB', '0.1')
    """
    size, name = next(((size, name) for size, name in (BYTES if unit == "bytes" else COUNTS) if power >= size), (0, ""))
    return f"{10.0 ** (power - size):,g} {name}".strip()


def over_length(lines: Mapping[str, tuple[Sequence[float], Sequence[float]]], *, at: float | None, crossing: float | None, y_title: str, dots: bool = False,
                said: str = "n = p", unit: str = "", covered: bool = False, height: int = 330) -> go.Figure:  # fmt: skip
    """A line each over n, both axes logarithmic; `at` is the visitor's n, `crossing` where the lines meet (marked and named).

    lines: name to (n, value). `covered`: the axes and the visitor's n alone.

    >>> figure = over_length({"recurrence": ([1, 10], [4, 40])}, at=10, crossing=None, y_title="t")
    >>> figure.data[0].name, figure.layout.xaxis.type
    ('recurrence', 'log')
    """
    figure = go.Figure()
    low = min(min(values) for _, values in lines.values())
    high = max(max(values) for _, values in lines.values())
    first, last = (edge(edge(n) for n, _ in lines.values()) for edge in (min, max))
    span = np.log10(high / low) or 1.0
    upper = max(lines, key=lambda name: lines[name][1][-1])
    for name, (n, values) in lines.items():
        colour = HUES.get(name, theme.MUTED)
        figure.add_scatter(
            x=[] if covered else list(n), y=[] if covered else list(values), mode="lines+markers" if dots else "lines", name=plain(name).replace("·", " "), showlegend=False,
            line={"color": colour, "width": 3}, marker={"size": 8}, hovertemplate="n = %{x:,}: %{y:,.4g}" + f" {unit}<extra></extra>",
        )  # fmt: skip
        if not covered:
            figure.add_annotation(x=np.log10(last), y=float(np.log10(values[-1])), text=plain(name).replace("·", " "), xanchor="right", yanchor="bottom" if name == upper else "top",
                                  yshift=4 if name == upper else -12, showarrow=False, bgcolor=theme.BACKGROUND, borderpad=1, font={"size": 14, "color": colour})  # fmt: skip
    if crossing is not None and first < crossing < last and not covered:
        figure.add_vline(x=crossing, line={"color": theme.MUTED, "width": 1.5, "dash": "dash"})
        place = (np.log10(crossing) - np.log10(first)) / (np.log10(last) - np.log10(first))
        figure.add_annotation(x=np.log10(crossing), y=1, yref="paper", yanchor="bottom", xanchor="left" if place < 0.25 else "right" if place > 0.75 else "center", text=f"{said} = {crossing:,.0f}", showarrow=False, font={"size": 14, "color": theme.TEXT})
    if at is not None:
        figure.add_vline(x=at, line={"color": theme.TEXT, "width": 1.5, "dash": "dot"})
        left = crossing is not None and 1 <= crossing / at < 10
        figure.add_annotation(x=np.log10(at), y=0, yref="paper", yanchor="bottom", xanchor="right" if left else "left", xshift=-4 if left else 4, text=f"n = {at:,.0f}", showarrow=False, font={"size": 14, "color": theme.TEXT})
    figure.update_xaxes(type="log", range=[np.log10(first) - 0.03, np.log10(last) + 0.03], dtick=1, title_text="n, words", showgrid=False, fixedrange=True, tickformat=",")
    powers = range(int(np.ceil(np.log10(low) - 0.15)), int(np.floor(np.log10(high) + 0.12 * span)) + 1, max(1, round(span / 5)))
    figure.update_yaxes(type="log", range=[np.log10(low) - 0.15, np.log10(high) + 0.12 * span], title_text=y_title, fixedrange=True, tickvals=[10.0**power for power in powers],
                        ticktext=[decade(power, unit) for power in powers], zeroline=False)  # fmt: skip
    if covered:
        figure.add_annotation(x=0.5, xref="paper", y=0.5, yref="paper", text="?", showarrow=False, font={"size": 30, "color": theme.MUTED})
    return figure.update_layout(template=theme.template(), height=height, margin={"l": 8, "r": 14, "t": 26, "b": 8})


def table(rows: Sequence[tuple[str, Mapping[str, tuple[str, float]]]], *, height: int = 330) -> go.Figure:
    """The rows of a table as bars on one logarithmic scale each: a title, then by name (formula, value); the number behind.

    >>> len(table([("steps", {"self-attention": ("O(1)", 1.0), "recurrence": ("O(n)", 50.0)})]).data)
    2
    """
    figure, y, named = go.Figure(), 0.0, 0
    for title, cells in rows:
        figure.add_annotation(x=0, xref="paper", xanchor="left", y=y - 0.62, text=plain(title).replace("·", " "), showarrow=False, font={"size": 14, "color": theme.MUTED})
        most = np.log10(max(value for _, value in cells.values())) + 1
        for name, (formula, value) in cells.items():
            figure.add_bar(
                x=[(np.log10(value) + 0.25) / most], y=[y], orientation="h", width=0.6, marker={"color": HUES[name]}, name=name, showlegend=named < len(cells),
                text=f"<b>{value:,.0f}</b>  {formula}", textposition="outside", cliponaxis=False, textfont={"size": 15, "color": theme.TEXT}, hoverinfo="skip", constraintext="none",
            )  # fmt: skip
            y, named = y + 0.78, named + 1
        y += 0.95
    figure.update_xaxes(visible=False, range=[0, 1.75], fixedrange=True)
    figure.update_yaxes(visible=False, range=[y - 1.1, -1.0], fixedrange=True)
    return figure.update_layout(template=theme.template(), height=height, margin={"l": 8, "r": 8, "t": 30, "b": 4}, bargap=0,
                                legend={"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom"})  # fmt: skip


def reach(n: int, upto: int | None = None) -> go.Figure:
    """The way from the first of n words to the last: state after state above, one step below. `upto` steps of the chain are walked.

    >>> reach(5).layout.yaxis.range
    (2.9, -1.3)
    """
    figure, whole = go.Figure(), n <= DRAWN
    places = list(range(n)) if whole else [*range(DRAWN // 2), *range(n - DRAWN // 2, n)]
    xs = list(range(n)) if whole else [*range(DRAWN // 2), *range(DRAWN // 2 + 1, DRAWN)]
    walked = n - 1 if upto is None else upto
    width = DRAWN if not whole else n
    for y, colour in ((0.0, theme.CATEGORICAL[1]), (2.0, theme.CATEGORICAL[0])):
        figure.add_scatter(
            x=xs, y=[y] * len(xs), mode="markers+text", text=[f"{place + 1}" for place in places], textfont={"size": 13, "color": theme.TEXT}, hoverinfo="skip", showlegend=False,
            marker={"size": 26, "color": theme.BACKGROUND, "line": {"width": 2.5, "color": [colour if i in (0, len(xs) - 1) else theme.HATCH for i in range(len(xs))]}},
        )  # fmt: skip
        if not whole:
            figure.add_annotation(x=DRAWN // 2, y=y, text="…", showarrow=False, font={"size": 22, "color": theme.MUTED})
    for left, right, place in zip(xs, xs[1:], places, strict=False):
        if right - left > 1:
            continue
        done = place < walked
        figure.add_annotation(x=right - 0.34, y=0, ax=left + 0.34, ay=0, xref="x", yref="y", axref="x", ayref="y", text="", showarrow=True, arrowhead=2, arrowwidth=2.5 if done else 1,
                              arrowcolor=theme.CATEGORICAL[1] if done else theme.LINE)  # fmt: skip
    end = float(xs[-1])
    figure.add_shape(type="path", path=f"M 0,1.72 Q {end / 2},0.55 {end},1.72", line={"color": theme.CATEGORICAL[0], "width": 3})
    for y, text, colour in ((-0.75, f"recurrence: {n - 1:,} steps, one after the other", theme.CATEGORICAL[1]), (2.6, "self-attention: 1 step between any two words", theme.CATEGORICAL[0])):
        figure.add_annotation(x=-0.4, xanchor="left", y=y, text=text, showarrow=False, font={"size": 15, "color": colour})
    figure.update_xaxes(visible=False, range=[-0.6, width - 0.4], fixedrange=True)
    figure.update_yaxes(visible=False, range=[2.9, -1.3], fixedrange=True)
    return figure.update_layout(template=theme.template(), height=260, margin={"l": 4, "r": 4, "t": 4, "b": 4})
