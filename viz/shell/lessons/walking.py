"""Around every page: a lesson that is walked through, with its keys, notes and clock; the dialogue that adds a view to one."""

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
from viz.course.pages.course import page as course
from viz.labels import literal
from viz.shell import links, notices, state
from viz.shell.lessons import form, held, views, written
from viz.shell.lessons.held import Walk
from viz.shell.lessons.plan import NEAR, OF_THE_PAGE
from viz.shell.pages import Entry, Exhibit
from viz.shell.questions.question import Choice, Own
from viz.shell.room_bar import bar, lecture
from viz.widgets import engine_client, quiz

END = "lessons"
"""The page that a lesson ends on."""
_HERE = Path(__file__).parent
_walked = v2.component(
    "atlas_lesson",
    html=(_HERE / "walking.html").read_text("utf-8"),
    css=(_HERE / "walking.css").read_text("utf-8"),
    js=(_HERE / "walking.js").read_text("utf-8"),
    isolate_styles=False,
)


@contextmanager
def along(entry: Entry) -> Iterator[None]:
    """Around all that stands around a page: where the lesson goes next, and its bar."""
    _open()
    _bar(entry)
    yield


@contextmanager
def around(entry: Entry) -> Iterator[None]:
    """Around a page: after it the lesson's own question, what the room's second screen is told, and the dialogue that adds the view."""
    quiz.forget_asked()
    yield
    walk = held.walk()
    here = walk is not None and views.view(walk.stop.view).entry.slug == entry.slug
    if walk and here:
        _ask(walk)
    if leads := lecture.led():
        asked = quiz.asked() if here else ""
        leads[0].plans(_told(walk, asked) | {"picture": _picture(walk)} if walk else {})
    form.tell()
    if held.asked_for_this_view():
        form.add(entry)
    if held.asked_to_change() and (stops := held.own().stops):
        form.change(len(stops) - 1)


def _open() -> None:
    """The view of the stop that was asked for, as its link opens it in a new visit."""
    walk = held.walk()
    if walk and held.closes():
        links.follow(END, state.afresh(END) | {f"{END}.end": "1"})
    if walk and held.opens():
        view = views.view(walk.stop.view)
        links.follow(view.entry.slug, state.afresh(view.entry.slug) | view.query)


def _told(walk: Walk, asked: str = "") -> dict[str, Any]:
    """Return what the lecturer reads of the stop: its note, its question, the time by the plan, what comes next.

    asked: what the page has asked; until it is drawn walking.js reads it there.
    """
    plan, stop = walk.plan, walk.stop
    after = plan.stops[walk.at + 1] if walk.at + 1 < len(plan.stops) else None
    return {
        "title": plan.title,
        "at": walk.at,
        "stops": [one.name for one in plan.stops],
        "note": stop.note,
        "asks": (stop.question == OF_THE_PAGE and asked) or stop.words,
        "of_page": stop.question == OF_THE_PAGE,
        "optional": stop.optional,
        "from": plan.begins(walk.at),
        "until": plan.begins(walk.at + 1),
        "minutes": plan.minutes,
        "began": walk.began,
        "next": {
            "name": after.name,
            "claim": views.view(after.view).entry.info.claim,
            "optional": after.optional,
        }
        if after
        else None,
    }


def _picture(walk: Walk) -> str:
    """The small drawing of the exhibit that comes next, as on its card in the course; "" where it is none."""
    if walk.at + 1 == len(walk.plan.stops):
        return ""
    entry = views.view(walk.plan.stops[walk.at + 1].view).entry
    if not isinstance(entry.info, Exhibit):
        return ""
    drawn = engine_client.submit(*course.drawn(entry))
    return f"data:image/svg+xml;base64,{base64.b64encode(drawn.encode()).decode()}"


def _bar(entry: Entry) -> None:
    kept, walk, leads = held.own(), held.walk(), lecture.led()
    with st.container(key="atlas-lesson"):
        _walked(
            key="lesson.bar",
            data={
                "turn": held.turn(),
                "own": written.write(kept) if kept.stops else "",
                "walk": _told(walk) if walk else None,
                "text": written.write(walk.plan) if walk else "",
                "away": bool(walk) and views.view(walk.stop.view).entry.slug != entry.slug,
                "pages": [views.view(stop.view).entry.slug for stop in walk.plan.stops] if walk else [],
                "page": entry.slug,
                "ended": held.ended(entry.slug),
                "home": bar.home(),
                "presenting": state.presenting(),
                "now": time.time() if walk else 0,
                "room": f"{bar.home()}room/{leads[0].code}/presenter" if leads and walk else "",
            },
            on_kept_change=_kept,
            on_go_change=_go,
            on_leave_change=held.leave,
        )


def _event(name: str) -> Any:
    return (st.session_state.get("lesson.bar") or {}).get(name)


def _go() -> None:
    if type(at := _event("go")) is int:
        held.go(at - 1)


def _kept() -> None:
    """What the browser has kept of an earlier session; it may be anything."""
    told = _event("kept")
    if not isinstance(told, dict):
        return
    if isinstance(own := told.get("own"), str) and own:
        try:
            held.remember(written.read(own))
        except InputError as error:  # it stays in the browser until another lesson is collected
            st.toast(literal(f"The lesson that this browser kept cannot be read. {error}"))
    walk = told.get("walk")
    if isinstance(walk, dict) and held.walk() is None:
        with suppress(InputError):
            at, began = walk.get("at"), walk.get("began")
            if (
                isinstance(text := walk.get("text"), str)
                and type(at) is int
                and isinstance(began, int | float)
            ):
                held.begin(written.read(text), at, float(began))


def _ask(walk: Walk) -> None:
    """The lesson's own question, below the title: the room's before any that the page has."""
    asked, key = walk.stop.question, f"{held.QUESTION}.{walk.at}"
    if not isinstance(asked, Own):
        return
    lecture.asks_first()
    with notices.place():
        if isinstance(asked, Choice):
            quiz.predict(key, asked.words, asked.options, asked.right[0], asked.why, also=asked.right[1:])
        elif asked.right is not None:
            near = NEAR * (asked.high - asked.low)
            quiz.predict_number(
                key, asked.words, asked.low, asked.high, asked.right, asked.why, near, literal(asked.unit)
            )
