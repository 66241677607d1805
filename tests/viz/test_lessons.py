"""Lessons: those that ship, the one that is collected, and walking through one; what the room and its second screen hear of it."""

from __future__ import annotations

import json
import random

import pytest
import streamlit as st
from deep import deep
from streamlit.testing.v1 import AppTest
from workspace_pages import again, said
from workspace_pages import page as draw

from viz.classroom import store
from viz.classroom.room import Room
from viz.classroom.store import InMemory
from viz.course.sheets.kinds import KINDS, exercise_kinds_of_page, sheet
from viz.languages import using
from viz.shell import links
from viz.shell.lessons import toml_format, views
from viz.shell.lessons.plan import Plan, Stop
from viz.shell.lessons.session import Presentation
from viz.shell.pages import ExhibitInfo
from viz.shell.questions.question import Choice
from viz.workspace.lessons import player
from viz.workspace.lessons.page import compute

READY = compute()
PLANNED = {
    "Attention in 15 minutes": 15,
    "From the bottleneck to the Transformer": 38,
    "BERT and GPT": 38,
    "Attention for a school class": 38,
    "Attention in 90 minutes": 83,
}
NEWEST = {
    "convolution_and_attention",
    "elmo",
    "albert",
    "sparse_attention",
    "show_attend_tell",
    "letters_over_frames",
    "picture_as_words",
    "induction",
}
STOPS = [(lesson.title, at) for lesson in READY for at in range(len(lesson.stops))]
PLAN = Plan(
    "Two",
    (
        Stop("masks?masks.step=2", "First", "Say <b>this</b>.", 2),
        Stop(
            "scaling", "Second", "", 3, Choice("*Which* one?", ("one", "two"), ("two",), "Because of _that_.")
        ),
    ),
)
PAGE = """
import streamlit as st
from viz.shell import notices, pages, state
from viz.shell.lessons import session
from viz.shell.room_bar import lecture
from viz.workspace.lecture_room import bar
from viz.workspace.lessons import player
from viz.widgets import exhibit_parts
entry = pages.find({slug!r})
with state.visit(entry.slug, entry.takes_selection), player.lesson_bar(entry), lecture.publish_page(entry), player.lesson_footer(entry):
    notices.reserve_notice_area()
    exhibit_parts.predict("scaling.q", "Of ##the page?", ("three", "four"), "three", "So.")
st.button("Next", on_click=lambda: session.go_to_stop(session.presentation().position + 1), key="next")
st.button("Reveal", on_click=lambda: lecture.reveal(lecture.led_room()[0]), key="reveal")
"""


def exercises(lesson: Plan) -> list[str]:
    """The kinds of exercises that the pages of a lesson lead to."""
    slugs = (views.parse_view(stop.view).entry.slug for stop in lesson.stops)
    return [kind for slug in slugs for kind in exercise_kinds_of_page(slug)]


def test_five_lessons_ship_as_long_as_they_say_and_with_a_note_at_every_stop() -> None:
    assert {lesson.title: lesson.minutes for lesson in READY} == PLANNED
    for lesson in READY:
        assert "bleu" not in exercises(lesson)
        assert toml_format.loads(toml_format.dumps(lesson)) == lesson and lesson.about
        assert len({stop.name for stop in lesson.stops}) == len(lesson.stops)
        for stop in lesson.stops:
            view = views.parse_view(stop.view)
            assert len(stop.note) > 60 and view.link == stop.view, (
                "a shipped link is written as the atlas writes it"
            )
            assert stop.question != "page" or isinstance(view.entry.info, ExhibitInfo)
            assert bool(stop.asks) == (stop.question == "page"), "the list quotes the question"
    longest = {views.parse_view(stop.view).entry.slug for stop in READY[-1].stops}
    assert longest >= NEWEST


def test_the_spanish_lessons_have_the_stops_of_the_english_ones() -> None:
    with using("es"):
        written = compute()
    for lesson, own in zip(READY, written, strict=True):
        assert lesson.title != own.title and lesson.about != own.about
        for stop, other in zip(lesson.stops, own.stops, strict=True):
            assert (stop.view, stop.minutes, stop.optional) == (other.view, other.minutes, other.optional)
            assert bool(stop.asks) == bool(other.asks) and stop.note != other.note
            if isinstance(stop.question, Choice) and isinstance(other.question, Choice):
                assert stop.question.truth == other.question.truth
            else:
                assert stop.question == other.question


