"""All heads over a data set: the mean of a measure, and the texts on which the head in view has it most and least."""

from __future__ import annotations

import warnings

import numpy as np
import streamlit as st

from core.analysis.heads.habits import HABIT_NAMES
from core.scoring.data_set import DataSetResults
from viz.instruments import heatmap
from viz.labels import head_name
from viz.languages import _
from viz.memo import remembered
from viz.number_text import number
from viz.shell import state
from viz.workspace.many_texts import listing
from viz.workspace.many_texts.data import HEAD, SortKey, TextView

HEIGHT = 360


def means(results: DataSetResults, kind: str, measure: str) -> np.ndarray:
    """Return the mean of a measure of each head (layer, head) over the texts that have it."""

    def mean() -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # no text has it: NaN
            return np.nanmean(results.scores[kind][measure].astype(float), axis=0)

    return remembered(results, ("means", kind, measure), mean)


def show(view: TextView) -> None:
    """Draw the mean of a measure for every head, and beside it the texts as points for the head in view."""
    key = view.key
    table = means(view.results, key.kind, key.measure)
    rows, columns = (
        [f"{letter}{at}" for at in range(n)] for letter, n in zip("LH", table.shape, strict=True)
    )
    left, right = st.columns([3, 2], gap="large")
    with left:
        cell = heatmap(
            np.nan_to_num(table),
            rows,
            columns,
            key=f"many_texts.heads.{key.kind}.{key.measure}",
            axis=(_("layer"), _("head")),
            selected=(key.layer, key.head),
            title=_("Mean over the texts: {measure}", measure=_(HABIT_NAMES[key.measure])),
            numbers=True,
            margins=False,
            height=HEIGHT,
        ).cell
    if cell is not None and cell != (key.layer, key.head):
        state.write(kind=key.kind, layer=cell[0], head=cell[1])
        st.rerun()
    with right:
        values = key.values(view.results)
        known = values[np.isfinite(values)]
        st.markdown(f"## {_('{head} on each text', head=head_name(key.layer, key.head))}")
        text = _(
            "{measure}: mean {mean}",
            measure=_(HABIT_NAMES[key.measure]),
            mean=number(float(known.mean()), 3) if len(known) else _("not known"),
        )
        if len(known) > 1:
            text += _(", spread (standard deviation) {spread}", spread=number(float(known.std()), 3))
        st.text(text)
        listing.points(view)
        if not state.presenting():
            listing.show_text(view)
            st.button(
                _("Sort the texts by this head"),
                icon=":material/sort:",
                type="tertiary",
                on_click=_sort_by,
                args=(key,),
                key="many_texts.sort_by_head",
            )


def _sort_by(key: SortKey) -> None:
    """Go to the list of texts, sorted by the head in view."""
    names = {"many_texts.by": "texts", "many_texts.sort": HEAD, "many_texts.measure": key.measure}
    state.write(**names, kind=key.kind, layer=key.layer, head=key.head)
