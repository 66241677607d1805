"""How a word is cut: one line for each look into the vocabulary, the letters that were looked up, and whether they were there."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from viz import theme
from viz.charts.parts import panels, vega
from viz.charts.parts.figures import draw_once
from viz.labels import visible

MOST = 12
"""So many looks are drawn: the first ones."""
Look = tuple[int, int, str, bool]
"""From which letter to which, the piece, whether it is there."""


@draw_once
def cutting(word: str, looks: Sequence[Look] | None, *, height: int = 280) -> vega.Layers:
    """Draw the look-ups by which WordPiece cuts a word, one line each: the letters are filled where the piece is in the vocabulary.

    A look is (first letter, end, piece, whether it is in the vocabulary); a piece that is not has a dashed frame. None: a question mark.

    >>> chart = cutting("toy", [(0, 3, "toy", False), (0, 2, "to", True), (2, 3, "##y", True)]).to_dict()
    >>> [row["said"] for row in chart["layer"][0]["data"]["values"]]
    ['toy ✗', 'to ✓', '##y ✓']
    """
    letters, shown = word[:24], list(looks or ())[:MOST]
    n, lines = max(1, len(letters)), max(1, len(shown))
    across, down = vega.hidden_axes((-0.6, 1.75 * n + 1.5), (lines - 0.4, -0.6))
    bars = [
        {
            "x": start - 0.46,
            "x2": end - 0.54,
            "y": line - 0.4,
            "y2": line + 0.4,
            "middle": line,
            "after": n - 0.3,
            "found": found,
            "piece": visible(piece),
            "said": f"{visible(piece)} {'✓' if found else '✗'}",
            "told": "yes" if found else "no",
        }
        for line, (start, end, piece, found) in enumerate(shown)
    ]
    cells = [
        {"x": at, "y": line, "letter": visible(letters[at])}
        for line, (start, end, _, _) in enumerate(shown)
        for at in range(start, min(end, n))
    ]
    looked = vega.rows(
        bars, x=across, y=down, tooltip=vega.tooltip("piece:N", ("told:N", "in the vocabulary"))
    )
    frame = looked.mark_rect(strokeDash=[2, 2]).encode(
        x2="x2:Q",
        y2="y2:Q",
        color=alt.condition("datum.found", alt.value(theme.CATEGORICAL[2]), alt.value(theme.BACKGROUND)),
        fillOpacity=alt.condition("datum.found", alt.value(0.34), alt.value(1)),
        stroke=alt.value(theme.HATCH),
        strokeWidth=alt.condition("datum.found", alt.value(0), alt.value(1)),
    )
    text = vega.rows(cells, x=across, y=down, text="letter:N").mark_text(fontSize=15, color=theme.TEXT)
    said = looked.mark_text(fontSize=14, align="left", color=theme.TEXT).encode(
        x=panels.with_field(across, "after:Q"), y=panels.with_field(down, "middle:Q"), text="said:N"
    )
    covers = [vega.question_mark(44)] if looks is None else []
    return vega.frame(frame, text, said, *covers, height=height - 8)
