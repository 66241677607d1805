"""How alike a sentence embedder finds sentences: the cosine of two with their tokens, or of up to ten with each other."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import numpy as np
import streamlit as st

from core.analysis.similarity import MAX_TEXTS, TokenPairs, token_pairs
from core.maths import cosines
from core.run import Run
from viz import theme
from viz.charts.parts import vega
from viz.charts.parts.figures import draw_once
from viz.labels import literal, shorten, visible
from viz.number_text import number
from viz.shell.selection import Selection
from viz.widgets import controls, page_parts
from viz.workspace.shared import model_run

OTHER = "A man eats something."
"""The sentence that is compared with at first."""
BETWEEN, KEY = "|", "look.alike"
COSINES, SHARES = "Cosine of every pair of tokens", "Part of the sentences' cosine"
ROW, AROUND, LONG = 26, 140, 40


def show(run: Run) -> None:
    """Draw the box for the other sentences, the cosine, and below it the tokens of two or the matrix of more."""
    typed = controls.text(
        f"Compare with: a second sentence, or up to {MAX_TEXTS - 1} with {BETWEEN} between them",
        "alike",
        OTHER,
    )
    texts = [part.strip() for part in typed.split(BETWEEN) if part.strip()]
    if len(texts) >= MAX_TEXTS:
        st.caption(f"There are {len(texts)} sentences. The first {MAX_TEXTS - 1} are compared.")
    others = [
        model_run.run(Selection(run.model.name, model_run.readable_part(run.model, text)))
        for text in texts[: MAX_TEXTS - 1]
    ]
    if not others:
        st.caption("Type a sentence above to compare with.")
    elif len(others) == 1:
        _two(run, others[0])
    else:
        _several([run, *others])


def _two(run: Run, other: Run) -> None:
    found = token_pairs(run, other)
    st.markdown(
        f"Cosine similarity of the two sentences: **{number(found.total)}** "
        f":gray[:small[from −1 to 1 · “{literal(shorten(run.side.text, LONG))}” and “{literal(shorten(other.side.text, LONG))}”]]",
        width="content",
    )
    ways = [COSINES, SHARES] if found.shares is not None else [COSINES]
    way = controls.segmented("Token by token", ways, "alike.by", COSINES) if len(ways) > 1 else COSINES
    values = found.cosines if way == COSINES or found.shares is None else found.shares
    page_parts.show(
        tokens(found, values, way), KEY, f"A heatmap of {len(found.one)} by {len(found.other)} tokens: {way}."
    )
    st.caption(_says(found, values, way))


def _says(pairs: TokenPairs, values: np.ndarray, way: str) -> str:
    """Return the pair with the largest value, and the meaning of the numbers."""
    i, j = (int(place) for place in np.unravel_index(int(values.argmax()), values.shape))
    pair = f"“{literal(visible(pairs.one[i]))}” and “{literal(visible(pairs.other[j]))}”"
    if way == SHARES:
        return f"{pair} carry most, {number(values[i, j])}. All cells add up to the cosine of the sentences, {number(pairs.total)}: each vector is the mean of its tokens' vectors."
    return f"{pair} are most alike, {number(values[i, j])}. The vectors are those of the last layer, so each already holds what its token read from its neighbours."


def _several(runs: Sequence[Run]) -> None:
    vectors = np.stack([run.embedding for run in runs]).astype(np.float64)
    values, names = cosines(vectors, vectors), tuple(run.side.text for run in runs)
    apart = values - 2 * np.eye(len(runs))
    i, j = sorted(int(place) for place in np.unravel_index(int(apart.argmax()), apart.shape))
    st.markdown(
        f"Most alike: “{literal(shorten(names[i], LONG))}” and “{literal(shorten(names[j], LONG))}”, cosine **{number(values[i, j])}**",
        width="content",
    )
    numbered = tuple(f"{place + 1}. {name}" for place, name in enumerate(names))
    page_parts.show(
        grid(numbered, numbered, values, "cosine", numbers=True),
        KEY,
        f"A heatmap of the cosines of {len(runs)} sentences with each other.",
    )


def tokens(pairs: TokenPairs, values: np.ndarray, way: str) -> vega.Layers:
    one, other = (tuple(map(visible, names)) for names in (pairs.one, pairs.other))
    return grid(one, other, values, "cosine" if way == COSINES else "part of the cosine")


@draw_once
def grid(
    rows: Sequence[str], columns: Sequence[str], values: np.ndarray, title: str, *, numbers: bool = False
) -> vega.Layers:
    """Draw a row for each text or token, a column for each other, diverging colours centred on 0.

    >>> [layer["mark"]["type"] for layer in grid(("a",), ("b",), np.array([[0.5]]), "cosine", numbers=True).to_dict()["layer"]]
    ['rect', 'text']
    """
    limit = 1.0 if title == "cosine" else float(np.abs(values).max()) or 1.0
    short_rows, short_columns = ([shorten(name, LONG) for name in names] for names in (rows, columns))
    cells = [
        {"place": i, "column": j, "value": round(float(values[i, j]), 4), "one": one, "other": other}
        for i, one in enumerate(short_rows)
        for j, other in enumerate(short_columns)
    ]
    heads = [shorten(name, 14) for name in short_columns]
    axis = vega.bare_axis(
        labelExpr=vega.label_expression(heads), labelAngle=-40, labelOverlap="greedy", orient="bottom"
    )
    across = alt.X("column:O", title=None, axis=axis)
    colour = alt.Color(
        "value:Q",
        scale=alt.Scale(domain=[-limit, limit], range=theme.DIVERGING, interpolate="rgb"),
        legend=vega.legend(title=title, format="~g", gradientLength=220, gradientThickness=9),
    )
    tips = vega.tooltip(("one:N", "row"), ("other:N", "column"), ("value:Q", title, "+.3f"))
    down = vega.row_axis([shorten(name, 28) for name in short_rows], spacing=(0.06, 0))
    base = vega.rows(cells).encode(x=across, y=down, tooltip=tips)
    layers = [base.mark_rect().encode(color=colour)]
    if numbers:
        dark = "abs(datum.value) > 0.6"
        shade = alt.condition(dark, alt.value(theme.BACKGROUND), alt.value(theme.TEXT))
        layers.append(base.mark_text(fontSize=12).encode(text=alt.Text("value:Q", format=".2f"), color=shade))
    return vega.frame(*layers, height=len(rows) * ROW + AROUND)
