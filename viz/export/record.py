"""The record of a lesson: of each stop the pictures that a lecture room gets, and its questions with the reason of this run.

A stop is drawn for nobody, first as it opens, then once more with each of its questions answered rightly: these are its phases.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from core.serving.scheduler import TURNS
from viz.classroom.ask import AnswerFormat, Question
from viz.classroom.pictures import Parts, RoomPicture
from viz.exhibit_text import Chapter
from viz.instruments.kit.picture_listener import AnyPicture
from viz.labels import phrase, typeset
from viz.languages import ENGLISH, current
from viz.platform.visits import visit_from_thread
from viz.shell import language, pages
from viz.shell.lessons import views
from viz.shell.lessons.plan import TOLERANCE, Plan, Stop
from viz.shell.pages import ExhibitInfo
from viz.shell.questions.question import LecturerQuestion, Number, to_room_question
from viz.shell.room_bar import lecture, pictures
from viz.widgets import quiz
from viz.widgets.quiz import PageQuestion

Visit = Callable[[str, str, Mapping[str, Any]], dict[str, Any]]
"""Draws the page of a slug and query, with what the session holds before; returns what it holds afterwards."""
MOST_PHASES = 5


@dataclass(frozen=True)
class Recording:
    """A recorded lesson: `lesson` and `stops` as JSON has them, the source of each instrument in them by its id, after that of the `kit`, and the code of its `language`."""

    lesson: dict[str, Any]
    stops: tuple[dict[str, Any], ...]
    kit: tuple[str, str] = ("", "")
    instruments: Mapping[str, str] = field(default_factory=dict)
    language: str = ENGLISH.code

    @property
    def has_charts(self) -> bool:
        """Return whether a stop has a chart, which Vega draws."""
        return any(
            "chart" in one for stop in self.stops for phase in stop["phases"] for one in phase["pictures"]
        )

    @property
    def missing(self) -> tuple[str, ...]:
        """Return the names of the stops without a picture."""
        return tuple(
            stop["name"] for stop in self.stops if not any(one["pictures"] for one in stop["phases"])
        )


def lesson_of_chapter(chapter: Chapter) -> Plan:
    """Return a chapter of the course as a lesson: a stop for each step of its exhibits.

    >>> lesson_of_chapter(Chapter.VISION).stops[0].view
    'show_attend_tell?show_attend_tell.step=1'
    """
    stops = []
    for entry in pages.exhibits(chapter):
        assert isinstance(entry.info, ExhibitInfo)
        minutes = max(0.5, round(entry.info.minutes / len(entry.steps), 1))
        for number, step in enumerate(entry.steps, 1):
            name = entry.info.title if step == entry.info.title else f"{entry.info.title}: {step}"
            link = f"{entry.slug}?{entry.slug}.step={number}" if len(entry.steps) > 1 else entry.slug
            stops.append(Stop(link, name, minutes=minutes))
    return Plan(chapter.title, tuple(stops), chapter.claim)


def record(
    lesson: Plan,
    *,
    notes: bool = False,
    report: Callable[[float, str], object] = lambda share, name: None,
    visit: Visit = visit_from_thread,
) -> Recording:
    """Record a lesson in the language of this thread; its notes for the lecturer only if `notes`.

    report: called before each stop with the share that is done and the stop's name. visit: draws a page.
    """
    code = dict[str, tuple[str, str]]()
    stops = []
    for number, stop in enumerate(lesson.stops):
        report(number / len(lesson.stops), stop.name)
        with TURNS.give_up():
            stops.append(_Visits(stop, visit, code).stop(notes))
    kits = [one for name, one in code.items() if name == "kit"]
    head = {
        "title": lesson.title,
        "about": lesson.about,
        "minutes": lesson.minutes,
        "notes": notes,
        "id": hashlib.blake2b(
            json.dumps([lesson.title, [stop.view for stop in lesson.stops]]).encode(), digest_size=6
        ).hexdigest(),
        "stops": [
            {
                "name": stop.name,
                "minutes": stop.minutes,
                "optional": stop.optional,
                "note": stop.note if notes else "",
            }
            for stop in lesson.stops
        ],
    }
    sources = {identity: text for name, (identity, text) in code.items() if name != "kit"}
    return Recording(head, tuple(stops), kits[0] if kits else ("", ""), sources, current().code)


def sentence_of(view: views.View) -> str:
    """Return the sentence of the step that a view opens, or the claim of its page."""
    if isinstance(view.entry.info, ExhibitInfo):
        step = view.query.get(f"{view.entry.slug}.step", "1")
        if sentence := view.entry.module.EXHIBIT.text.steps[int(step) - 1].says:
            return sentence
    return view.entry.info.claim


class _Visits:
    """The visits to one stop."""

    def __init__(self, stop: Stop, draw: Visit, code: dict[str, tuple[str, str]]) -> None:
        self.name, self.lesson_question = stop.name, stop.question
        self.view, self._draw, self._code = views.parse_view(stop.view), draw, code
        self.parts: dict[str, list[Any]] = {}

    def stop(self, notes: bool) -> dict[str, Any]:
        """Return the stop as JSON has it: its words, its phases, and the parts of their pictures."""
        shown, asked, unseen = self._visit(state := dict[str, Any]())
        own = self._own_question()
        phases: list[dict[str, Any]] = [{"pictures": shown, "ask": own}] if own else []
        while len(phases) < MOST_PHASES and (question := _open_question(asked)):
            phase: dict[str, Any] = {"pictures": shown}
            phases.append(phase)
            state |= question.state
            shown, asked, left_out = self._visit(state)
            unseen |= left_out
            phase["ask"] = self._public(asked.get(question.key, question))
        phases.append({"pictures": shown, "ask": None})
        return {
            "name": self.name,
            "title": self.view.entry.info.title,
            "says": (says := sentence_of(self.view)),
            "typeset": {"says": [list(run) for run in typeset(says)]},
            "link": self.view.link,
            "unseen": unseen,
            "phases": phases,
            "parts": self.parts,
        }

    def _visit(self, state: Mapping[str, Any]) -> tuple[list[dict[str, Any]], dict[str, PageQuestion], bool]:
        """Draw the stop once; return its pictures, its questions by their keys, and whether a picture could not be recorded."""
        seen, asked, unseen = dict[str, RoomPicture](), dict[str, PageQuestion](), False

        def see(key: str, picture: AnyPicture) -> None:
            nonlocal unseen
            if shown := pictures.for_followers(key, picture):
                seen[key] = shown
            else:
                unseen = True

        def hear(question: PageQuestion) -> None:
            asked[question.key] = question

        held = {lecture.LISTENER: see, quiz.LISTENER: hear, **state}
        chosen = {} if current() is ENGLISH else {language.NAME: current().code}
        self._draw(self.view.entry.slug, urlencode(self.view.query | chosen), held)
        kept = Parts().keep(seen)
        return [self._message(key, one) for key, one in kept.items()], asked, unseen or len(kept) < len(seen)

    def _message(self, key: str, picture: RoomPicture) -> dict[str, Any]:
        """Return a picture as the page draws it; its parts and its code are kept once."""
        header = picture.message.get("header", {})
        message = {**picture.message, "parts": {}} if header else dict(picture.message)
        for name, data in picture.parts.items():
            packed = picture.message["parts"][name][1]
            if name in (header.get("kit"), header.get("code")):
                self._code["kit" if name == header["kit"] else name] = name, zlib.decompress(data).decode()
            else:
                self.parts[name] = [base64.b64encode(data).decode(), packed]
            message["parts"][name] = [None, 0 if name in (header.get("kit"), header.get("code")) else packed]
        digest = hashlib.blake2b(json.dumps(message, sort_keys=True).encode(), digest_size=4).hexdigest()
        return message | {"key": f"{key} {digest}"}

    def _own_question(self) -> dict[str, Any] | None:
        """Return the lesson's own question of this stop."""
        asked = self.lesson_question
        if not isinstance(asked, LecturerQuestion):
            return None
        question = to_room_question(asked, self.name)
        if isinstance(asked, Number):
            question.near = TOLERANCE * (asked.high - asked.low)
        return self._revealed(question)

    def _public(self, question: PageQuestion) -> dict[str, Any]:
        """Return a question of a page as the browser asks and judges it; one that is answered by a touch with its answer in words."""
        form = question.form or AnswerFormat("choice", (question.right_answer, ""))
        known = Question(
            question.key,
            question.words,
            form,
            truth=question.truth,
            near=question.near,
            explanation=question.explanation,
        )
        touch = {"kind": "touch", "options": [phrase(question.right_answer)]}
        return self._revealed(known) | ({} if question.form else touch)

    def _revealed(self, question: Question) -> dict[str, Any]:
        """Return a question with its answer; its id is that of the question in this stop, so that answers outlive a new publication."""
        question.revealed = True
        known = question.public_state()
        names = ("words", "kind", "options", "low", "high", "unit", "truth", "near", "why", "typeset")
        identity = "\n".join((self.view.link, question.key, question.words, *question.form.options))
        return {name: known[name] for name in names} | {
            "id": hashlib.blake2b(identity.encode(), digest_size=6).hexdigest()
        }


def _open_question(questions: Mapping[str, PageQuestion]) -> PageQuestion | None:
    return next((one for one in questions.values() if not one.answered), None)
