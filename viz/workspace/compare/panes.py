"""The panes of Compare: which head each shows, another model or sentence for one of them, and the patterns side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st
import torch
from streamlit.delta_generator import DeltaGenerator
from torch import Tensor

from core.data.patches import without_hidden_mark
from core.edits import ReplaceToken
from core.edits.serialize import describe, from_text
from core.errors import InputError
from viz.instruments import heatmap
from viz.instruments.kit.component import stored
from viz.instruments.picture import patches
from viz.instruments.sketch.sketch import sketch
from viz.labels import shorten
from viz.languages import _, mark
from viz.shell import state
from viz.shell.selection import Selection
from viz.widgets import doodle, input_hints, pins
from viz.widgets.pins import View
from viz.workspace.compare import continuation, data
from viz.workspace.compare.compared import LETTERS, Compared, Pane
from viz.workspace.shared import attention_kinds, head_pills, model_run, tasks
from viz.workspace.shared import reading_hints as _reads

GROUP = "compare"
ROW = "compare.row"
SHORT = {
    "self": mark("encoder"),
    "causal": mark("causal"),
    "decoder": mark("decoder"),
    "cross": mark("cross"),
    "alignment": mark("alignment"),
    "words": mark("words"),
    "sentences": mark("sentences"),
}
SUMMARIES = {"words": mark("its words"), "sentences": mark("its sentences")}
HIGH = 400
"""Pixels of a picture at most."""
CANVAS = 200
NUMBERS = 12
"""Words up to which values stand in the cells of two panes."""


@dataclass(frozen=True)
class PaneRequest:
    """A pane's request and its result: a pattern, or an error."""

    view: View
    pane: Pane | None
    wrong: str = ""

    @property
    def now(self) -> View:
        return self.pane.view if self.pane else self.view


def ask(views: Sequence[View], by: str) -> list[PaneRequest]:
    """Run each view; a view that cannot be shown leaves the others as they are, and so does one with no counterpart to the first."""
    found: list[PaneRequest] = []
    for view in views:
        try:
            pane = data.pane_of(view, by)
            first = next((one.pane for one in found if one.pane), pane)
            found.append(
                PaneRequest(view, pane, wrong)
                if not (wrong := _no_counterpart(first, pane))
                else PaneRequest(view, None, wrong)
            )
        except InputError as error:
            found.append(PaneRequest(view, None, error.text))
    return found


def _no_counterpart(first: Pane, pane: Pane) -> str:
    """Return why no row of one has a counterpart in the other; "" where both read words, or a picture in the same patches."""
    one, other = patches.grid(first.run), patches.grid(pane.run)
    if one == other:
        return ""
    if one and other:
        return _(
            "{model} cuts a picture into {cut} patches, {first} into {first_cut}: no patch has a counterpart. Choose another model.",
            model=pane.view.model,
            cut=f"{other[0]} × {other[1]}",
            first=first.view.model,
            first_cut=f"{one[0]} × {one[1]}",
        )
    return _(
        "Words and patches cannot stand opposite each other: no row has a counterpart. Choose another model here."
    )


def take(views: Sequence[View]) -> None:
    """Put these views into the panes; the page's model and sentence are those of the first."""
    chosen = pins.panes(tuple(views))
    # a given translation belongs to its sentence
    other = "text" in chosen and chosen["text"] != state.read("text", "")
    state.write(**chosen, **{ROW: None}, **({"target": None} if other else {}))


def views_in_panes(selection: Selection) -> tuple[View, ...]:
    """Return the views that were put into the panes; none where the page's model is another one by now."""
    views = pins.pinned_views(pins.PANES)
    if not views or views[0].model != selection.model:
        return ()
    return tuple(view if view.text or view.target else replace(view, text=selection.text) for view in views)


def draw(
    requests: Sequence[PaneRequest],
    comparison: Compared | None,
    row: int | None,
    columns: Sequence[DeltaGenerator],
) -> None:
    """Draw the panes in their columns, each with its head above; the pointer in one marks the same words in all."""
    now = [one.now for one in requests]
    same = data.same_in(now, "model", "text", "strategy", "edits")
    good = [place for place, one in enumerate(requests) if one.pane]
    for place, column in enumerate(columns):
        with column, st.container(key=f"compare.pane.{place}"):
            _chooser(requests, place, now)
            if not same:
                st.text(_model_and_text(requests[place], now))
            if requests[place].pane is None:
                st.text(requests[place].wrong)
            elif comparison is not None:
                _pattern(comparison, good.index(place), place, row)


