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
from viz.languages import _, mark
from viz.number_text import number
from viz.shell.selection import Selection
from viz.widgets import controls, page_parts
from viz.workspace.shared import model_run

OTHER = "A man eats something."
"""The sentence that is compared with at first."""
BETWEEN, KEY = "|", "look.alike"
COSINES, SHARES = mark("Cosine of every pair of tokens"), mark("Part of the sentences' cosine")
COSINE, PART = mark("cosine"), mark("part of the cosine")
ROW, AROUND, LONG = 26, 140, 40


def show(run: Run) -> None:
    """Draw the box for the other sentences, the cosine, and below it the tokens of two or the matrix of more."""
    typed = controls.text(
        _(
            "Compare with: a second sentence, or up to {n} with {mark} between them",
            n=MAX_TEXTS - 1,
            mark=BETWEEN,
        ),
        "alike",
        OTHER,
    )
    texts = [part.strip() for part in typed.split(BETWEEN) if part.strip()]
    if len(texts) >= MAX_TEXTS:
        st.caption(
            _("There are {n} sentences. The first {most} are compared.", n=len(texts), most=MAX_TEXTS - 1)
        )
    others = [
        model_run.run(Selection(run.model.name, model_run.readable_part(run.model, text)))
        for text in texts[: MAX_TEXTS - 1]
    ]
    if not others:
        st.caption(_("Type a sentence above to compare with."))
    elif len(others) == 1:
        _two(run, others[0])
    else:
        _several([run, *others])


def _two(run: Run, other: Run) -> None:
    found = token_pairs(run, other)
    st.markdown(
        _(
            "Cosine similarity of the two sentences: **{cosine}** :gray[:small[from −1 to 1 · “{one}” and “{other}”]]",
            cosine=number(found.total),
            one=literal(shorten(run.side.text, LONG)),
            other=literal(shorten(other.side.text, LONG)),
        ),
        width="content",
    )
    ways = [COSINES, SHARES] if found.shares is not None else [COSINES]
    way = controls.segmented(_("Token by token"), ways, "alike.by", COSINES, _) if len(ways) > 1 else COSINES
    values = found.cosines if way == COSINES or found.shares is None else found.shares
    page_parts.show(
        tokens(found, values, way),
        KEY,
        _(
            "A heatmap of {rows} by {columns} tokens: {way}.",
            rows=len(found.one),
            columns=len(found.other),
            way=_(way),
        ),
    )
    st.caption(_says(found, values, way))


def _says(pairs: TokenPairs, values: np.ndarray, way: str) -> str:
    """Return the pair with the largest value, and the meaning of the numbers."""
    i, j = (int(place) for place in np.unravel_index(int(values.argmax()), values.shape))
    one, other = literal(visible(pairs.one[i])), literal(visible(pairs.other[j]))
    if way == SHARES:
        return _(
            "“{one}” and “{other}” carry most, {value}. All cells add up to the cosine of the sentences, {total}: each vector is the mean of its tokens' vectors.",
            one=one,
            other=other,
            value=number(values[i, j]),
            total=number(pairs.total),
        )
    return _(
        "“{one}” and “{other}” are most alike, {value}. The vectors are those of the last layer, so each already holds what its token read from its neighbours.",
        one=one,
        other=other,
        value=number(values[i, j]),
    )


def _several(runs: Sequence[Run]) -> None:
    vectors = np.stack([run.embedding for run in runs]).astype(np.float64)
    values, names = cosines(vectors, vectors), tuple(run.side.text for run in runs)
    apart = values - 2 * np.eye(len(runs))
    i, j = sorted(int(place) for place in np.unravel_index(int(apart.argmax()), apart.shape))
    st.markdown(
        _(
            "Most alike: “{one}” and “{other}”, cosine **{cosine}**",
            one=literal(shorten(names[i], LONG)),
            other=literal(shorten(names[j], LONG)),
            cosine=number(values[i, j]),
        ),
        width="content",
    )
    numbered = tuple(f"{place + 1}. {name}" for place, name in enumerate(names))
    page_parts.show(
        grid(numbered, numbered, values, COSINE, numbers=True),
        KEY,
        _("A heatmap of the cosines of {n} sentences with each other.", n=len(runs)),
    )


def tokens(pairs: TokenPairs, values: np.ndarray, way: str) -> marks.vega.Layers:
    one, other = (tuple(map(visible, names)) for names in (pairs.one, pairs.other))
    return grid(one, other, values, COSINE if way == COSINES else PART)


def grid(
    rows: Sequence[str], columns: Sequence[str], values: np.ndarray, key: str, *, numbers: bool = False
) -> marks.vega.Layers:
    """Draw a row for each text or token, a column for each other, diverging colours centred on 0."""
    limit = 1.0 if key == COSINE else float(np.abs(values).max()) or 1.0
    down, across = ([shorten(name, LONG) for name in names] for names in (rows, columns))
    table = pd.DataFrame(values, down, across)
    height = len(rows) * ROW + AROUND
    return marks.cells(table, "{:.2f}" if numbers else None, ends=(-limit, limit), key=_(key), height=height)
