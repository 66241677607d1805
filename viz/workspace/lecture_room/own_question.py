"""A question of the lecturer's own, asked from the room's bar on whatever page is shown: its form, and the question on that page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import streamlit as st
from streamlit.components import v2

from core.errors import InputError
from viz.classroom import light_pages
from viz.classroom.ask import AnswerFormat, Question
from viz.classroom.room import Room
from viz.instruments.kit.modules import follow, join_modules
from viz.languages import _, mark
from viz.languages.script_words import ScriptWords
from viz.shell import notices, selection
from viz.shell.lessons.plan import TOLERANCE
from viz.shell.questions import form
from viz.shell.questions.question import LONGEST_WORDS, Number, to_room_question
from viz.shell.room_bar import lecture
from viz.workspace.lecture_room import attention

KINDS = {
    "choice": mark("Options"),
    "number": mark("A number"),
    "word": mark("A word of a sentence"),
    "cell": mark("A query and a key"),
    "looks": mark("Where the room attends"),
}
_PAGE: Path = light_pages.PAGE_FOLDER
_HTML = '<section data-asked aria-label="Question to the room"></section>'
_WORDS = ScriptWords(_HTML, _PAGE / "asking.js")
_sent_question = v2.component(
    "atlas_asked",
    html=_HTML,
    css=(_PAGE / "asking.css").read_text("utf-8"),
    js=join_modules(follow(_PAGE / "asking.js"), _PAGE.parents[1])
    + "export default ({ parentElement, data }) => { languages_words.speak(parentElement, data.words); "
    "classroom_page_asking.ask(parentElement.querySelector('[data-asked]'), data.asked, null); };\n",
)


def dialog(room: Room) -> None:
    """Open the form; once it is sent, those who follow have the question above the picture that they see."""
    st.dialog(_("Ask the room"), width="medium")(_form)(room)


def _form(room: Room) -> None:
    kind = st.segmented_control(
        _("Answered by"),
        list(KINDS),
        default="choice",
        format_func=lambda kind: _(KINDS[kind]),
        required=True,
        key="room.kind",
    )
    if kind == "looks":
        asked = attention.form()
    elif kind == "choice":
        made = form.draw_choice("room", poll=True)
        asked = _sent(lambda: to_room_question(made(), lecture.OWN))
    elif kind == "number":
        counted = form.number("room", poll=True)
        asked = _sent(lambda: _number(counted()))
    else:
        asked = _on_words("word" if kind == "word" else "cell")
    if asked is not None:
        room.set_question(asked)
        st.rerun()


def _number(made: Number) -> Question:
    asked = to_room_question(made, lecture.OWN)
    asked.near = TOLERANCE * (made.high - made.low)
    return asked


def _on_words(kind: str) -> Question | None:
    """Draw the form of a question that is answered in the words of a sentence."""
    words = st.text_input(_("Your question"), max_chars=LONGEST_WORDS, key="room.words")
    sentence = st.text_input(
        _("The sentence"), selection.current_selection().get("text", ""), key="room.sentence"
    )
    answered = AnswerFormat("word" if kind == "word" else "cell", tuple(sentence.split()))
    return _sent(lambda: Question(lecture.OWN, words.strip(), answered))


def _sent(make: Callable[[], Question]) -> Question | None:
    """Draw the button that asks, with the error below it; the typed text stays."""
    if not st.button(_("Ask"), type="primary", key="room.ask"):
        return None
    try:
        return make()
    except InputError as error:
        notices.box(error.wrong, error.rule, error.remedy)
        return None


def show(room: Room) -> None:
    """Draw the lecturer's own question on the page, as on the phones, with the button that ends it."""
    asked = room.question
    if asked is None or not asked.key.startswith(lecture.OWN):
        return
    with st.container(key="asked-room"):
        _sent_question(key="room.asked", data={"asked": asked.public_state()} | _WORDS.data())
        if asked.revealed and asked.key == attention.KEY:
            attention.show(asked)
        name = _("Close the question") if asked.revealed else _("Take it back")
        st.button(name, key="room.close", on_click=room.set_question, args=(None,))
