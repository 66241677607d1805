"""Charts of a run, layer by layer: tables of words, changes on a log scale, contributions to a logit, guesses against truth.

Numbers and words in, an Altair chart out. Charts that can be clicked have a selection called `picked`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from viz import theme
from viz.charts import marks
from viz.charts.parts import vega
from viz.charts.parts.figures import draw_once
from viz.labels import shorten, visible
from viz.languages import _, mark
from viz.number_text import signed

Array = np.ndarray[Any, np.dtype[Any]]
LETTERS = 12
HUES = ("embedding", "attention", "feed-forward", "biases", "convolutions")
"""Kinds of parts of a logit, in the order of their categorical colours."""


@draw_once
def lens_table(
    words: Sequence[Sequence[str | None]],
    chances: Array,
    rows: Sequence[str],
    columns: Sequence[str],
    selected: tuple[int, int] | None = None,
    content: str = mark("word"),
    colours: str = mark("probability"),
) -> vega.Layers:
    """Return a table of words, each cell coloured by the probability (`colours`) of its word (`content`), 0 to 1; `selected` (row, column) is framed.

    Shapes: words and chances (row, column); a cell of None is empty. A click selects the fields `place` (row) and `at` (column).

    >>> lens_table([["a", "b"]], np.array([[0.1, 0.9]]), ["the"], ["in", "0"]).to_dict()["layer"][0]["mark"]["type"]
    'rect'
    """
    texts = ["" if word is None else visible(word) for row in words for word in row]
    return marks.cells(
        pd.DataFrame(chances, list(rows), list(columns)),
        [shorten(text, LETTERS) for text in texts],
        key=_("{colours} of the {content}", colours=_(colours), content=_(content)),
        form=".0%",
        highlighted=selected,
        notes=texts,
        clickable=True,
        above=True,
        height=27 * len(rows) + 80,
    )


@draw_once
def ripple_map(
    values: Array, rows: Sequence[str], columns: Sequence[str], changed: Sequence[int] = ()
) -> vega.Layers:
    """Return relative changes on a log scale from 0.001 to 1; exactly zero is grey with a 0 in it, never a pale colour.

    Shapes: values (row, column). `changed` are the columns with bold names.

    >>> layers = ripple_map(np.array([[0.0, 0.5]]), ["in"], ["The", "tired"]).to_dict()["layer"]
    >>> [layer["mark"]["type"] for layer in layers]
    ['rect', 'rect', 'text']
    """
    return marks.cells(
        pd.DataFrame(values, list(rows), list(columns)),
        ["" if value else "0" for value in values.ravel()],
        ends=(0.001, 1),
        logarithmic=True,
        key=_("change, as a share of the vector's length"),
        bold=changed,
        above=True,
        height=30 * len(rows) + 130,
    )


@draw_once
def parts_of_logit(
    names: Sequence[str], values: Sequence[float], hues: Sequence[str], selected: Sequence[str] = ()
) -> vega.Layers:
    """Return one bar a part, in the order given, to the right where it raises the word's logit and to the left where it lowers it.

    `hues` are names of HUES; `selected` bars have a frame. A click selects the field `name`.

    >>> chart = parts_of_logit(["word", "layer 0 attention"], [1.5, -0.5], ["embedding", "attention"])
    >>> chart.to_dict()["layer"][1]["mark"]["type"]
    'text'
    """
    return marks.bars(
        pd.Series([*values], [*names], dtype=float),
        [signed(value, "+.2f") for value in values],
        hues=[HUES.index(hue) for hue in hues],
        kinds=hues,
        highlighted=selected,
        clickable=True,
        row=22,
    )


@draw_once
def agreement_plot(
    estimates: Array, effects: Array, names: Sequence[str], selected: str = "", unit: str = ""
) -> vega.Layers:
    """Return one dot a head: the gradient's estimate against the effect of ablation; on the line both agree.

    Shapes: estimates and effects flat, (head,). A click selects the field `name`.

    >>> agreement_plot(np.zeros(2), np.ones(2), ["L0.H0", "L0.H1"]).to_dict()["layer"][0]["mark"]["type"]
    'line'
    """
    ends = [float(edge) for edge in (min(0, *estimates, *effects), max(0, *estimates, *effects))]
    room = 0.06 * ((ends[1] - ends[0]) or 1.0)
    across, up = _("gradient attribution") + unit, _("effect of ablation") + unit
    named = _named_heads(estimates, effects, names, selected, ends[1] - ends[0])
    table = pd.DataFrame(
        {
            across: estimates,
            up: effects,
            "name": names,
            "head": [
                _("{name}: {guess:+.3f} against {effect:+.3f}", name=name, guess=guess, effect=effect)
                for name, guess, effect in zip(names, estimates, effects, strict=True)
            ],
            "label": [name if name in named else "" for name in names],
            "selected": [name == selected for name in names],
        }
    )
    line = vega.rows([{"x": end, "y": end} for end in ends], x="x:Q", y="y:Q")
    return marks.scatter(
        table,
        across,
        up,
        label="label",
        title=_("Gradient attribution vs. ablation"),
        notes=["head"],
        ends=((ends[0] - room, ends[1] + 3 * room), (ends[0] - room, ends[1] + room)),
        highlighted="selected",
        clickable="name",
        overlay=[line.mark_line(color=theme.MUTED, strokeDash=[3, 3], strokeWidth=1)],
        sizes=[60],
    )


def _named_heads(
    estimates: Array, effects: Array, names: Sequence[str], selected: str, height: float
) -> list[str]:
    """Return the heads that are named: the selected one and up to three with the largest effects, none so near another that the names would overlap."""
    order = sorted(range(len(names)), key=lambda i: (names[i] != selected, -abs(effects[i])))
    kept: list[int] = []
    for i in order[:6]:
        if len(kept) < 4 and all(
            max(abs(effects[i] - effects[j]), abs(estimates[i] - estimates[j]) / 3) > 0.06 * height
            for j in kept
        ):
            kept.append(i)
    return [names[i] for i in kept]
