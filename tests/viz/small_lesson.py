"""A lesson of three stops (asked by the page, by the lecturer, not to be recorded) and pages that are drawn in no time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from viz.classroom.ask import AnswerFormat
from viz.instruments.kit.payload import Packet
from viz.instruments.kit.picture_listener import Chart
from viz.instruments.strip.strip import STRIP
from viz.shell.lessons.plan import Plan, Stop
from viz.shell.questions.question import Number
from viz.shell.room_bar import lecture
from viz.widgets import quiz
from viz.widgets.quiz import PageQuestion

MARKUP = "</script><img src=x onerror=alert(1)>"
PLAN = Plan(
    "Three " + MARKUP,
    (
        Stop("masks?masks.step=2", "Asked by the page", "Say <b>this</b>.", 2, "page", asks="Which?"),
        Stop("scaling", "Asked by the lecturer", "", 3, Number("How many?", 0, 10, 4, "words", "Counted.")),
        Stop("growth", "Nothing to record", MARKUP, 1),
    ),
)


def visit(slug: str, query: str, state: Mapping[str, Any]) -> dict[str, Any]:
    """Draw a page that asks one question, in two phases; "growth" draws only what no browser elsewhere can."""
    if slug == "growth":
        state[lecture.LISTENER]("live", None)
        return {}
    done = bool(state.get("predict:masks.q:asked"))
    state[lecture.LISTENER]("rows", Chart({"datasets": {}, "mark": "bar" if done else "rule"}, "Rows"))
    if slug == "masks":
        packet = Packet({"title": "before and after"})
        packet.add("values", b"12")
        STRIP.equip(packet)
        state[lecture.LISTENER]("words", packet)
        why = "Because of x_1." if done else ""
        answer = {"predict:masks.q:asked": {"of": (), "guess": "one"}}
        form = AnswerFormat("choice", ("one", MARKUP))
        state[quiz.LISTENER](PageQuestion("masks.q", "Which?", form, [0], "one", 0, why, answer, done))
    return {}
