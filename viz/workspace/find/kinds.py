"""The measured habits of every head of a model in one table, beside an untrained copy; a click opens a head's card."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.heads.evidence import TESTS, is_positional
from core.analysis.heads.habits import HABIT_NAMES, HeadHabits
from core.data.patches import PatchReader
from viz.labels import head_name, literal
from viz.languages import _, mark, ngettext
from viz.shell import state
from viz.shell.selection import Selection
from viz.widgets import controls, page_parts
from viz.workspace.find import card, charts, pool
from viz.workspace.find.pool import Head
from viz.workspace.find.tiles import ViewContent
from viz.workspace.shared import model_run
from viz.workspace.shared.attention_kinds import KINDS

EQUATION = r"\text{score}(\text{head}) = \frac{1}{|R|} \sum_{r \in R} \sum_{c \in C_r} a_{rc}"
KEY = "find.table"
SCORES = {
    "trained": mark("As trained"),
    "untrained": mark("An untrained copy"),
    "gain": mark("What training added"),
}
ON_A_WALL = 4
"""Heads that are offered in present mode."""
PLACE = {True: mark("place"), False: mark("words"), None: ""}
CODE = """from core.analysis.heads.head_file import read_heads
from core.checkpoints.manifest import shipped_folder

measured = read_heads(shipped_folder() / {model!r})
print(measured.trained[{kind!r}].scores[{name!r}][{layer}, {head}], measured.untrained[{kind!r}].scores[{name!r}][{layer}, {head}])"""


def show(measured: Mapping[str, HeadHabits], head: Head, selection: Selection) -> ViewContent:
    """Draw the table of all heads of one kind of attention, and the card of the head in view."""
    kind = head.place.kind
    bare = pool.untrained(head.model).get(kind)
    if state.presenting():
        _clearest(measured, head, selection)
    else:
        _listed(measured, head, selection, bare)
    card.show(measured[kind], bare, head, selection)
    place, name = head.place, card.telling(measured[kind], head.place.layer, head.place.head)
    return ViewContent(
        _sentence(measured[kind], bare, head.model),
        EQUATION,
        lambda: _tests(measured[kind]),
        lambda: {measure: np.asarray(score) for measure, score in measured[kind].scores.items()},
        CODE.format(model=head.model, kind=kind, name=name, layer=place.layer, head=place.head),
    )


def _clearest(measured: Mapping[str, HeadHabits], head: Head, selection: Selection) -> None:
    """Offer the clearest heads to choose from, and the one in view: a room reads no table of all."""
    if len(measured) > 1:
        controls.segmented(
            _("Which attention"), list(measured), "kind", head.place.kind, lambda kind: _(KINDS[kind])
        )
    trained = measured[head.place.kind]
    now = head.place.layer, head.place.head
    places, key = list(dict.fromkeys([*ordered(trained)[:ON_A_WALL], now])), "find.kinds.clearest"

    def label_of(row: int) -> str:
        place = places[row]
        score = trained.scores[card.telling(trained, *place)][place]
        return f"{head_name(*place)} {literal(pool.habit_label(trained, *place))} :gray[:small[{score:.2f}]]"

    def choose() -> None:
        if (row := st.session_state.get(key)) is not None:
            pool.choose(Head(head.model, type(head.place)(head.place.kind, *places[row])), selection)

    st.pills(
        _("The clearest heads"),
        range(len(places)),
        default=state.seed_widget(key, places.index(now)),
        key=key,
        required=True,
        on_change=choose,
        format_func=label_of,
        wrap=True,
    )


def _listed(
    measured: Mapping[str, HeadHabits], head: Head, selection: Selection, bare: HeadHabits | None
) -> None:
    """Draw the table of all heads."""
    kind = head.place.kind
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="find.kinds.choices"):
        if len(measured) > 1:
            controls.segmented(
                _("Which attention"), list(measured), "kind", kind, lambda kind: _(KINDS[kind])
            )
        scores = controls.segmented(
            _("Scores"),
            list(SCORES) if bare else ["trained"],
            "find.of",
            "trained",
            lambda of: _(SCORES[of]),
        )
    table = frame(measured[kind], bare, scores)
    places = ordered(measured[kind])
    limits = {
        name: st.column_config.NumberColumn(format="%.2f")
        for name in table.columns
        if table[name].dtype.kind == "f"
    }
    page_parts.dataframe(
        table,
        key=KEY,
        hide_index=True,
        height=360,
        column_config=limits,
        on_select=partial(_choose, head, places, selection),
        selection_mode="single-row",
    )
    if "far" in measured[kind].scores:
        _distances(measured[kind], bare, head)
        st.caption(_("Click the box before a row for the head's card; click a column's name to sort."))
    else:
        st.caption(
            _(
                "Click the box before a row for the head's card; click a column's name to sort. A positional habit stays when the words are shuffled; a habit that depends on the words disappears."
            )
        )


def _distances(trained: HeadHabits, bare: HeadHabits | None, head: Head) -> None:
    """Draw how far each head looks, in patches, layer by layer."""
    reader = model_run.open_model(head.model).reader
    assert isinstance(reader, PatchReader)
    diagonal = 2**0.5 * (reader.image // reader.patch - 1)
    untrained = None if bare is None else bare.scores["far"] * diagonal
    page_parts.show(
        charts.distances(trained.scores["far"] * diagonal, untrained, (head.place.layer, head.place.head)),
        "find.distances",
        _("Dots: the mean distance of each head in patches, layer by layer; pale ones of an untrained copy."),
    )


def ordered(trained: HeadHabits) -> list[tuple[int, int]]:
    """Return every head, those with a clear habit first, the clearest at the top."""

    def rank(place: tuple[int, int]) -> tuple[bool, float]:
        return trained.habit(*place) in ("mixed", "spread"), -float(
            trained.scores[card.telling(trained, *place)][place]
        )

    return sorted(((int(layer), int(head)) for layer, head in np.ndindex(*trained.shape)), key=rank)


def frame(trained: HeadHabits, bare: HeadHabits | None, scores: str) -> pd.DataFrame:
    """Return one row for each head: its habit with the score, the same score untrained and on shuffled words, then every measure."""
    places = ordered(trained)
    names = [card.telling(trained, *place) for place in places]
    columns: dict[str, list] = {
        _("head"): [head_name(*place) for place in places],
        _("habit"): [pool.habit_label(trained, *place) for place in places],
        _("score"): [float(trained.scores[name][place]) for name, place in zip(names, places, strict=True)],
    }
    if bare:
        columns[_("untrained")] = [
            float(bare.scores[name][place]) for name, place in zip(names, places, strict=True)
        ]
    if any(is_positional(trained, *place) is not None for place in places):
        columns[_("follows")] = [_(PLACE[is_positional(trained, *place)]) for place in places]
    for name, score in trained.scores.items():
        shown = (
            score
            if scores == "trained" or bare is None
            else bare.scores[name]
            if scores == "untrained"
            else score - bare.scores[name]
        )
        columns[_(HABIT_NAMES[name])] = [float(shown[place]) for place in places]
    return pd.DataFrame(columns)


def _choose(head: Head, places: list[tuple[int, int]], selection: Selection) -> None:
    """Choose the head of the row that was clicked."""
    rows = st.session_state[KEY]["selection"]["rows"]
    if rows:
        pool.choose(Head(head.model, type(head.place)(head.place.kind, *places[int(rows[0])])), selection)


def _sentence(trained: HeadHabits, bare: HeadHabits | None, model: str) -> str:
    n = trained.shape[0] * trained.shape[1]

    def clear(measured: HeadHabits) -> int:
        return sum(
            measured.habit(layer, head) not in ("mixed", "spread")
            for layer in range(measured.shape[0])
            for head in range(measured.shape[1])
        )

    texts = (
        ngettext("{n} drawing", "{n} drawings", trained.n)
        if "far" in trained.scores
        else ngettext("{n} text", "{n} texts", trained.n)
    )
    values = {"clear": clear(trained), "heads": n, "model": model, "texts": texts}
    if bare is None:
        return _(
            "{clear} of the {heads} heads of {model} have a clear habit on {texts}. The others are near-uniform or have no clear pattern.",
            **values,
        )
    return _(
        "{clear} of the {heads} heads of {model} have a clear habit on {texts}; in an untrained copy {untrained}. The others are near-uniform or have no clear pattern.",
        untrained=clear(bare),
        **values,
    )


def _tests(measured: HeadHabits) -> pd.DataFrame:
    """Return the meaning of each score, in words, with the head that has most of it."""
    best = {
        name: np.unravel_index(int(score.argmax()), score.shape) for name, score in measured.scores.items()
    }
    return pd.DataFrame(
        {
            _("habit"): [_(HABIT_NAMES[name]) for name in best],
            _("the test"): [_(TESTS[name]) for name in best],
            _("most"): [head_name(int(place[0]), int(place[1])) for place in best.values()],
            _("its score"): [round(float(measured.scores[name][place]), 2) for name, place in best.items()],
        }
    )
