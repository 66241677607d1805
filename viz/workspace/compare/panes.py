"""The panes of Compare: which head each shows, another model or sentence for one of them, and the patterns side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import streamlit as st
import torch
from torch import Tensor

from core.edits.serialize import from_text, in_words
from core.errors import InputError
from viz.instruments import heatmap
from viz.instruments.kit.component import stored
from viz.labels import literal, shorten
from viz.shell import state
from viz.widgets import pins, reads
from viz.widgets.pins import View
from viz.workspace.compare import data, written
from viz.workspace.compare.data import LETTERS, Compared, Pane
from viz.workspace.shared import head_picker, tasks
from viz.workspace.shared import reads as _reads

GROUP = "compare"
ROW = "compare.row"
SHORT = {
    "self": "encoder",
    "causal": "causal",
    "decoder": "decoder",
    "cross": "cross",
    "alignment": "alignment",
    "words": "words",
    "sentences": "sentences",
}
NUMBERS = 12
"""Words up to which values stand in the cells of two panes."""


@dataclass(frozen=True)
class Asked:
    """What a pane was asked to show, and what came of it: a pattern, or what is wrong."""

    view: View
    pane: Pane | None
    wrong: str = ""

    @property
    def now(self) -> View:
        return self.pane.view if self.pane else self.view


def ask(views: Sequence[View], by: str) -> list[Asked]:
    """One run a view; a view that cannot be shown leaves the others as they are."""
    found = []
    for view in views:
        try:
            found.append(Asked(view, data.seen(view, by)))
        except InputError as error:
            found.append(Asked(view, None, str(error)))
    return found


def take(views: Sequence[View]) -> None:
    """These views are in the panes now; the page's model and sentence are those of the first."""
    told = pins.panes(tuple(views))
    other = "text" in told and told["text"] != state.read(
        "text", ""
    )  # a given translation belongs to its sentence
    state.write(**told, **{ROW: None}, **({"target": None} if other else {}))


def held(model: str, text: str) -> tuple[View, ...]:
    """The views that were put into the panes; none where the page's model is another one by now."""
    views = pins.held(pins.PANES)
    if not views or views[0].model != model:
        return ()
    return tuple(view if view.text or view.target else replace(view, text=text) for view in views)


def draw(asked: Sequence[Asked], found: Compared | None, row: int | None) -> None:
    """The panes beside each other, each with its head above; the pointer in one marks the same words in all."""
    now = [one.now for one in asked]
    same = data.alike(now, "model", "text", "strategy", "edits")
    good = [place for place, one in enumerate(asked) if one.pane]
    for place, column in enumerate(st.columns(len(asked), gap="medium")):
        with column, st.container(key=f"compare.pane.{place}"):
            _chooser(asked, place, now)
            if not same:
                st.text(_aside(asked[place], now))
            if asked[place].pane is None:
                st.text(asked[place].wrong)
            elif found is not None:
                _pattern(found, good.index(place), place, row)


def tell(asked: Sequence[Asked], said: str) -> None:
    """Of a pane's own sentence, what its model cannot read of it; `said` of the page's was told above."""
    now = [one.now for one in asked]
    for place, here in enumerate(now):
        if asked[place].pane and here.text != said:
            reads.told(
                here.model,
                here.text,
                lambda small, place=place, here=here: take(
                    _with(now, place, replace(here, text=small, target="", strategy=""))
                ),
                key=f"compare.reads.{place}",
            )


def clicked(n: int) -> int | None:
    """The row of the newest click in any pane or the difference, once."""
    newest = None
    for name in (*LETTERS[:n], "difference"):
        event, slot = stored(_key(name), "cell"), f"compare.click.{name}"
        if event and st.session_state.get(slot) != event["id"]:
            st.session_state[slot] = event["id"]
            newest = int(event["at"][0])
    return newest


def _key(name: str) -> str:
    return f"compare.heat.{name}"


def _pattern(found: Compared, pane: int, place: int, row: int | None) -> None:
    shown, weights = found.panes[pane], found.weights[pane]
    shown.tell()
    cell = None if row is None or not found.rows[row][pane] else (row, int(weights[row].argmax()))
    heatmap(
        weights,
        found.words("queries", pane),
        found.words("keys", pane),
        key=_key(LETTERS[place]),
        allowed=found.allowed[pane],
        lone=found.lone(pane),
        selected=cell,
        group=GROUP,
        axis=head_picker.axis(shown.view.kind),
        title=f"{LETTERS[place]}: {shown.name}",
        height=420 if len(found.panes) < 3 else 380,
        numbers=len(found.panes) < 3 and max(weights.shape) <= NUMBERS,
    )