@pytest.mark.parametrize("lesson", READY, ids=lambda lesson: lesson.title)
def test_a_lesson_gives_one_sheet_whose_solutions_stand_apart(lesson: Plan) -> None:
    kinds = exercises(lesson)
    cheap = [kind for kind in dict.fromkeys(kinds) if KINDS[kind].cost == 1]
    assert cheap and (len(kinds) >= 4 or "school" in lesson.title), "pupils do not work through formulas"
    seed = random.Random(lesson.title).randrange(1000)
    assert sheet(cheap, seed) == sheet(cheap, seed) != sheet(cheap, seed + 1)


@pytest.mark.parametrize(
    ("title", "at"), deep(STOPS, quick=[("Attention in 15 minutes", 3), ("Attention for a school class", 7)])
)
def test_a_stop_opens_as_it_is_meant_and_asks_where_it_says_so(title: str, at: int) -> None:
    stop = next(lesson for lesson in READY if lesson.title == title).stops[at]
    view = views.parse_view(stop.view)
    test = draw(view.entry.slug, **view.query)
    assert "cannot be shown" not in said(test)
    asks = any(str(line.value).startswith("**Predict, then look.**") for line in test.markdown)
    assert asks == (stop.question == "page")
    assert not asks or test.session_state["atlas.question"] == stop.asks, "the list of stops quotes the page"


# ---------------------------------------------------------------- the presented lesson


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> tuple[Room, str]:
    monkeypatch.setattr(store, "ROOMS", rooms := InMemory())
    return rooms.open()


