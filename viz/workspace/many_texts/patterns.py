"""The mean pattern of a head over texts that are lined up at one end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from core.scoring.data_set import END, START, DataSetResults
from viz.instruments import grid, heatmap
from viz.labels import head_name, query_and_key, visible
from viz.languages import _, mark
from viz.memo import remembered
from viz.shell import state
from viz.widgets import controls
from viz.workspace.many_texts.data import SortKey
from viz.workspace.shared.attention_kinds import crosses

ENDS = {START: mark("Line up first tokens"), END: mark("Line up last tokens")}
HEIGHT, IN_A_ROOM = 440, 330


def choose_end() -> str:
    """Draw the choice of the end at which texts are lined up, and return it."""
    return controls.segmented(
        _("Aligned"), list(ENDS), "many_texts.align", START, lambda name: _(ENDS[name]), quiet=True
    )


def show(results: DataSetResults, key: SortKey, end: str) -> None:
    """Draw the mean pattern of the head in view, and small ones of all heads; a click on one opens it."""
    mean = results.patterns[key.kind, end]
    weights = remembered(mean, "known", lambda: np.nan_to_num(mean.weights))
    queries, keys = labels(mean.queries, end), labels(mean.keys, end)
    same = key.kind == "causal" and len(queries) == len(keys)
    allowed = np.tril(np.ones(weights.shape[-2:], dtype=bool)) if same else None
    left, right = st.columns([3, 2], gap="large")
    if weights.shape[0] * weights.shape[1] > 1:
        with right:
            place = grid(
                weights,
                key=f"many_texts.all.{key.kind}.{end}",
                selected=(key.layer, key.head),
                allowed=allowed,
                title=_("Mean patterns of all heads"),
                queries=queries,
                keys=keys,
            ).head
        if place is not None and place != (key.layer, key.head):
            state.write(kind=key.kind, layer=place[0], head=place[1])
            st.rerun()
    with left:
        heatmap(
            weights[key.layer, key.head],
            queries,
            keys,
            key=f"many_texts.pattern.{key.kind}.{end}",
            allowed=allowed,
            axis=query_and_key("token", across=crosses(key.kind)),
            title=_("{head}, mean over {n} texts", head=head_name(key.layer, key.head), n=results.n_read),
            margins=False,
            height=IN_A_ROOM if state.presenting() else HEIGHT,
        )
    if not state.presenting():
        n_first, n_least = int(mean.counts.max()), int(mean.counts.min())
        st.caption(
            _(
                "A cell is the mean over the texts that have both positions: {most} texts at the aligned end, {least} at the other. A position is named by its token where at least half of the texts have the same there.",
                most=n_first,
                least=n_least,
            )
        )


def labels(tokens: Sequence[str], end: str) -> list[str]:
    """Return the names of aligned positions: the common token, else the place counted from the aligned end.

    >>> labels(("[CLS]", ""), START), labels(("", "."), END)
    (['[CLS]', '1'], ['−2', '.'])
    """
    n = len(tokens)
    return [
        visible(token.strip(" ")) if token.strip(" ") else str(at) if end == START else f"−{n - at}"
        for at, token in enumerate(tokens)
    ]
