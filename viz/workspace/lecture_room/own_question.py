"""A question of the lecturer's own: a choice, a number, a word or a cell of the sentence on screen."""

from __future__ import annotations

import itertools
from typing import cast

import streamlit as st

from viz.charts.room_answers import answers_chart
from viz.labels import literal
from viz.server.rooms.ask import Form, Kind, Question
from viz.server.rooms.room import Room
from viz.shell import errors, subject
from viz.shell.room_bar import lecture
from viz.widgets import page_parts
from viz.workspace.lecture_room import attention

KINDS = {
    "choice": "A choice",
    "number": "A number",
    "word": "A word",
    "cell": "A query and a key",
    "looks": "Where it looks, beside the heads",
}


def show(room: Room) -> None:
    """The form, or the question that is asked now with what came of it."""
    st.header("Ask the room", anchor=False)
    asked = room.question
    if asked is None or not asked.key.startswith(lecture.OWN):
        _form(room)
        return
    st.markdown(f"**{literal(asked.words)}**")
    if not asked.revealed:
        st.text(
            "The room answers; the bar at the bottom counts. Nobody sees what was answered before you reveal it."
        )
        with st.container(horizontal=True):
            st.button("Reveal", type="primary", key="room.reveal", on_click=room.reveal)
            st.button("Take it back", key="room.takeback", on_click=room.asks, args=(None,))
        return
    if asked.key == attention.KEY:
        attention.show(room, asked)
        st.button("Close the question", key="room.close", on_click=room.asks, args=(None,))
        return
    counted = asked.form.spread(list(asked.answers.values()))
    names, counts = _bars(asked.form, counted)
    said = f"{len(asked.answers)} answered."
    if counts:
        page_parts.show(answers_chart(names, counts), "room.answers", f"What the room answered: {said}")
    page_parts.numbers(said)
    st.button("Close the question", key="room.close", on_click=room.asks, args=(None,))


def _bars(form: Form, counted: dict) -> tuple[list[str], list[int]]:
    if form.kind == "cell":
        most = sorted(counted["cells"], key=lambda cell: -cell[2])[:12]
        return [f"{form.options[r]} → {form.options[c]}" for r, c, _ in most], [n for *_, n in most]
    counts = counted["counts"]
    if form.kind == "number":
        edges = counted["edges"]
        return [f"{a:.3g} to {b:.3g}" for a, b in itertools.pairwise(edges)], counts
    kept = [place for place, count in enumerate(counts) if count or form.kind == "choice"]
    return [form.options[place] for place in kept], [counts[place] for place in kept]


def _form(room: Room) -> None:
    kind = st.segmented_control(
        "It is answered by", list(KINDS), default="choice", format_func=KINDS.__getitem__, key="room.kind"
    )
    if kind == "looks":
        attention.ask(room)
        return
    sentence = subject.shown().get("text", "")
    with st.form("room.own", border=False):
        words = st.text_input("Your question", key="room.words")
        options: tuple[str, ...] = ()
        low, high, unit = 0.0, 100.0, ""
        if kind == "number":
            first, second, third = st.columns(3)
            low = first.number_input("from", value=0.0, key="room.low")
            high = second.number_input("to", value=100.0, key="room.high")
            unit = third.text_input("unit", key="room.unit")
        elif kind == "choice":
            lines = st.text_area("The options, one a line", key="room.options", height=110)
            options = tuple(dict.fromkeys(line.strip() for line in lines.splitlines() if line.strip()))
        else:
            sentence = st.text_input("The sentence", sentence, key="room.sentence")
            options = tuple(sentence.split())
        sent = st.form_submit_button("Ask", type="primary")
    if sent:
        with errors.guard():
            form = Form(cast("Kind", kind or "choice"), options, low, high, unit)
            room.asks(Question(lecture.OWN, words, form))
            st.rerun()
