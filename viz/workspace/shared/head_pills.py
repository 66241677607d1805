"""The head in view: the one that a page opens with, the pills that choose another, the word that is touched."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import islice

import streamlit as st

from core.analysis.attribution.target_token import blank_rows
from core.analysis.heads.evidence import TESTS
from core.analysis.heads.habits import HABIT_NAMES, HeadHabits
from core.glossary import term
from core.run import Run
from viz.languages import _
from viz.shell import state
from viz.widgets import input_hints
from viz.workspace.shared.attention_kinds import RANK, crosses
from viz.workspace.shared.head_ref import HeadRef, head_label
from viz.workspace.shared.head_survey import clearest_heads, key_text, survey_of_run

PILLS = 4


def chosen_head(measured: Mapping[str, HeadHabits], run: Run | None = None) -> HeadRef:
    """Return the head to show: the visitor's, else the most telling one (for this run).

    The heads of a model that did not ship are measured in the background, on many sentences. Which one opens does not wait for that: it is
    the most telling one of this run, so that a link opens the same head before and after.
    """
    if run is not None and not input_hints.is_shipped(run.model.name):
        measured = survey_of_run(run) or measured
    first = _opening_head(measured, run)
    kind = state.read("kind", "") or ""
    kind = kind if kind in measured else first.kind  # another model may have other kinds
    best = (
        first
        if kind == first.kind
        else HeadRef(
            kind, *next(iter(measured[kind].best_head_by_habit(key_text(run, kind) if run else "").values()))
        )
    )
    layers, n_heads = measured[kind].shape
    return HeadRef(
        kind,
        state.read("layer", best.layer, state.whole_number(0, layers - 1)),
        state.read("head", best.head, state.whole_number(0, n_heads - 1)),
    )


def _opening_head(measured: Mapping[str, HeadHabits], run: Run | None) -> HeadRef:
    """Return the most telling head; of a model that reads one text and writes another, one that attends from one to the other."""
    across = {kind: measured[kind] for kind in measured if crosses(kind)}
    clearest = next(iter(clearest_heads(across or measured, run)), None)
    return clearest or HeadRef(min(across or measured, key=RANK.index), 0, 0)


def has_choice(measured: Mapping[str, HeadHabits]) -> bool:
    """Return whether there are heads to choose from; a recurrent translator has one alignment."""
    return any(heads.shape != (1, 1) for heads in measured.values())


def select_head(place: HeadRef) -> None:
    state.write(kind=place.kind, layer=place.layer, head=place.head)


def draw_pills(measured: Mapping[str, HeadHabits], now: HeadRef, run: Run | None = None) -> None:
    """Draw an explanation of heads behind a question mark, and a pill for each of the most telling habits and for the head in view."""
    shown = dict(islice(clearest_heads(measured, run).items(), PILLS))
    shown.setdefault(now, measured[now.kind].label(now.layer, now.head))
    key = f"look.pills:{sorted(measured)}"
    state.seed_widget(key, now)
    with st.container(
        horizontal=True,
        horizontal_alignment="center",
        vertical_alignment="center",
        gap="small",
        key="look.heads",
    ):
        st.markdown(f":gray[:small[{_('Heads')}]]", help=explain_names(measured, shown), width="content")
        st.pills(
            _("Heads, by what they do"),
            list(shown),
            key=key,
            default=[now],
            required=True,
            label_visibility="collapsed",
            width="content",
            format_func={
                place: f"{_(habit)} :gray[:small[{head_label(place, measured)}]]"
                for place, habit in shown.items()
            }.__getitem__,
            on_change=_store,
            args=(key,),
        )


def explain_names(measured: Mapping[str, HeadHabits], heads: Collection[HeadRef]) -> str:
    """Return Markdown that explains the word head, as in the glossary, and the test behind the name of each of these heads."""
    found = {measured[place.kind].habit(place.layer, place.head): place for place in heads}
    names = "".join(
        f"\n- **{_(HABIT_NAMES[habit])}**: {_(TESTS[habit])}" for habit in found if habit in TESTS
    )
    about = _("The names say what a head did in a test, on sentences of ours:")
    return f"{term('head').sentence}\n\n{about}{names}"


def _store(key: str) -> None:
    place = st.session_state.get(key)
    if place is not None:
        select_head(place)


def touched_word(run: Run, kind: str) -> str | None:
    """Return the word that the link selects; it is forgotten when another sentence, model or kind is shown."""
    now = (run.model.name, run.side.text, run.source.text if run.source else "", kind)
    before = st.session_state.get("look.shown")
    st.session_state["look.shown"] = now
    first = blank_rows(run)[:1]
    hidden = [word for word, text in enumerate(run.side.words) if text.pieces[0] in first]
    start = str(hidden[0]) if hidden else None
    if before not in (None, now):
        state.write(**{"look.word": None})
        return start
    return state.read("look.word", "") or start
