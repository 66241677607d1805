"""How alike a sentence embedder finds sentences: the cosine of two with their tokens, or of up to ten with each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.similarity import MAX_TEXTS, TokenPairs, token_pairs
from core.maths import cosines
from core.run import Run
from viz.charts import marks
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


def tokens(pairs: TokenPairs, values: np.ndarray, way: str) -> marks.vega.Layers:
    one, other = (tuple(map(visible, names)) for names in (pairs.one, pairs.other))
    return grid(one, other, values, "cosine" if way == COSINES else "part of the cosine")


def grid(
    rows: Sequence[str], columns: Sequence[str], values: np.ndarray, key: str, *, numbers: bool = False
) -> marks.vega.Layers:
    """Draw a row for each text or token, a column for each other, diverging colours centred on 0."""
    limit = 1.0 if key == "cosine" else float(np.abs(values).max()) or 1.0
    down, across = ([shorten(name, LONG) for name in names] for names in (rows, columns))
    table = pd.DataFrame(values, down, across)
    height = len(rows) * ROW + AROUND
    return marks.cells(table, "{:.2f}" if numbers else None, ends=(-limit, limit), key=key, height=height)
