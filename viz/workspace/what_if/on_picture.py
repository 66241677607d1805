"""One head on the picture before and after the change; below it what can be done to the chosen patch, and to the cell of its row."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from core.analysis.attribution.erasing import patch_occlusion
from core.analysis.attribution.token_importance import key_mask
from core.edits import ReplaceToken
from core.trace import Edit
from viz.instruments.kit import origin
from viz.instruments.picture import patches
from viz.labels import head_name, percent
from viz.languages import _, mark
from viz.widgets import controls
from viz.workspace.shared.head_ref import HeadRef
from viz.workspace.what_if import cells, edits
from viz.workspace.what_if.data import Change

GROUP = "what_if"
HIGH = 300
"""Pixels of a picture: three stand beside each other."""


def show(change: Change, head_ref: HeadRef) -> None:
    """Draw the head before and after, and the difference; a patch that is chosen in the first is the query in all."""
    place, kind = (head_ref.layer, head_ref.head), head_ref.kind
    before, after = (run.attention(kind) for run in (change.before, change.after))
    a, b = before.weights[place], after.weights[place]
    mask = before.allowed[head_ref.layer, min(head_ref.head, before.allowed.shape[1] - 1)]
    first = patches.first(change.before.model)
    limit = float(max(a[:, first:].max(), b[:, first:].max()))
    shared: dict[str, Any] = {"allowed": mask, "group": GROUP, "height": HIGH}
    left, middle, right = st.columns(3, gap="medium")
    origin.tell_run(change.before, kind, *place)
    with left:
        title = _("{head} before", head=head_name(*place))
        key = f"what_if.patches.{kind}"
        query = (
            patches.on_patches(
                change.before, a, key=key, title=title, hint=_("choose a patch"), limit=limit, **shared
            )
            .show()
            .query
        )
    query = query or 0
    origin.tell_run(change.after, kind, *place, changed=edits.changes_in_words(change))
    shared |= {"selected": query, "painted": painted(change)}
    with middle:
        title = _("{head} after", head=head_name(*place))
        patches.on_patches(
            change.after, b, key=f"what_if.patches.after.{kind}", title=title, limit=limit, **shared
        ).show()
    with right:
        patches.on_patches(
            change.after,
            b - a,
            key=f"what_if.patches.minus.{kind}",
            title=_("after minus before"),
            scale="difference",
            **shared,
        ).show()
    _patch(change, head_ref, query)
    names = patches.patch_names(before.keys)
    order = [int(at) for at in np.argsort(-np.where(mask[query], a[query], -1), kind="stable")]
    chosen = controls.select(
        _("What {patch} attends to in {head}", patch=names[query], head=head_name(*place)),
        order,
        f"what_if.key.{query}",
        order[0],
        lambda at: f"{names[at]}  {percent(float(a[query, at]))}",
    )
    cells.offer(change, head_ref, (query, chosen), names, names, mask)


def painted(change: Change) -> list[int]:
    """Return the patches that are painted over."""
    return [edit.position for edit in change.edits if isinstance(edit, ReplaceToken)]


def _patch(change: Change, head_ref: HeadRef, place: int) -> None:
    """Draw the changes of the chosen patch."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="what_if.patch"):
        if place < patches.first(change.before.model):
            st.text(_("Choose a patch of the first picture to take it away."))
            return
        st.markdown(
            _("The chosen patch: **{patch}**.", patch=patches.patch_names(change.before.tokens)[place]),
            width="content",
        )
        model = change.before.model
        for words, icon, edit, tip in (
            (
                mark("Paint it over"),
                ":material/format_paint:",
                patch_occlusion(model, place),
                mark("Its pixels are made black, as the ground"),
            ),
            (
                mark("Hide it from attention"),
                ":material/visibility_off:",
                key_mask(model, head_ref.kind, place),
                mark("It stays in its place, and nothing may look at it any more, in any layer"),
            ),
        ):
            _button(change, words, icon, edit, tip)


def _button(change: Change, words: str, icon: str, edit: Edit, tip: str) -> None:
    made = edit in change.edits
    st.button(
        _(words),
        key=f"what_if.{words}",
        icon=icon,
        disabled=made,
        on_click=partial(edits.add, change, edit),
        help=_("This is done already: take it back above") if made else _(tip),
    )
