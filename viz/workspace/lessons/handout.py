"""A lesson on paper: of each stop its picture as it opens, the sentence of its step, the note and the question.

The pictures are those that a lecture room would show of the page, seen on a visit by nobody (viz.platform.visits), so that nothing
of this session (answers, typed texts) is in them.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from core.serving.scheduler import TURNS
from viz.classroom.pictures import Parts, RoomPicture
from viz.export.record import sentence_of
from viz.instruments.kit.picture_listener import AnyPicture
from viz.platform.visits import visit_from_thread
from viz.shell.lessons import views
from viz.shell.lessons.plan import Plan, Stop
from viz.shell.questions.question import Choice, Number
from viz.shell.room_bar import lecture, pictures
from viz.widgets import quiz

MOST_BYTES = 16_000_000
"""Bytes of all pictures of a handout; the stops after them have none."""


def build(lesson: Plan, report: Callable[[float, str], object] = lambda share, name: None) -> dict[str, Any]:
    """Return all that the page of a handout draws, as JSON has it.

    tell: called before each stop with the share that is done and the stop's name.
    """
    parts: dict[str, str] = {}
    stops = []
    for number, stop in enumerate(lesson.stops):
        report(number / len(lesson.stops), stop.name)
        stops.append(_stop(stop, parts))
    return {"title": lesson.title, "about": lesson.about, "stops": stops, "parts": parts}


def _stop(stop: Stop, parts: dict[str, str]) -> dict[str, Any]:
    view, seen = views.parse_view(stop.view), dict[str, RoomPicture]()

    def see(key: str, picture: AnyPicture) -> None:
        if shown := pictures.for_followers(key, picture):
            seen[key] = shown

    with TURNS.give_up():
        after = visit_from_thread(view.entry.slug, urlencode(view.query), {lecture.LISTENER: see})
    drawn = []
    for key, shown in Parts().keep(seen).items():
        new = {name: base64.b64encode(data).decode() for name, data in shown.parts.items()}
        if sum(map(len, (parts | new).values())) > MOST_BYTES:
            break
        parts |= new
        message = {name: [None, packed] for name, (_, packed) in shown.message.get("parts", {}).items()}
        drawn.append({**shown.message, "parts": message, "key": f"{stop.view} {key}"})
    return {
        "name": stop.name,
        "says": sentence_of(view),
        "note": stop.note,
        "pictures": drawn,
        "title": view.entry.info.title,
    } | _question(stop, after)


def _question(stop: Stop, after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the question of a stop and its options; of a page's own what the page has asked just now."""
    asked = stop.question
    if isinstance(asked, Choice):
        return {"asks": asked.words, "options": list(asked.options)}
    if isinstance(asked, Number):
        return {"asks": asked.words, "options": [], "ends": f"{asked.low:g} to {asked.high:g} {asked.unit}"}
    if not asked:
        return {"asks": "", "options": []}
    words, options = after.get(quiz.QUESTION) or stop.asks, after.get(quiz.OPTIONS, ())
    return {"asks": words, "options": list(options)}