def show_notes(requests: Sequence[PaneRequest], page_text: str) -> None:
    """Note what a pane's model cannot read of its own sentence; `page_text`, that of the page, was noted above."""
    now = [one.now for one in requests]
    for place, here in enumerate(now):
        if requests[place].pane and here.text != page_text:
            input_hints.show_note(
                here.model,
                here.text,
                lambda small, place=place, here=here: take(
                    _with(now, place, replace(here, text=small, target="", strategy=""))
                ),
                key=f"compare.reads.{place}",
            )


def clicked(n: int) -> int | None:
    """Return, once, the row of the newest click in any pane or the difference."""
    newest = None
    for name in (*LETTERS[:n], "difference"):
        event, slot = stored(_key(name), "cell") or stored(_key(name), "query"), f"compare.click.{name}"
        if event and st.session_state.get(slot) != event["id"]:
            st.session_state[slot] = event["id"]
            newest = int(event["at"][0])
    return newest


def _key(name: str) -> str:
    return f"compare.heat.{name}"


def _pattern(comparison: Compared, pane: int, place: int, row: int | None) -> None:
    shown, weights = comparison.panes[pane], comparison.weights[pane]
    shown.tell()
    title = f"{LETTERS[place]}: {shown.name}"
    if shown.is_picture:
        on_patches(shown, weights, _key(LETTERS[place]), row, title=title, limit=_limit(comparison))
        return
    cell = None if row is None or not comparison.rows[row][pane] else (row, int(weights[row].argmax()))
    heatmap(
        weights,
        comparison.words("queries", pane),
        comparison.words("keys", pane),
        key=_key(LETTERS[place]),
        allowed=comparison.allowed[pane],
        lone=comparison.lone(pane),
        sink=bool(shown.columns),
        selected=cell,
        group=GROUP,
        axis=attention_kinds.axis_names(shown.view.kind),
        title=title,
        height=420 if len(comparison.panes) < 3 else 380,
        numbers=len(comparison.panes) < 3 and max(weights.shape) <= NUMBERS,
    )


def on_patches(pane: Pane, weights: np.ndarray, key: str, row: int | None, **options: Any) -> None:
    """Draw weights of common patches on the drawing of a pane, the chosen row among them."""
    painted = [
        edit.position for edit in from_text(pane.view.edits, _unknown) if isinstance(edit, ReplaceToken)
    ]
    patches.on_patches(
        pane.run, weights, key=key, selected=row, group=GROUP, height=HIGH, painted=painted, **options
    ).show()


def _limit(comparison: Compared) -> float:
    """Return one scale for all: the largest weight on a patch of any pane."""
    return float(max(weights[:, 1:].max() for weights in comparison.weights)) or 1.0


def _chooser(requests: Sequence[PaneRequest], place: int, now: list[View]) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", wrap=False):
        _heads(requests[place], place, now)
        with st.popover(_("Change"), icon=":material/tune:", type="tertiary", key=f"compare.change.{place}"):
            _model(place, now)
            _sentence(place, now)
            _moves(place, now)


def _heads(one: PaneRequest, place: int, now: list[View]) -> None:
    """Draw the choice among all heads of the model, and the heads of each layer joined."""
    here, measured = one.now, one.pane.heads if one.pane else {}
    chosen = (here.kind, here.layer, here.head)
    options = [
        (kind, layer, head)
        for kind, heads in measured.items()
        for layer in range(heads.shape[0])
        for head in (*range(heads.shape[1]), *_joined(kind, heads.shape[1]))
    ]

    def name(option: tuple[str, int, int | str]) -> str:
        kind, layer, head = option
        view = str(View(here.model, "", kind, layer, head))
        if kind not in measured:
            return view
        if not head_pills.has_choice(measured):
            return _(SUMMARIES.get(kind, mark("its one alignment")))
        habit = _(measured[kind].label(layer, head)) if isinstance(head, int) else ""
        return "  ".join(filter(None, (_(SHORT[kind]) if len(measured) > 1 else "", view, habit)))

    key = f"compare.head.{place}.{here.model}"
    offered = options if chosen in options else [chosen, *options]
    lit = offered.index(state.seed_widget(key, chosen))

    def store() -> None:
        kind, layer, head = st.session_state[key]
        take(_with(now, place, replace(here, kind=kind, layer=layer, head=head)))

    st.selectbox(
        _("{letter}: the head", letter=LETTERS[place]),
        offered,
        lit,
        format_func=name,
        key=key,
        on_change=store,
        label_visibility="collapsed",
    )


