"""The changes of one cell of a head's pattern."""

from __future__ import annotations

from functools import partial

import numpy as np
import streamlit as st

from core.edits import Forbid, ForceCell
from viz.labels import literal
from viz.languages import _
from viz.workspace.shared.head_ref import HeadRef
from viz.workspace.what_if import edits
from viz.workspace.what_if.data import Change


def offer(
    change: Change,
    head_ref: HeadRef,
    cell: tuple[int, int] | None,
    queries: list[str],
    keys: list[str],
    mask: np.ndarray,
) -> None:
    """Draw the chosen cell, and the buttons that mask or force it."""
    where = change.before.model.spec.kind(head_ref.kind).path(head_ref.layer, "allowed")
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="what_if.cell"):
        if cell is None:
            st.text(_("Choose a cell of the first picture."))
            return
        query, key = cell
        st.markdown(
            _(
                "The chosen cell: **{query}** attends to **{key}**.",
                query=literal(queries[query]),
                key=literal(keys[key]),
            ),
            width="content",
        )
        shut = not bool(mask[cell])
        st.button(
            _("Mask it"),
            key="what_if.forbid",
            icon=":material/block:",
            disabled=shut,
            on_click=partial(edits.add, change, Forbid(where, query, key, head_ref.head)),
            help=_("This cell is masked anyway")
            if shut
            else _("This head may not look there; its row is shared out over the others"),
        )
        st.button(
            _("Force it"),
            key="what_if.force",
            icon=":material/push_pin:",
            disabled=shut,
            on_click=partial(edits.add, change, ForceCell(where, query, key, head_ref.head)),
            help=_("This cell is masked anyway")
            if shut
            else _("This row of this head gives everything to it"),
        )
