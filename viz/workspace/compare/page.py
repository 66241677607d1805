"""Compare: two to four patterns side by side on common words, and what tells two of them apart."""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from viz.languages import _, mark
from viz.shell import state
from viz.shell.pages import Cite, Page
from viz.shell.selection import Selection
from viz.widgets import controls, page_parts, pins
from viz.widgets.pins import View
from viz.workspace.compare import data, folds, panes, presets
from viz.workspace.compare import pair as pairs
from viz.workspace.compare.compared import Compared
from viz.workspace.shared import toolbar
from viz.workspace.shared.head_ref import HeadRef

PAGE = Page(
    title="Compare",
    order=40,
    claim="Two heads read the same sentence. Where do they differ?",
    cites=(
        Cite("vaswani2017", "3.2.2", "multi-head attention"),
        Cite("ghojogh2020", "3.2.2", "Eqs. (19)-(22)"),
        Cite("beigy2021", "Multi-head attention", "different heads focus on different words"),
    ),
    menu="lab",
    activity="two heads, models or texts side by side",
)
BY = {"word": mark("Words"), "token": mark("Tokens")}


@dataclass(frozen=True)
class Params(Selection):
    """The views in the panes; without views a clear pair of heads of the model (the one in view is one of them) on the text."""

    model: str = toolbar.MODEL
    text: str = toolbar.TEXT
    views: tuple[View, ...] = ()
    by: str = "word"


def views_of(p: Params) -> tuple[View, ...]:
    """Return the views of the panes, two at least; a blank is each model's own mask token."""
    return data.with_own_blanks(_views(p))


def _views(p: Params) -> tuple[View, ...]:
    views = list(p.views or (replace(view, target=p.target or "") for view in data.opening(p)))
    if (
        len(views) == 2
        and not any(view.kind for view in views)
        and data.same_in(views, "model")
        and not data.same_in(views, "text")
    ):
        return data.parted(views[0], views[1])
    if len(views) > 1:
        return tuple(views)
    only = views[0]
    return only, replace(data.opening(_selection_of(only))[1], target=only.target, pair=only.pair)


def _selection_of(view: View) -> Selection:
    """Return the selection of a view, without a head where it joins several."""
    layer, head = (view.layer, view.head) if view.kind and isinstance(view.head, int) else (None, None)
    return Selection(view.model, view.text, kind=view.kind or None, layer=layer, head=head)


def compute(p: Params) -> Compared:
    """Run one forward pass for each view (shared and kept by the engine), and bring them onto common words."""
    return data.compared([data.pane_of(view, p.by) for view in views_of(p)], p.by)


def page() -> None:
    page_parts.title(PAGE)
    bench = toolbar.choose("compare", takes_translation=True, runs=toolbar.heads)
    if bench is None:
        return
    views = panes.views_in_panes(bench.selection)
    with st.container(gap=None):
        line = presets.row(views)
        waiting = st.container()  # waiting is told here, and moves nothing below
    params = Params(**vars(_with_linked_head(bench.selection)), views=views, by=_by())
    with waiting:
        requests = panes.ask(views_of(params), params.by)
    panes.show_notes(requests, params.text)
    first = requests[0].now
    one = first.kind and isinstance(first.head, int)
    bench = replace(bench, selection=replace(bench.selection, target=first.target))
    bench.announce(head=HeadRef(first.kind, first.layer, int(first.head)) if one else None)
    _show(params, requests, line)


def _show(params: Params, requests: list[panes.PaneRequest], line: DeltaGenerator) -> None:
    """Draw the panes; below them the difference of the two of a pair, in Present beside them, if there is room."""
    good = [one.pane for one in requests if one.pane]
    found = data.compared(good, params.by) if good else None
    _follow(requests)
    full = (
        state.presenting() and len(requests) == pins.MAX_PINS
    )  # four panes fill a wall: their difference is told
    beside = state.presenting() and len(good) > 1 and not full
    columns = st.columns(len(requests) + beside, gap="medium")
    summary, below = st.container(), st.container()
    pair = row = None
    if found is not None and len(good) > 1:
        with columns[-1] if beside else below:
            with st.container(horizontal=full, gap="large" if full else "small"):
                pair = pairs.pair_in_view(found)
                row = pairs.row_of(pair, on_picture=found.panes[0].is_picture)
                with summary:
                    page_parts.summary(pairs.sentence(found, pair, row))
                pairs.rows(found, pair, row, quiet=beside or full)
            if not full:
                (pairs.difference if beside else pairs.show)(found, pair)
        with below, st.container():
            for note in pairs.notes(found, pair):
                st.text(note)
    panes.draw(requests, found, row, columns[: len(requests)])
    with line if state.presenting() else summary:
        _under(requests)
    if found is not None and pair is not None:
        folds.show(PAGE, found, pair, params.by)


def _under(requests: list[panes.PaneRequest]) -> None:
    with st.container(
        horizontal=True,
        vertical_alignment="center",
        gap="medium",
        width="content" if state.presenting() else "stretch",
    ):
        panes.more(requests)
        if not all(one.pane and one.pane.is_picture for one in requests):
            controls.segmented(
                _("Shown by"), tuple(BY), "compare.by", "word", lambda by: _(BY[by]), quiet=True
            )


def _by() -> str:
    return state.read("compare.by", "word", state.one_of(tuple(BY), "word"))


def _with_linked_head(selection: Selection) -> Selection:
    """Add the kind and the head that were in view on another page."""
    layer, head = (state.read(name, -1, state.whole_number(-1, 999)) for name in ("layer", "head"))
    selection = replace(selection, kind=state.read("kind", "") or None)
    return replace(selection, layer=layer, head=head) if min(layer, head) >= 0 else selection


def _follow(requests: list[panes.PaneRequest]) -> None:
    """Choose the row of a click in a picture; with other sentences in the panes no row stays chosen."""
    now = tuple((one.now.model, one.now.text) for one in requests)
    before = st.session_state.get("compare.shown")
    st.session_state["compare.shown"] = now
    row = panes.clicked(len(requests))
    if row is not None:
        state.write(**{panes.ROW: row})
    elif before not in (None, now):
        state.write(**{panes.ROW: None})