def _chooser(asked: Sequence[Asked], place: int, now: list[View]) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", wrap=False):
        _heads(asked[place], place, now)
        with st.popover("Change", icon=":material/tune:", type="tertiary", key=f"compare.change.{place}"):
            _model(place, now)
            _sentence(place, now)
            _moves(place, now)


def _heads(one: Asked, place: int, now: list[View]) -> None:
    """All heads of the model, and the heads of each layer joined."""
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
        if not head_picker.several(measured):
            return f"its {kind}" if head_picker.sums(kind) else "its one alignment"
        habit = measured[kind].word(layer, head) if isinstance(head, int) else ""
        return "  ".join(filter(None, (SHORT[kind] if len(measured) > 1 else "", view, habit)))

    key = f"compare.head.{place}.{here.model}"
    offered = options if chosen in options else [chosen, *options]
    lit = offered.index(state.held(key, chosen))

    def store() -> None:
        kind, layer, head = st.session_state[key]
        take(_with(now, place, replace(here, kind=kind, layer=layer, head=head)))

    st.selectbox(
        f"{LETTERS[place]}: the head",
        offered,
        lit,
        format_func=name,
        key=key,
        on_change=store,
        label_visibility="collapsed",
    )


def _joined(kind: str, n_heads: int) -> tuple[str, ...]:
    return () if n_heads < 2 else ("mean", "max") if head_picker.crosses(kind) else tuple(pins.AGGREGATES)


def _model(place: int, now: list[View]) -> None:
    key, here = f"compare.model.{place}", now[place]
    names = list(dict.fromkeys([*tasks.usable(), here.model]))
    lit = names.index(state.held(key, here.model))

    def store() -> None:
        take(_with(now, place, View(st.session_state[key], here.text)))

    st.selectbox("Model", names, lit, format_func=literal, key=key, on_change=store)


def _sentence(place: int, now: list[View]) -> None:
    key, here = f"compare.text.{place}", now[place]
    text = state.held(key, here.text)

    def store() -> None:
        if st.session_state[key].strip():
            take(_with(now, place, replace(here, text=st.session_state[key], target="", strategy="")))

    st.text_input("Sentence of this pane", text, key=key, on_change=store)
    _reads.show(
        head_picker.opened(here.model),
        tasks.opening_with(here.model, head_picker.opened(here.model).spec).box,
    )


def _moves(place: int, now: list[View]) -> None:
    """Swap with a neighbour, take out."""
    last = len(now) - 1
    other = place + 1 if place < last else place - 1
    swapped = list(now)
    swapped[place], swapped[other] = now[other], now[place]
    with st.container(horizontal=True, gap="small"):
        st.button(
            f"Swap with {LETTERS[other]}",
            key=f"compare.swap.{place}",
            icon=":material/swap_horiz:",
            on_click=take,
            args=(swapped,),
        )
        if last > 1:
            st.button(
                "Take out",
                key=f"compare.out.{place}",
                icon=":material/close:",
                on_click=take,
                args=([*now[:place], *now[place + 1 :]],),
            )


def more(asked: Sequence[Asked]) -> None:
    """The button for one pane more."""
    now, good = [one.now for one in asked], [one.pane for one in asked if one.pane]
    st.button(
        "+ pane",
        key="compare.more",
        type="tertiary",
        disabled=not good or len(now) >= pins.MOST,
        help="One more head beside these, up to four",
        on_click=take,
        args=([*now, data.another(good)] if good else now,),
    )


def _with(views: Sequence[View], place: int, view: View) -> list[View]:
    return [*views[:place], view, *views[place + 1 :]]


def _aside(one: Asked, now: Sequence[View]) -> str:
    """Which model and text, where the panes differ in them."""
    view = one.now
    model = "" if data.alike(now, "model") else view.model
    how = f"written on, {written.said(view.strategy)}" if view.strategy and one.pane else ""
    changed = ", ".join(map(in_words, from_text(view.edits, _unknown))) if view.edits and one.pane else ""
    text = "" if data.alike(now, "text") else f"“{shorten(' '.join(view.text.split()), 70)}”"
    return " · ".join(filter(None, (model, text, how, changed))) or "As it is"


def _unknown(*_: object) -> Tensor:
    """Stands for the numbers of an edit where only its words are wanted."""
    return torch.zeros(1)
