"""The edits of What if as the visitor sees them: one line each, removable; what is done to the head in view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from core.analysis.attribution.erasing import BLANK
from core.edits import MeanHead, PatchHead, ReplaceToken, ScaleHead, ZeroHead
from core.edits.serialize import describe, to_text
from core.run import Run, TokenSequence
from core.trace import Edit
from viz.instruments.picture import patches
from viz.labels import literal, visible
from viz.languages import _, mark
from viz.shell import state
from viz.widgets import doodle, page_parts
from viz.workspace.shared.head_ref import HeadRef
from viz.workspace.shared.what_if_link import EDITS, NONE
from viz.workspace.what_if import data
from viz.workspace.what_if.data import Change

MODES = {
    **{"on": mark("As it is"), "zero": mark("Zero-ablate"), "mean": mark("Mean-ablate")},
    **{"half": mark("Half"), "double": mark("Double")},
}
FACTORS = {"half": 0.5, "double": 2.0}


def store(edits: Sequence[Edit], place: HeadRef) -> None:
    """Store the edits and the head in view in the link."""
    text = to_text(edits) or NONE
    state.write(**{EDITS: text, "kind": place.kind, "layer": place.layer, "head": place.head})


def add(change: Change, edit: Edit) -> None:
    """Add one more change."""
    store([*(other for other in change.edits if other != edit), edit], change.place)


def chips(change: Change) -> None:
    """Draw each change in words; a touch takes it back."""
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="what_if.chips"):
        for number, edit in enumerate(change.edits):
            rest = [other for place, other in enumerate(change.edits) if place != number]
            st.button(
                literal(edit_in_words(edit, change.before)),
                key=f"what_if.chip.{number}",
                icon=":material/close:",
                help=_("Take this change back"),
                on_click=partial(store, rest, change.place),
            )
        if not change.edits:
            st.text(
                _("Nothing is changed. Choose a head below and ablate it, or a patch and paint it over.")
                if patches.reads_patches(change.before.model)
                else _("Nothing is changed. Choose a head below and ablate it.")
            )


def changes_in_words(change: Change) -> str:
    """Return all changes in words; "" for none."""
    return "; ".join(edit_in_words(edit, change.before) for edit in change.edits)


def edit_in_words(edit: Edit, run: Run) -> str:
    """Return the edit in words, with the words of this text; another drawing by its name."""
    if isinstance(edit, PatchHead) and patches.reads_patches(run.model):
        known = {text: _("our {name}", name=name) for name, text in doodle.samples().items()}
        other = _("another drawing")
        edit = replace(edit, recipe=tuple(known.get(str(text), other) for text in edit.recipe))
    sides = {"target": run.side, "source": run.source or run.side}
    for kind in run.model.spec.kinds_of(run.model.config):
        if f"{kind.stack}." in edit.where and kind.leaf in edit.where:
            rows = sides[kind.queries].next_tokens() if kind.name == "cross" else sides[kind.queries]
            return describe(edit, names(run, rows), names(run, sides[kind.keys]), _)
    side = sides["source"] if edit.where.startswith("encoder") else sides["target"]
    if isinstance(edit, ReplaceToken) and edit.token == BLANK and patches.reads_patches(run.model):
        return _("{patch} painted over", patch=names(run, side)[edit.position].capitalize())
    return describe(edit, names(run, side), None, _)


def mode(change: Change) -> str:
    """Return the name of the change of the head in view."""
    for edit in change.edits:
        if data.touches(edit, change):
            if isinstance(edit, ScaleHead):
                return next((name for name, factor in FACTORS.items() if factor == edit.factor), "on")
            return "zero" if isinstance(edit, ZeroHead) else "mean" if isinstance(edit, MeanHead) else "on"
    return "on"


def switch(change: Change) -> None:
    """Draw the switch of the head in view: on, off, half, double."""
    key = f"what_if.mode:{change.place.kind}.{change.place}"
    now = state.seed_widget(key, mode(change))
    st.segmented_control(
        _("Output of {head}", head=change.place),
        list(MODES),
        format_func=lambda name: _(MODES[name]),
        key=key,
        default=now,
        required=True,
        on_change=_switched,
        args=(key, change),
        help=page_parts.glossary_help("", "ablation"),
        wrap=True,
    )


def _switched(key: str, change: Change) -> None:
    mode = st.session_state.get(key)
    rest = [edit for edit in change.edits if not data.touches(edit, change)]
    new = edit_of(mode, change)
    store([*rest, new] if new else rest, change.place)


def edit_of(mode: str | None, change: Change) -> Edit | None:
    """Return the edit of a mode; None for the head as it is."""
    where, head = change.path("heads"), change.place.head
    if mode == "zero":
        return ZeroHead(where, head)
    if mode == "mean":
        return MeanHead(where, head, over=data.over(change.before.model))
    return ScaleHead(where, head, FACTORS[mode]) if mode in FACTORS else None


def tag(change: Change, layer: int, head: int) -> str:
    """Return the change of some head of the kind in view, in a word; "" where there is none."""
    words: dict[type[Any], str] = {ZeroHead: _("off"), MeanHead: _("mean")}
    for edit in change.edits:
        if (
            isinstance(edit, data.HEADS)
            and edit.where == change.kind.path(layer, "heads")
            and edit.head == head
        ):
            return words.get(
                type(edit), f"× {edit.factor:g}" if isinstance(edit, ScaleHead) else _("patched")
            )
    return ""


def labels(run: Run, axis: str, *, writing: bool = False) -> list[str]:
    """Return the tokens of one side, white space visible."""
    side = run.source if axis == "source" and run.source is not None else run.side
    return names(run, side.next_tokens() if writing else side)


def names(run: Run, side: TokenSequence) -> list[str]:
    """Return the tokens of a side as they are shown: white space visible, patches by their positions."""
    return (
        patches.patch_names(side.tokens)
        if patches.reads_patches(run.model)
        else [visible(t) for t in side.tokens]
    )
