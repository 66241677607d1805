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
            st.button("Vote again", key="room.again", on_click=room.again, disabled=bool(asked.first))
            st.button("Reveal", type="primary", key="room.reveal", on_click=lecture.reveal, args=(room,))
            st.button("Take it back", key="room.takeback", on_click=room.asks, args=(None,))
        return
    if asked.key == attention.KEY:
        attention.show(room, asked)
        st.button("Close the question", key="room.close", on_click=room.asks, args=(None,))
        return
    names, counts, first = _bars(asked)
    said = f"{len(asked.answers)} answered."
    if changed := asked.changed():
        said = (
            f"{len(asked.first)} answered first, {len(asked.answers)} after the discussion. Of {changed['both']} who voted twice, "
            f"{changed['to_right']} changed from wrong to right and {changed['to_wrong']} from right to wrong."
        )
    elif asked.first:
        said = f"{len(asked.first)} answered first, {len(asked.answers)} after the discussion."
    if counts:
        page_parts.show(
            answers_chart(names, counts, first), "room.answers", f"What the room answered: {said}"
        )
    page_parts.numbers(said)
    st.button("Close the question", key="room.close", on_click=room.asks, args=(None,))


def _bars(asked: Question) -> tuple[list[str], list[int], list[int]]:
    """What was answered, how often, and how often in the first vote, if there were two."""
    form, first = asked.form, bool(asked.first)
    now, before = (form.spread(list(vote.values())) for vote in (asked.answers, asked.first))
    if form.kind == "cell":
        cells = {(r, c): n for r, c, n in before["cells"]}
        most = sorted(now["cells"], key=lambda cell: -cell[2])[:12]
        names = [f"{form.options[r]} → {form.options[c]}" for r, c, _ in most]
        return names, [n for *_, n in most], [cells.get((r, c), 0) for r, c, _ in most] if first else []
    names, counts, counts_before = list(form.options), now["counts"], before["counts"]
    if form.kind == "number":
        names = [f"{a:.3g} to {b:.3g}" for a, b in itertools.pairwise(now["edges"])]
    kept = [
        place
        for place in range(len(counts))
        if form.kind in ("choice", "number") or counts[place] or counts_before[place]
    ]
    return (
        [names[place] for place in kept],
        [counts[place] for place in kept],
        [counts_before[place] for place in kept] if first else [],
    )


def _options(lines: str) -> tuple[tuple[str, ...], list[int]]:
    """The options of a text, and the places of those that are right.

    >>> _options("yes\\n* no\\n\\nyes")
    (('yes', 'no'), [1])
    """
    found: dict[str, bool] = {}
    for line in map(str.strip, lines.splitlines()):
        if name := line.removeprefix("*").strip():
            found[name] = found.get(name, False) or line.startswith("*")
    return tuple(found), [place for place, right in enumerate(found.values()) if right]


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
        truth: list[int] = []
        low, high, unit = 0.0, 100.0, ""
        if kind == "number":
            first, second, third = st.columns(3)
            low = first.number_input("from", value=0.0, key="room.low")
            high = second.number_input("to", value=100.0, key="room.high")
            unit = third.text_input("unit", key="room.unit")
        elif kind == "choice":
            lines = st.text_area(
                "The options, one a line; a right one begins with *", key="room.options", height=110
            )
            options, truth = _options(lines)
        else:
            sentence = st.text_input("The sentence", sentence, key="room.sentence")
            options = tuple(sentence.split())
        sent = st.form_submit_button("Ask", type="primary")
    if sent:
        with errors.guard():
            form = Form(cast("Kind", kind or "choice"), options, low, high, unit)
            room.asks(Question(lecture.OWN, words, form, truth=truth or None))
            st.rerun()
