"""The pictures of What if: the heads to choose from and what the model says; offered: what moved inside, one head before and after."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.residual.delta import PredictionChange, attention_change, stream_change
from viz.charts import marks
from viz.instruments import clicked_head, grid_packet, heatmap, show_grid
from viz.instruments.kit import origin
from viz.instruments.picture import patches
from viz.labels import head_name, percent, visible
from viz.languages import _, mark
from viz.memo import remembered
from viz.number_text import signed
from viz.shell import state
from viz.widgets import controls, page_parts
from viz.workspace.shared import attention_kinds, head_survey, target_picker
from viz.workspace.shared.attention_kinds import KINDS
from viz.workspace.shared.head_ref import HeadRef
from viz.workspace.shared.tasks import written_by
from viz.workspace.what_if import cells, edits, on_picture
from viz.workspace.what_if.data import Change, offers_rows

GROUP, SEEN = "what_if", "what_if.seen"
INSIDE_VIEW = "what_if.inside"
INSIDE = {"heads": mark("What changed in heads and words"), "before": mark("A head before and after")}
SEEING = INSIDE | {"heads": mark("What changed in heads and patches")}
SHORT = {
    **{"self": mark("reads"), "causal": mark("so far")},
    **{"cross": mark("across"), "decoder": mark("fills in")},
}


@dataclass(frozen=True)
class AttentionChanges:
    """How far heads moved, by kind (layer, head), in bits; the residual stream (layer + 1, position)."""

    heads: dict[str, np.ndarray]
    stream: np.ndarray
    side: str | None

    @property
    def most(self) -> tuple[HeadRef, float]:
        """Return the head whose attention changed most, and how far."""
        kind = max(self.heads, key=lambda name: float(self.heads[name].max()))
        layer, head = np.unravel_index(int(self.heads[kind].argmax()), self.heads[kind].shape)
        return HeadRef(kind, int(layer), int(head)), float(self.heads[kind].max())


def measure_changes(change: Change) -> AttentionChanges:
    """Measure the changes inside, once for a pair of runs."""
    stacks = change.before.model.spec.stacks
    side = None if len(stacks) == 1 else "encoder" if change.kind.queries == "source" else "decoder"

    def measure() -> AttentionChanges:
        heads = {kind: attention_change(change.before, change.after, kind) for kind in change.before.kinds}
        return AttentionChanges(heads, stream_change(change.before, change.after, side), side)

    return remembered(change.after, ("moved", id(change.before), side), measure)


def heads_grid(change: Change) -> None:
    """Draw every head of the kind in view; a click chooses one. The change of a head is named under its tile."""
    if len(change.before.kinds) > 1:
        controls.segmented(
            _("Which attention"),
            change.before.kinds,
            "kind",
            change.place.kind,
            lambda kind: _(KINDS[kind]),
        )
    attention = remembered(
        change.before, ("grid", change.place.kind), lambda: change.before.attention(change.place.kind)
    )
    measured, key = (
        head_survey.survey(change.before.model.name)[change.place.kind],
        f"what_if.grid.{change.place.kind}",
    )
    layers, n_heads = attention.weights.shape[:2]
    named = patches.patch_names if patches.reads_patches(change.before.model) else list
    kinds = [
        [edits.tag(change, i, j) or _(measured.label(i, j)) for j in range(n_heads)] for i in range(layers)
    ]
    packet = grid_packet(
        attention.weights,
        kinds=kinds,
        measures={_("attention change, bits"): measure_changes(change).heads[change.place.kind]},
        allowed=attention.allowed[0, 0],
        group=GROUP,
        place=key,
        queries=named(attention.queries),
        keys=named(attention.keys),
    )
    show_grid(
        packet,
        key=key,
        selected=(change.place.layer, change.place.head),
        echo=clicked_head(key)[1],
        on_choice=partial(_open, change),
    )


def _open(change: Change) -> None:
    at = clicked_head(f"what_if.grid.{change.place.kind}")[0]
    if at is not None:
        edits.store(change.edits, HeadRef(change.place.kind, *at))


def says(change: Change, prediction: PredictionChange | None) -> None:
    """Show what the model predicts before and after."""
    if prediction is None:
        st.text(
            _(
                "Write [MASK] in the place of a word, and the page shows which word the model expects there before and after."
            )
        )
        return
    if change.row is not None and offers_rows(change.before, change.row):
        target_picker.row(change.before, "what_if")
    if change.before.target_text is not None:
        written = written_by(change.before.model)
        st.markdown(f":gray[{_('Its {written} before', written=written)}]")
        st.text(change.before.target_text or "")
        st.markdown(f":gray[{_('Its {written} after, generated again', written=written)}]")
        st.text(change.translation or _("(nothing: it ends at once)"))
        st.markdown(f":gray[{_('How probable each token of the first {written} is', written=written)}]")
    words = [visible(word) for word in prediction.words]
    number = partial(signed, form=".3f") if prediction.score else percent
    before, after = _("before"), _("after")
    table = pd.DataFrame({before: prediction.before, after: prediction.after}, words)
    page_parts.show(
        marks.bars(table, number, highlighted=[after], row=62 if state.presenting() else 50),
        "what_if.says",
        _("Score before and after: {words}", words=", ".join(words))
        if prediction.score
        else _("Probabilities before and after: {words}", words=", ".join(words)),
    )


def fills_the_wall() -> bool:
    """Return whether what changed inside is shown in the place of the heads: in present mode there is none for both."""
    default = "heads" if state.read(SEEN, "") else controls.NONE
    drawn = state.read(INSIDE_VIEW, default, state.one_of((controls.NONE, *INSIDE), default))
    return state.presenting() and drawn != controls.NONE


def inside(change: Change) -> HeadRef:
    """Draw the changes inside, as far as the visitor asks for them. Return the head to look at: the clicked one, else the one that changed most."""
    found = measure_changes(change)
    seen = _head_to_look_at(change, found)
    chosen, picture = bool(state.read(SEEN, "")), patches.reads_patches(change.before.model)
    always = picture and not state.presenting()
    if always:
        on_picture.show(change, seen)
    drawn = controls.optional_pills(
        _("Inside the model"),
        list(INSIDE)[: 1 if always else None],
        INSIDE_VIEW,
        "heads" if chosen else controls.NONE,
        lambda name: _((SEEING if picture else INSIDE)[name]),
    )
    if drawn == "heads":
        left, right = st.columns([2, 3], gap="large")
        with left:
            clicked_on = _heads(found, seen)
        with right:
            _stream(change, found)
        if clicked_on is not None and clicked_on != seen:
            state.write(**{SEEN: f"{clicked_on.kind}.{clicked_on.layer}.{clicked_on.head}"})
            seen, chosen = clicked_on, True
    if picture and drawn == "before" and not always:
        on_picture.show(change, seen)
    if not picture and (drawn == "before" or (drawn == "heads" and chosen)):
        _patterns(change, seen)
    return seen


def _heads(changes: AttentionChanges, head_ref: HeadRef) -> HeadRef | None:
    """Draw how far every head's attention changed; return the head that was clicked."""
    rows = [(kind, layer) for kind, table in changes.heads.items() for layer in range(len(table))]
    names = [
        _("layer {layer}", layer=layer)
        if len(changes.heads) == 1
        else _("{kind}, layer {layer}", kind=_(SHORT[kind]), layer=layer)
        for kind, layer in rows
    ]
    table = np.concatenate(list(changes.heads.values()))
    picture = heatmap(
        table,
        names,
        [f"H{head}" for head in range(table.shape[1])],
        key="what_if.heads",
        axis=(_("layer"), _("head")),
        numbers=True,
        selected=(rows.index((head_ref.kind, head_ref.layer)), head_ref.head),
        title=_("Change of attention per head (JS divergence, bits)"),
        hint=_("choose a head"),
        height=300,
    )
    return None if picture.cell is None else HeadRef(*rows[picture.cell[0]], picture.cell[1])


