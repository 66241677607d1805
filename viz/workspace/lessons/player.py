"""The lesson around every page, with its keys, notes and clock; the dialogue that adds a view to one."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.components import v2

from core.errors import InputError
from viz.labels import literal
from viz.languages import _, script_words
from viz.languages.script_words import ScriptWords
from viz.platform import scripts
from viz.shell import links, notices, state
from viz.shell.lessons import session, toml_format, views
from viz.shell.lessons.plan import OF_THE_PAGE, TOLERANCE
from viz.shell.lessons.session import Presentation
from viz.shell.pages import Entry, ExhibitInfo
from viz.shell.questions.question import Choice, LecturerQuestion
from viz.shell.room_bar import lecture
from viz.widgets import engine_client, quiz
from viz.workspace.course import page as course
from viz.workspace.lecture_room import bar
from viz.workspace.lessons import form

END_PAGE = "lessons"
"""The page that a lesson ends on."""
_FOLDER = Path(__file__).parent
_HTML = (_FOLDER / "player.html").read_text("utf-8")
_WORDS = ScriptWords(_HTML, _FOLDER / "player.js")
_walked = v2.component(
    "atlas_lesson",
    html=_HTML,
    js=scripts.register("lesson", script_words.SCRIPT, _FOLDER / "player.css", _FOLDER / "player.js"),
    isolate_styles=False,
)


@contextmanager
def lesson_bar(entry: Entry) -> Iterator[None]:
    """Open the stop that was chosen, and draw the bar of the lesson before a page."""
    _open()
    _bar(entry)
    yield


@contextmanager
def lesson_footer(entry: Entry) -> Iterator[None]:
    """Draw, after a page, the lesson's own question, the notes for the lecturer's devices, and the dialogue that adds the view."""
    quiz.forget_question()
    yield
    walk = session.presentation()
    here = walk is not None and views.parse_view(walk.current_stop.view).entry.slug == entry.slug
    if walk and here:
        _ask(walk)
    if leads := lecture.led_room():
        asked = quiz.first_question() if here else ""
        leads[0].show_plan(_notes(walk, asked) | {"picture": _picture(walk)} if walk else {})
    form.show_result()
    if session.consume_adding():
        form.add_view(entry)
    if session.consume_changing() and (stops := session.collected_lesson().stops):
        form.change_stop(len(stops) - 1)


def _open() -> None:
    """Open the view of the chosen stop, as its link opens it in a new visit."""
    walk = session.presentation()
    if walk and session.consume_pending_end():
        links.open_page(END_PAGE, state.reset_for_link(END_PAGE) | {f"{END_PAGE}.end": "1"})
    if walk and session.consume_pending_stop():
        view = views.parse_view(walk.current_stop.view)
        links.open_page(view.entry.slug, state.reset_for_link(view.entry.slug) | view.query)


def _notes(walk: Presentation, question: str = "") -> dict[str, Any]:
    """Return the stop for the lecturer: its note, its question, the time by the plan, the next stop.

    question: the question of the page; until it is drawn player.js reads it there.
    """
    plan, stop = walk.plan, walk.current_stop
    after = plan.stops[walk.position + 1] if walk.position + 1 < len(plan.stops) else None
    return {
        "title": plan.title,
        "at": walk.position,
        "stops": [one.name for one in plan.stops],
        "note": stop.note,
        "asks": (stop.question == OF_THE_PAGE and question) or stop.words,
        "of_page": stop.question == OF_THE_PAGE,
        "optional": stop.optional,
        "from": plan.start_minute(walk.position),
        "until": plan.start_minute(walk.position + 1),
        "minutes": plan.minutes,
        "began": walk.began,
        "next": {
            "name": after.name,
            "claim": views.parse_view(after.view).entry.info.claim,
            "optional": after.optional,
        }
        if after
        else None,
    }


def _picture(walk: Presentation) -> str:
    """Return the small drawing of the next exhibit, as on its card in the course; "" for any other page."""
    if walk.position + 1 == len(walk.plan.stops):
        return ""
    entry = views.parse_view(walk.plan.stops[walk.position + 1].view).entry
    if not isinstance(entry.info, ExhibitInfo):
        return ""
    drawn = engine_client.submit(*course.drawing_job(entry))
    return f"data:image/svg+xml;base64,{base64.b64encode(drawn.encode()).decode()}"


def _bar(entry: Entry) -> None:
    kept, walk, leads = session.collected_lesson(), session.presentation(), lecture.led_room()
    with st.container(key="atlas-lesson"):
        _walked(
            key="lesson.bar",
            data={
                "turn": session.revision(),
                "own": toml_format.dumps(kept) if kept.stops else "",
                "walk": _notes(walk) if walk else None,
                "text": toml_format.dumps(walk.plan) if walk else "",
                "away": bool(walk) and views.parse_view(walk.current_stop.view).entry.slug != entry.slug,
                "pages": [views.parse_view(stop.view).entry.slug for stop in walk.plan.stops] if walk else [],
                "page": entry.slug,
                "ended": session.is_closing_page(entry.slug),
                "home": bar.app_path(),
                "presenting": state.presenting(),
                "now": time.time() if walk else 0,
                "room": f"{bar.app_path()}room/{leads[0].code}/presenter" if leads and walk else "",
                **(_WORDS.data() if walk else {}),
            },
            on_kept_change=_restore,
            on_go_change=_go,
            on_leave_change=session.stop_presenting,
        )


def _event(name: str) -> Any:
    return (st.session_state.get("lesson.bar") or {}).get(name)


def _go() -> None:
    if type(at := _event("go")) is int:
        session.go_to_stop(at - 1)


def _restore() -> None:
    """Take over what the browser stored in an earlier session; it may be anything."""
    message = _event("kept")
    if not isinstance(message, dict):
        return
    if isinstance(own := message.get("own"), str) and own:
        try:
            session.adopt_stored_lesson(toml_format.loads(own))
        except InputError as error:  # it stays in the browser until another lesson is collected
            st.toast(literal(_("The lesson stored in this browser cannot be read. {error}", error=error)))
    walk = message.get("walk")
    if isinstance(walk, dict) and session.presentation() is None:
        with suppress(InputError):
            at, began = walk.get("at"), walk.get("began")
            if (
                isinstance(text := walk.get("text"), str)
                and type(at) is int
                and isinstance(began, int | float)
            ):
                session.present(toml_format.loads(text), at, float(began))


def _ask(walk: Presentation) -> None:
    """Ask the lesson's own question, below the title; a room gets it instead of the page's."""
    asked, key = walk.current_stop.question, f"{session.QUESTION}.{walk.position}"
    if not isinstance(asked, LecturerQuestion):
        return
    lecture.clear_page_question()
    with notices.area():
        if isinstance(asked, Choice):
            quiz.predict(
                key, asked.words, asked.options, asked.right[0], asked.explanation, also=asked.right[1:]
            )
        elif asked.right is not None:
            near = TOLERANCE * (asked.high - asked.low)
            quiz.predict_number(
                key,
                asked.words,
                asked.low,
                asked.high,
                asked.right,
                asked.explanation,
                near,
                literal(asked.unit),
            )
