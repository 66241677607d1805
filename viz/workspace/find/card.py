"""The card of one head: its scores with the test that defines each, the sentences behind them, an untrained copy, stability."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.heads.evidence import TESTS, Evidence, is_positional, stability
from core.analysis.heads.habits import HABIT_NAMES, PATCH_CONTENT, HeadHabits
from core.data.texts import Sentence
from viz import number_text
from viz.instruments import READING, WRITING, strip
from viz.instruments.kit import origin
from viz.instruments.picture import patches
from viz.labels import literal, visible
from viz.languages import _, mark, ngettext
from viz.shell import state
from viz.shell.selection import Selection
from viz.widgets import controls, page_parts
from viz.workspace.find import charts, pool, tiles
from viz.workspace.find.pool import Head
from viz.workspace.shared import attention_kinds, head_ref, model_run

FOLLOWS = {
    True: mark("It keeps this on shuffled words ({shuffled:.2f}): a positional habit."),
    False: mark("On shuffled words it is {shuffled:.2f}: a habit that depends on the words."),
}
ANYWAY = mark(
    "Other words, which have no reason to look there, give {anyway:.2f}: the habit depends on the words."
)


def telling(measured: HeadHabits, layer: int, head: int) -> str:
    """Return the measure that represents a head: the one that names it, of a mixture its strongest habit."""
    habit = measured.habit(layer, head)
    return measured.strongest(layer, head) if habit == "mixed" else habit


def show(measured: HeadHabits, bare: HeadHabits | None, head: Head, selection: Selection) -> None:
    """Draw the whole card, in one frame."""
    place = head.place
    with st.container(border=True, key="find.card"):
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            st.markdown(
                f"## {place} :gray[{literal(head.model)}]: {literal(pool.habit(head))}", width="content"
            )
            with st.container(horizontal=True, width="content", gap="medium", vertical_alignment="center"):
                if pool.corpus(head.model)[0] and not state.presenting():
                    pool.corpus_button("find.card.corpus")
                tiles.look_link(head, _("Open in Look"), selection)
        first = telling(measured, place.layer, place.head)
        name = first
        if not state.presenting():
            name = controls.select(
                _("The score"),
                list(measured.scores),
                "find.score",
                first,
                lambda name: _(HABIT_NAMES[name]),
                quiet=True,
            )
        st.markdown(f"{_(TESTS[name])} {_control(measured, name, place.layer, place.head)}")
        evidence = pool.evidence_of(head.model, place.kind, name)
        scores = evidence.head_scores(place.layer, place.head)
        over = stability(scores)
        without = None if bare is None else float(bare.scores[name][place.layer, place.head])
        left, right = st.columns([1, 2] if state.presenting() else [3, 2], gap="large")
        with left:
            page_parts.show(
                charts.one_line(scores, [text.text for text in evidence.texts], untrained=without),
                "find.line",
                _("The score on each of {texts}.", texts=_read(head, len(scores))),
            )
            if not state.presenting():
                values = {
                    "texts": _read(head, len(scores)),
                    "least": over.least,
                    "median": over.median,
                    "most": over.most,
                    "deviation": over.deviation,
                }
                page_parts.summary(
                    _(
                        "On {texts}: least {least:.2f}, median {median:.2f}, most {most:.2f}, standard deviation {deviation:.2f}.",
                        **values,
                    )
                    if without is None
                    else _(
                        "On {texts}: least {least:.2f}, median {median:.2f}, most {most:.2f}, standard deviation {deviation:.2f}; in an untrained copy {untrained:.2f} on all of them.",
                        untrained=without,
                        **values,
                    )
                )
        with right:
            if state.presenting():
                _texts(evidence, head, scores)
                return
            page_parts.dataframe(
                _scores(measured, bare, place.layer, place.head),
                hide_index=True,
                height=210,
                key="find.scores",
            )
        _texts(evidence, head, scores)


def _read(head: Head, n: int) -> str:
    if patches.reads_patches(model_run.open_model(head.model)):
        return ngettext("{n} drawing", "{n} drawings", n)
    return ngettext("{n} text", "{n} texts", n)


def _control(measured: HeadHabits, name: str, layer: int, head: int) -> str:
    if name not in measured.controls:
        return ""
    control = float(measured.controls[name][layer, head])
    if name in PATCH_CONTENT:
        return _("Uniform attention would give them {control:.2f}.", control=control)
    if name in ("previous", "itself", "next", "first"):
        found = is_positional(measured, layer, head) if measured.habit(layer, head) == name else None
        return (
            _("On shuffled words: {control:.2f}.", control=control)
            if found is None
            else _(FOLLOWS[found], shuffled=control)
        )
    return (
        _(ANYWAY, anyway=control)
        if measured.habit(layer, head) == name
        else _("Other words give {control:.2f} to the same places.", control=control)
    )


def _scores(measured: HeadHabits, bare: HeadHabits | None, layer: int, head: int) -> pd.DataFrame:
    """Return every measure of this head, the highest first."""
    names = sorted(measured.scores, key=lambda name: -measured.scores[name][layer, head])
    columns = {
        _("habit"): [_(HABIT_NAMES[name]) for name in names],
        _("score"): [round(float(measured.scores[name][layer, head]), 2) for name in names],
    }
    if bare is not None:
        columns[_("untrained")] = [round(float(bare.scores[name][layer, head]), 2) for name in names]
    return pd.DataFrame(columns)


def draw_drawing(text: str, head: Head, row: int, key: str) -> None:
    """Draw the drawing with the weights of one patch."""
    run, place = model_run.run(Selection(head.model, text)), head.place
    weights = run.attention(place.kind).weights[place.layer, place.head]
    origin.tell(**vars(place), model=head.model, text=text)
    patches.on_patches(run, weights, key=key, selected=row, height=100 if state.presenting() else 220).show()


def _texts(evidence: Evidence, head: Head, scores: np.ndarray) -> None:
    """Draw the text with the highest score and the one with the lowest, the word touched that gives most or least."""
    layer, number = head.place.layer, head.place.head
    texts = (
        (mark("Most"), int(scores.argmax()), evidence.most),
        (mark("Least"), int(scores.argmin()), evidence.least),
    )
    for words, which, rows in texts[:1] if state.presenting() else texts:
        text = evidence.texts[which]
        st.markdown(f"**{_(words)}, {number_text.number(scores[which])}**")
        target = (
            ""
            if isinstance(text, Sentence) and model_run.open_model(head.model).spec.has_source
            else getattr(text, "target", None)
        )
        found = head_ref.attention_of(
            model_run.run(Selection(head.model, text.text, target)), head.place.kind
        )
        if patches.reads_patches(model_run.open_model(head.model)):
            draw_drawing(text.text, head, int(rows[which, layer, number]), f"find.text.{words}")
            continue
        crosses = attention_kinds.crosses(head.place.kind)
        origin.tell(**vars(head.place), model=head.model, text=text.text)
        strip(
            found.weights[layer, number],
            [visible(word) for word in found.queries],
            keys=[visible(word) for word in found.keys] if crosses else None,
            key=f"find.text.{words}",
            allowed=found.allowed[layer, min(number, found.allowed.shape[1] - 1)],
            selected=int(rows[which, layer, number]),
            special=found.special_positions,
            say=WRITING if crosses else READING,
            names=(_("reads"), _("writes")) if crosses else ("", ""),
            height=120,
        )
