"""The record of a lecture as one file: its numbers, and nothing of a person in it."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from viz.classroom.ask import AnswerFormat, Question
from viz.classroom.pictures import RoomPicture
from viz.classroom.report import lecture_report
from viz.classroom.room import Room

MARKUP = "<img src=x onerror=alert(1)>"


class Rows(HTMLParser):
    """The cells of each row of all tables, and the names of all elements."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.rows: list[list[str]] = []
        self.names: set[str] = set()
        self.inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.names.add(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag == "td":
            self.inside = True
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self.inside = self.inside and tag != "td"

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.rows[-1][-1] += data.strip()


def test_the_file_has_each_answer_in_numbers_and_no_person() -> None:
    room = Room("BCDFGH", "secret", now=lambda: 12345.0)
    seats = [room.take_seat("") for _ in range(3)]
    room.show({"title": "Masks", "link": "masks", "sentence": MARKUP}, {"a": RoomPicture({"header": {}})})
    room.set_question(Question("own", "Which?" + MARKUP, AnswerFormat("choice", ("a", MARKUP)), truth=[1]))
    for seat, place in zip(seats, (0, 0, 1), strict=True):
        room.answer(seat, room.question.id, place)
    room.vote_again()
    for seat, place in zip(seats, (0, 1, 1), strict=True):
        room.answer(seat, room.question.id, place)
    room.reveal(room.question.truth, "Because.")
    room.set_question(Question("own", "How many?", AnswerFormat("number", (), 0, 10, "words"), truth=4))
    room.answer(seats[0], room.question.id, 4.5)
    room.reveal(4)
    room.say(seats[0], "A sentence that waits")
    room.end()
    page = lecture_report(room.record)
    read = Rows(page)
    assert read.rows[:2] == [["a", "", "1 (first 2)"], [f"{MARKUP} \u2713", "", "2 (first 1)"]]
    assert ["4 to 5 words \u2713", "", "1"] in read.rows
    assert not {"img", "script"} & read.names and page.count("&lt;img") == 3
    assert re.findall(r"width:([\d.]+)%", page)[:4] == ["50.0", "100.0", "100.0", "50.0"]
    for word in (*seats, room.code, room.door, "12345", "A sentence that waits"):
        assert word not in page


def test_a_lecture_without_questions_has_a_file_too() -> None:
    page = lecture_report(Room("BCDFGH", "secret").record)
    assert "<section>" not in page and Rows(page).rows == []