def _stream(change: Change, changes: AttentionChanges) -> None:
    stream = changes.stream
    picture, title = (
        patches.reads_patches(change.before.model),
        _("Relative change of the residual stream, ‖Δx‖/‖x‖"),
    )
    levels = [
        _("patches") if picture else _("words"),
        *(_("after layer {layer}", layer=layer) for layer in range(len(stream) - 1)),
    ]
    if picture:
        shown = {"rows": levels, "form": "all", "limit": 1.0, "say": patches.SHIFTS, "title": title}
        patches.on_patches(
            change.before, np.minimum(stream, 1.0), key="what_if.stream.patches", **shown
        ).show()
        return
    heatmap(
        np.minimum(stream, 1.0),
        levels,
        edits.labels(change.before, "source" if changes.side == "encoder" else "target"),
        key="what_if.stream",
        axis=(_("level"), _("position")),
        title=title,
        height=300,
        numbers=stream.shape[1] <= 12,
    )


def _head_to_look_at(change: Change, changes: AttentionChanges) -> HeadRef:
    """Return the head to look at: of the link, else the one that changed most, else the one in view."""
    kind, _dot, rest = state.read(SEEN, "").partition(".")
    layer, _dot, head = rest.partition(".")
    if kind in changes.heads and layer.isdecimal() and head.isdecimal():
        shape = changes.heads[kind].shape
        if int(layer) < shape[0] and int(head) < shape[1]:
            return HeadRef(kind, int(layer), int(head))
    place, far = changes.most
    return place if far > 0 else change.place


def _patterns(change: Change, head_ref: HeadRef) -> None:
    """Draw one head before, after, and the difference, on one scale; below them the changes of the chosen cell."""
    crossing = attention_kinds.crosses(head_ref.kind)
    before, after = (run.attention(head_ref.kind, writing=crossing) for run in (change.before, change.after))
    place = head_ref.layer, head_ref.head
    queries, keys = ([visible(token) for token in axis] for axis in (before.queries, before.keys))
    a, b, mask = (
        before.weights[place],
        after.weights[place],
        before.allowed[head_ref.layer, min(head_ref.head, before.allowed.shape[1] - 1)],
    )
    axis = (
        (_("written token"), _("source token")) if crossing else (_("token that looks"), _("token looked at"))
    )
    options = {"allowed": mask, "group": GROUP, "height": 360, "axis": axis}
    views = st.columns(3, gap="medium")
    origin.tell_run(change.before, head_ref.kind, *place)
    with views[0]:
        row = min(len(a) - 1 if change.position is None else change.position, len(a) - 1)
        cell = heatmap(
            a,
            queries,
            keys,
            key=f"what_if.before.{head_ref.kind}",
            title=_("{head} before", head=head_name(*place)),
            hint=_("choose a cell"),
            selected=(row, int(a[row].argmax())),
            **options,
        ).cell
    origin.tell_run(change.after, head_ref.kind, *place, changed=edits.changes_in_words(change))
    with views[1]:
        heatmap(
            b,
            queries,
            keys,
            key=f"what_if.after.{head_ref.kind}",
            title=_("{head} after", head=head_name(*place)),
            **options,
        )
    with views[2]:
        heatmap(
            b - a,
            queries,
            keys,
            key=f"what_if.minus.{head_ref.kind}",
            scale="difference",
            limit=1.0,
            title=_("after minus before"),
            **options,
        )
    cells.offer(change, head_ref, cell, queries, keys, mask)
