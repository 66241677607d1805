"""Heads as small pictures in rows, each with its name, a word and a number; and what a view tells the folds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from core.analysis.heads import head_similarity
from core.errors import InputError
from core.run import Run
from viz.instruments import heatmap
from viz.instruments.kit import origin
from viz.instruments.picture import patches
from viz.labels import literal, shorten, visible
from viz.languages import _
from viz.memo import remembered
from viz.shell import links, state
from viz.shell.selection import Selection
from viz.widgets import page_parts
from viz.widgets.export import Arrays
from viz.workspace.find import pool
from viz.workspace.find.charts import on_drawing, thumbnail
from viz.workspace.find.pool import Head, Pool
from viz.workspace.shared import model_run

MOST = 32
"""Words of a text that a small picture shows."""
WIDE, HIGH = 172, 128
"""Pixels of a small picture with its frame, two beside each other on a phone; and of the picture alone."""
IN_A_ROOM, WIDE_IN_A_ROOM, HIGH_IN_A_ROOM = 4, 265, 225
"""In Present: so many in one row, and their pixels."""


@dataclass(frozen=True)
class ViewContent:
    """The content of a view below its picture: a sentence of numbers, and the folds; `archives` are further files to download."""

    numbers: str
    equation: str
    table: Callable[[], pd.DataFrame]
    data: Callable[[], Arrays]
    code: str
    archives: Mapping[str, Callable[[], bytes]] = field(default_factory=dict)


@dataclass(frozen=True)
class Picture:
    """A pattern with its labels and what was allowed (None where every cell was); `complete` unless the text is longer."""

    weights: np.ndarray
    queries: list[str]
    keys: list[str]
    allowed: np.ndarray | None = None
    complete: bool = True
    text: str = ""
    run: Run | None = None
    """Of a picture: what it was made from."""


def on_text(heads_pool: Pool, selection: Selection, heads: Sequence[Head]) -> dict[Head, Picture]:
    """Return the patterns of some heads on one text, by the words that all their models share; the first one's model reads it. Of a drawing by its patches.

    A model that cannot read the text is left out. Raises InputError where they share no word.
    """
    text = selection.text
    if heads_pool.reads_pictures:
        return {head: _on_drawing(head, text) for head in heads}
    first = model_run.open_model(heads[0].model).spec
    target = (
        None
        if not first.has_source
        else ""
        if heads_pool.space == pool.READ
        else model_run.run(Selection(heads[0].model, text)).target_text
    )
    seen: dict[tuple[str, str], head_similarity.TextPatterns] = {}
    for model, kind in dict.fromkeys((head.model, head.place.kind) for head in heads):
        try:
            reads = model_run.open_model(model).spec.has_source
            run = model_run.run(Selection(model, text, (target or "") if reads else None))
        except InputError:
            if model == heads[0].model:
                raise
            continue
        seen[model, kind] = remembered(
            run,
            ("seen", kind, heads_pool.by),
            lambda run=run, kind=kind: head_similarity.text_patterns(run, kind, heads_pool.by),
        )
    queries, keys = head_similarity.common_positions(list(seen.values()))
    if not queries or not keys:
        raise InputError(
            _("No word stands in this text, or in what is written to it, for all of these models."),
            _("A pattern has a row and a column for each such word."),
            _("Type a few words."),
        )
    weights = {which: one.regroup(queries, keys)[:, :MOST, : MOST + 1] for which, one in seen.items()}
    marks = any(part[..., 0].max() > 0.005 for part in weights.values())
    texts = (
        target or "" if heads_pool.space != pool.READ else text,
        target or "" if heads_pool.space == pool.WRITTEN else text,
    )
    rows, columns = (
        _words(words, begins)[:MOST] for words, begins in zip(texts, (queries, keys), strict=True)
    )
    earlier = np.array(queries)[:MOST, None] >= np.array(keys)[None, :MOST]
    pictures = {}
    for head in heads:
        if (head.model, head.place.kind) in seen:
            part = weights[head.model, head.place.kind][_number(head, heads_pool)]
            allowed = np.concatenate([np.ones((len(rows), 1), dtype=bool), earlier], axis=1)
            cut = slice(0 if marks else 1, None)
            pictures[head] = Picture(
                part[:, cut],
                rows,
                ([head_similarity.MARKS] if marks else []) + columns,
                allowed[:, cut] if head.place.kind == "causal" else None,
                complete=max(len(queries), len(keys)) <= MOST,
                text=text,
            )
    return pictures


def _on_drawing(head: Head, text: str) -> Picture:
    run = model_run.run(Selection(head.model, patches.without_hiding(model_run.open_model(head.model), text)))
    attention = run.attention(head.place.kind)
    names = patches.patch_names(attention.keys)
    weights = attention.weights[head.place.layer, head.place.head]
    return Picture(weights, names, names, text=text, run=run)


def _number(head: Head, pool: Pool) -> int:
    """Return the number of a head among its model's heads of this kind, layer after layer."""
    return pool.rows_of(head.model, head.place.kind).index(pool.index(head))