def _joined(kind: str, n_heads: int) -> tuple[str, ...]:
    return () if n_heads < 2 else ("mean", "max") if attention_kinds.crosses(kind) else tuple(pins.AGGREGATES)


def _model(place: int, now: list[View]) -> None:
    key, here = f"compare.model.{place}", now[place]
    models = tasks.usable()
    draws = patches.reads_patches(model_run.open_model(here.model))
    alike = [name for name in models if (tasks.task_of(name, models[name]) is tasks.SEE) == draws]
    names = list(dict.fromkeys([*alike, here.model]))
    lit = names.index(state.seed_widget(key, here.model))

    def store() -> None:
        take(_with(now, place, View(st.session_state[key], here.text)))

    st.selectbox(_("Model"), names, lit, key=key, on_change=store)


def _sentence(place: int, now: list[View]) -> None:
    model = model_run.open_model(now[place].model)
    if patches.reads_patches(model):
        _drawing(place, now)
        return
    key, here = f"compare.text.{place}", now[place]
    text = state.seed_widget(key, here.text)

    def store() -> None:
        if st.session_state[key].strip():
            take(_with(now, place, replace(here, text=st.session_state[key], target="", strategy="")))

    st.text_input(_("Sentence of this pane"), text, key=key, on_change=store)
    _reads.show(model, tasks.opening_with(model).box)


def _drawing(place: int, now: list[View]) -> None:
    """Draw the choice of another doodle in this pane alone."""
    here = now[place]
    sketch(
        without_hidden_mark(here.text),
        doodle.samples(),
        key=f"compare.drawing.{place}",
        title=_("The drawing of this pane"),
        height=CANVAS,
        preview=False,
        on_stroke=lambda text: take(_with(now, place, replace(here, text=text))),
    )


def _moves(place: int, now: list[View]) -> None:
    """Swap with a neighbour, take out."""
    last = len(now) - 1
    other = place + 1 if place < last else place - 1
    swapped = list(now)
    swapped[place], swapped[other] = now[other], now[place]
    with st.container(horizontal=True, gap="small"):
        st.button(
            _("Swap with {letter}", letter=LETTERS[other]),
            key=f"compare.swap.{place}",
            icon=":material/swap_horiz:",
            on_click=take,
            args=(swapped,),
        )
        if last > 1:
            st.button(
                _("Take out"),
                key=f"compare.out.{place}",
                icon=":material/close:",
                on_click=take,
                args=([*now[:place], *now[place + 1 :]],),
            )


def more(requests: Sequence[PaneRequest]) -> None:
    """Draw the button for one pane more."""
    now, good = [one.now for one in requests], [one.pane for one in requests if one.pane]
    st.button(
        _("+ pane"),
        key="compare.more",
        type="tertiary",
        disabled=not good or len(now) >= pins.MAX_PINS,
        help=_("One more head beside these, up to four"),
        on_click=take,
        args=([*now, data.another(good)] if good else now,),
    )


def _with(views: Sequence[View], place: int, view: View) -> list[View]:
    return [*views[:place], view, *views[place + 1 :]]


def _model_and_text(one: PaneRequest, now: Sequence[View]) -> str:
    """Return the model and the text, where the panes differ in them."""
    view = one.now
    model = "" if data.same_in(now, "model") else view.model
    how = (
        _("written on, {how}", how=continuation.strategy_in_words(view.strategy))
        if view.strategy and one.pane
        else ""
    )
    changed = ", ".join(map(describe, from_text(view.edits, _unknown))) if view.edits and one.pane else ""
    if one.pane and one.pane.is_picture:
        known = {text: _("our {name}", name=_(name)) for name, text in doodle.samples().items()}
        text = (
            "" if data.same_in(now, "text") else known.get(without_hidden_mark(view.text), _("your drawing"))
        )
    else:
        text = (
            "" if data.same_in(now, "text") else _("“{text}”", text=shorten(" ".join(view.text.split()), 70))
        )
    return " · ".join(filter(None, (model, text, how, changed))) or _("As it is")


def _unknown(*_: object) -> Tensor:
    """Return a placeholder for the numbers of an edit where only its words are needed."""
    return torch.zeros(1)
