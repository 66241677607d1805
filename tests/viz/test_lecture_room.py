"""The lecturer's session: what its pages draw and ask goes to the room, the room's answers come back as a guess."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import viz
from viz.classroom import addresses, store
from viz.classroom.store import InMemory

PAGE = """
from viz.shell import pages, state
from viz.shell.room_bar import lecture
from viz.widgets import exhibit_parts
from viz.instruments.words.words import words_view
import streamlit as st
entry = pages.find("scaling")
with state.visit("scaling"), lecture.publish_page(entry):
    weight = st.session_state.get("weights", 0.9)
    words_view([[weight, 1 - weight]], ["START"], ["a", "car"], targets=[("un", 0)], key="first")
    told = exhibit_parts.predict("scaling.q", "Which?", ("one", "two", "three"), "two", "Because of **this**.")
    if told:
        words_view([[0.2, 0.8]], ["START"], ["a", "car"], targets=[("un", 0)], key="second")
    words_view([[1 - weight, weight]], ["START"], ["a", "car"], targets=[("un", 0)], key="last")
st.button("Reveal", on_click=lambda: lecture.reveal(lecture.led_room()[0]))
"""


@pytest.fixture
def rooms(monkeypatch):
    monkeypatch.setattr(store, "ROOMS", rooms := InMemory())
    return rooms


@pytest.fixture
def room(rooms):
    return rooms.open()


@pytest.fixture
def page(room):
    page = AppTest.from_string(PAGE, default_timeout=60)
    page.session_state["atlas.room"] = (room[0].code, room[1])
    return page.run()


def told(room, *, leads: bool = False) -> dict:
    return {topic: json.loads(text) for topic, _, text in room[0].since(0, leads=leads)}


def test_a_session_in_a_frame_leads_no_room_and_gets_a_link_instead_of_its_page(room) -> None:
    page = AppTest.from_string(
        "from viz import menu\nfrom viz.shell import pages\nmenu.draw_page(pages.find('lecture_room'))",
        default_timeout=60,
    )
    page.session_state["atlas.room"] = (room[0].code, room[1])
    assert "room.end" in {button.key for button in page.run().button}
    page.session_state["atlas.framed"] = True
    page.run()
    assert (len(page.button), len(page.get("link_button")), len(page.title)) == (0, 1, 1)
    assert not page.exception


def test_what_the_page_draws_is_what_the_room_sees(room, page):
    seen = told(room)
    assert seen["view"]["title"] == "Why divide by √d" and seen["view"]["pictures"] == ["first", "last"]
    picture = seen["picture.first"]
    assert picture["header"]["keys"] == ["a", "car"] and set(picture["parts"]) == set(
        picture["header"]["needs"]
    )
    code = picture["header"]["code"]
    assert picture["parts"][code] == [None, 1] and room[0].part(code)


def test_code_is_fetched_once_and_a_picture_is_told_before_the_rest_of_its_page(room, page):
    header, parts = (told(room)["picture.first"][name] for name in ("header", "parts"))
    assert [parts[header[code]][0] for code in ("kit", "code")] == [None, None]
    assert all(room[0].part(header[code]) for code in ("kit", "code"))
    seen = []
    page.session_state["weights"] = 0.3
    room[0].listen(lambda: seen.append(told(room)))
    page.run()
    first = next(one for one in seen if one["picture.first"]["parts"] != parts)
    assert first["picture.last"] == seen[0]["picture.last"] != seen[-1]["picture.last"]


def test_the_truth_goes_out_with_the_reveal_which_gives_what_most_said(room, page):
    asked = told(room)["ask"]
    assert asked["options"] == ["one", "two", "three"] and "truth" not in asked
    assert "this" not in json.dumps(told(room)["ask"])
    for answer in (2, 2, 1):
        room[0].answer(room[0].take_seat(""), asked["id"], answer)
    page.button[0].click().run()
    assert not page.exception
    seen = told(room)
    assert seen["ask"]["counts"] == [0, 1, 2] and seen["ask"]["truth"] == [1]
    assert seen["ask"]["why"] == "Because of **this**."  # taken literally, as on the page
    assert seen["view"]["pictures"] == ["first", "second", "last"]
    assert any("You said “three”" in str(line.value) for line in page.markdown)


SIGNS = r"*a* __b__ [c](d)\. `e` $f$ <g> #h ##ing :cat: ~~i~~ | &amp; 1."


def test_phones_get_a_question_to_the_character(room):
    asked = PAGE.replace(
        '"Which?", ("one", "two", "three"), "two", "Because of **this**."',
        f"{SIGNS!r}, ({SIGNS!r}, 'two'), 'two', {SIGNS!r}",
    )
    page = AppTest.from_string(asked, default_timeout=60)
    page.session_state["atlas.room"] = (room[0].code, room[1])
    page.run()
    seen = told(room)["ask"]
    assert (seen["words"], seen["options"]) == (SIGNS, [SIGNS, "two"])
    room[0].answer(room[0].take_seat(""), seen["id"], 0)
    page.button[0].click().run()
    assert not page.exception and told(room)["ask"]["why"] == SIGNS
    assert any(line.value == SIGNS for line in page.text)  # the reason, as the lecturer's page shows it


def test_no_text_that_is_taken_literally_is_escaped_or_has_markup():
    """`page_parts.summary` and `st.text` show a backslash and a star as they come."""
    wrong = []
    for path in Path(viz.__file__).parent.rglob("*.py"):
        source = path.read_text("utf-8")
        if "numbers(" not in source and "st.text(" not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in (
                "page_parts.summary",
                "numbers",
                "st.text",
            ):
                texts = [one.value for one in ast.walk(node) if isinstance(one, ast.Constant)]
                if "literal(" in ast.unparse(node) or any(
                    "**" in text for text in texts if isinstance(text, str)
                ):
                    wrong.append(f"{path.name}:{node.lineno}")
    assert wrong == []


def test_a_session_that_leads_none_or_whose_room_ended_shows_nobody_anything(room, page):
    room[0].end()
    page.run()
    assert not page.exception and set(told(room)) == {"end"}
    stranger = AppTest.from_string(PAGE.replace("st.button", "0 and st.button"), default_timeout=60)
    stranger.session_state["atlas.room"] = (room[0].code, "guessed")
    assert not stranger.run().exception


def test_the_page_opens_a_room_says_what_it_keeps_and_asks_own_questions(rooms):
    page = AppTest.from_string(
        "from viz.workspace.lecture_room import page\npage.page()", default_timeout=60
    ).run()
    next(button for button in page.button if button.label == "What a room keeps").click().run()
    assert any("memory" in line.value for line in page.markdown)
    page.button(key="room.open").click().run()
    assert not page.exception
    (room,) = rooms._rooms.values()
    assert any(store.spoken_code(room.code) == title.value for title in page.title)
    room.say(room.take_seat(""), "Unread, and obscene")
    page.run()
    assert "Unread" not in str(
        [one.value for one in (*page.text, *page.markdown)]
    )  # the class sees this page
    room.accept(told([room], leads=True)["said"]["sentences"][0]["id"])
    assert any(line.value == "Unread, and obscene" for line in page.run().text)
    page.button(key="room.end").click().run()
    assert room.ended and page.button(key="room.open")
    assert any("has ended" in line.value for line in page.markdown)


ASKING = PAGE.replace(
    "st.button",
    "from viz.workspace.lecture_room import own_question\nown_question.show(lecture.led_room()[0])\nif st.session_state.get('asks'): own_question.dialog(lecture.led_room()[0])\nst.button",
    1,
)


def test_an_own_question_is_asked_beside_the_picture_which_stays(room):
    page = AppTest.from_string(ASKING, default_timeout=60)
    page.session_state["atlas.room"] = (room[0].code, room[1])
    page.session_state["asks"] = True
    page.run()
    before = told(room)["view"]
    page.button(key="room.ask").click().run()
    assert room[0].question.key == "scaling.q" and any("empty" in line.value for line in page.text)
    page.text_input(key="room.words").set_value(SIGNS)
    page.text_area(key="room.options").set_value("yes\n* no\n\\*maybe")
    page.button(key="room.ask").click().run()
    assert not page.exception
    asked = room[0].question
    assert (asked.words, asked.form.options, asked.truth) == (SIGNS, ("yes", "no", "*maybe"), [1])
    page.session_state["asks"] = False
    page.run()
    assert told(room)["view"] == before and told(room)["ask"]["own"]
    seats = [room[0].take_seat("") for _ in range(2)]
    for vote in ((0, 0), (1, 0)):
        for seat, given in zip(seats, vote, strict=True):
            room[0].answer(seat, asked.id, given)
        room[0].vote_again()
    page.button[-1].click().run()
    assert not page.exception
    seen = told(room)
    assert seen["ask"]["changed"] == {"both": 2, "to_right": 1, "to_wrong": 0}
    assert seen["view"]["pictures"] == before["pictures"]  # the answers are no second picture
    page.button(key="room.close").click().run()
    assert room[0].question.key == "scaling.q"


@pytest.mark.parametrize(
    ("url", "bound", "found"),
    [
        ("http://localhost:8501/lecture_room", None, ["http://192.168.1.7:8501"]),
        ("http://127.0.0.1:8501/", "0.0.0.0", ["http://192.168.1.7:8501"]),
        ("http://192.168.1.7:8501/look", "0.0.0.0", ["http://192.168.1.7:8501"]),
    ],
)
def test_the_address_is_one_that_others_reach(url, bound, found):
    assert addresses.reachable(url, bound, ["192.168.1.7"]) == found