def _words(text: str, begins: Sequence[int]) -> list[str]:
    return [
        visible(text[begin:end].strip()) for begin, end in zip(begins, (*begins[1:], len(text)), strict=True)
    ]


def draw(head: Head, picture: Picture, key: str, *, height: int = 300) -> None:
    """Draw one head with its words."""
    origin.tell(**vars(head.place), model=head.model, text=picture.text)
    if picture.run is not None:
        patches.on_patches(picture.run, picture.weights, key=key, height=height).show()
        return
    heatmap(
        picture.weights,
        picture.queries,
        picture.keys,
        key=key,
        allowed=picture.allowed,
        axis=(_("query"), _("key")),
        height=height,
    )
    if not picture.complete:
        st.caption(_("The pictures show the first {n} words.", n=MOST))


def tiles(
    ranked: Sequence[tuple[Head, str]], pictures: dict[Head, Picture], selection: Selection, key: str
) -> None:
    """Draw heads in rows, as many beside each other as there is room, each with its sentence; one opens in Look or becomes the head in view. In Present the first ones, larger."""
    in_room = state.presenting()
    with st.container(horizontal=True, gap="small", key=key):
        for rank, (head, said) in enumerate(ranked[:IN_A_ROOM] if in_room else ranked):
            habit = pool.habit(head)
            with st.container(
                border=True, gap="small", key=f"{key}.{rank}", width=WIDE_IN_A_ROOM if in_room else WIDE
            ):
                st.markdown(
                    f"**{head.place}** :gray[:small[{literal(said)}]]  \n:gray[:small[{literal(shorten(head.model, 20))}]]  \n:small[{literal(habit)}]"
                )
                if head in pictures:
                    picture = pictures[head]
                    drawn = _thumbnail(picture, HIGH_IN_A_ROOM if in_room else HIGH)
                    page_parts.show(
                        drawn,
                        f"{key}.picture.{rank}",
                        _("The pattern of {head}: {habit}.", head=head, habit=habit),
                    )
                else:
                    st.caption(_("This text is too long for this model."))
                with st.container(
                    horizontal=True,
                    gap=None,
                    vertical_alignment="center",
                    horizontal_alignment="distribute",
                    wrap=False,
                ):
                    look_link(head, _("Open"), selection)
                    st.button(
                        _("Like this"),
                        key=f"{key}.like.{rank}",
                        type="tertiary",
                        help=_("Find the heads that are nearest to this one"),
                        on_click=pool.choose,
                        args=(head, selection),
                    )


def _thumbnail(picture: Picture, height: int) -> go.Figure:
    """Draw the whole pattern; on a picture the row of the class token."""
    grid = picture.run and patches.grid(picture.run)
    if not grid:
        return thumbnail(
            picture.weights, picture.queries, picture.keys, allowed=picture.allowed, height=height
        )
    assert picture.run is not None
    return on_drawing(
        patches.pixels(picture.run),
        picture.weights[0, patches.first(picture.run.model) :].reshape(grid),
        height=height,
    )


def look_link(head: Head, label: str, selection: Selection) -> None:
    """Draw a link to the head in the full view of Look, on the text in view."""
    links.page_link(
        "look", label, **vars(head.place), model=head.model, text=selection.typed_text, view="full"
    )