@pytest.fixture
def page(room: tuple[Room, str], monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setattr(links, "open_page", lambda slug, query: st.session_state.update(went=(slug, query)))
    test = AppTest.from_string(PAGE.format(slug="scaling"), default_timeout=60)
    test.session_state["atlas.room"] = (room[0].code, room[1])
    test.session_state["atlas.lesson.walk"] = Presentation(PLAN, 0, 1000.0)
    return test.run()


def heard(room: Room, *, leads: bool = True) -> dict[str, dict]:
    return {topic: json.loads(text) for topic, _, text in room.since(0, leads=leads)}


def test_the_next_stop_opens_as_in_a_new_visit_and_goes_on_in_present(page: AppTest) -> None:
    page.session_state["atlas.chosen"] = {
        "scaling.d_k": "4",
        "masks.step": "3",
        "text": "Old.",
        "present": "1",
    }
    page.button(key="next").click().run()
    assert not page.exception
    assert page.session_state["went"] == ("scaling", {"present": "1"})
    assert page.session_state["atlas.chosen"] == {"masks.step": "3", "present": "1"}, (
        "what is of another page may stay"
    )


def test_after_the_last_stop_comes_the_end_with_stops_sheet_and_answers(
    page: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links, "page_link", lambda slug, words, icon="", **query: st.text(f"{slug} {words}"))
    for _ in range(2):
        page.button(key="next").click().run()
    assert page.session_state["went"][0] == "lessons" and page.session_state["went"][1]["lessons.end"] == "1"
    assert page.session_state["atlas.lesson.walk"].position == 1, "one step back is the last stop"
    given = {"atlas.answers.given": {"*Which* one?": ("two", True)}}
    walk = {"atlas.lesson.walk": Presentation(PLAN, 1, 1000.0)}
    end = draw("lessons", walk | given, lessons__end="1")
    texts = [str(line.value) for line in end.text]
    assert {"masks 1. First", "scaling 2. Second"} <= set(texts)
    assert any(line.startswith("homework ") for line in texts)
    assert ["*Which* one?", "two: right"] in [line.split("\n") for line in texts]
    end.button(key="lessons.all").click()
    assert again(end) and "atlas.lesson.walk" not in end.session_state


def test_a_view_is_added_at_once_and_can_be_changed_there(page: AppTest) -> None:
    page.session_state["atlas.lesson.adds"] = True
    page.run()
    stop = page.session_state["atlas.lesson.own"].stops[-1]
    assert stop.view == "scaling" and stop.question == "page", "the page asks one"
    page.button(key="lesson.added.change").click().run()
    assert not page.exception
    opened = [one.value for one in page.text_input if str(one.key).endswith(".name")]
    assert opened == [stop.name], "its dialogue is open"


def test_only_the_lecturer_hears_the_note_and_what_comes_next(page: AppTest, room: tuple[Room, str]) -> None:
    plan = heard(room[0])["plan"]
    assert plan["optional"] is False
    assert (plan["note"], plan["at"], plan["until"], plan["minutes"]) == ("Say <b>this</b>.", 0, 2, 5)
    assert plan["next"]["name"] == "Second" and plan["next"]["claim"]
    assert "plan" not in heard(room[0], leads=False)
    page.button(key="next").click().run()
    assert heard(room[0])["plan"]["next"] is None
    del page.session_state["atlas.lesson.walk"]
    page.run()
    assert heard(room[0])["plan"] == {}


def test_the_lessons_own_question_is_the_rooms_before_the_pages_and_is_taken_literally(
    page: AppTest, room: tuple[Room, str]
) -> None:
    assert heard(room[0])["ask"]["words"] == "Of ##the page?"
    page.button(key="next").click().run()
    asked = heard(room[0])["ask"]
    assert (asked["words"], asked["options"], asked["revealed"]) == ("*Which* one?", ["one", "two"], False)
    for answer in (0, 0, 1):
        room[0].answer(room[0].take_seat(""), asked["id"], answer)
    page.button(key="reveal").click().run()
    assert not page.exception
    asked = heard(room[0])["ask"]
    assert (asked["counts"], asked["truth"]) == ([2, 1], [1])
    assert any(r"\*Which\* one" in str(line.value) for line in page.markdown)
    assert any(line.value == "Because of _that_." for line in page.text), "nothing in it is markup"


def test_the_presenters_page_has_the_question_that_the_page_asks(
    page: AppTest, room: tuple[Room, str]
) -> None:
    stop = Stop("scaling", "Only", "", 2, "page", optional=True)
    page.session_state["atlas.lesson.walk"] = Presentation(Plan("One", (stop,)), 0, 1000.0)
    page.run()
    plan = heard(room[0])["plan"]
    assert (plan["asks"], plan["optional"]) == ("Of ##the page?", True)


KEPT = [
    None,
    "x",
    [],
    {},
    {"own": 5},
    {"own": "title ="},
    {"own": "", "walk": {"text": "title =", "at": 0, "began": 1.0}},
    {"walk": {"text": toml_format.dumps(PLAN), "at": "0", "began": 1.0}},
    {"walk": {"text": toml_format.dumps(PLAN), "at": 0, "began": None}},
    {"walk": [1]},
]


def test_what_a_browser_kept_is_judged_as_a_file_is(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[Plan] = []
    begun: list[tuple] = []
    monkeypatch.setattr(player.session, "adopt_stored_lesson", kept.append)
    monkeypatch.setattr(player.session, "present", lambda *told: begun.append(told))
    monkeypatch.setattr(player.session, "presentation", lambda: None)
    monkeypatch.setattr(player.st, "toast", lambda *_, **__: None)
    for told in KEPT:
        monkeypatch.setattr(player, "_event", lambda name, told=told: told)
        player._restore()
    assert kept == begun == []
    told = {"own": toml_format.dumps(PLAN), "walk": {"text": toml_format.dumps(PLAN), "at": 1, "began": 5.0}}
    monkeypatch.setattr(player, "_event", lambda name: told)
    player._restore()
    assert kept == [PLAN] and begun == [(PLAN, 1, 5.0)]


# ---------------------------------------------------------------- the page


@pytest.mark.slow
def test_a_lesson_is_taken_ordered_shortened_brought_back_and_named() -> None:
    test = draw("lessons")
    assert len(test.subheader) == len(READY)
    test.button(key="lessons.take.ready-0").click().run()
    names = [stop.name for stop in READY[0].stops]

    def kept() -> list[str]:
        return [stop.name for stop in test.session_state["atlas.lesson.own"].stops]

    assert kept() == names
    test.button(key="lessons.down.0").click().run()
    assert kept()[:2] == [names[1], names[0]] and test.button(key="lessons.up.0").disabled
    test.button(key="lessons.remove.1").click().run()
    assert kept() == [names[1], *names[2:]]
    test.button(key="lessons.undo").click().run()
    assert kept()[:2] == [names[1], names[0]]
    title = next(box for box in test.text_input if box.label == "Title")
    title.set_value("<b>Mine</b>").run()
    assert again(test).session_state["atlas.lesson.own"].title == "<b>Mine</b>"
