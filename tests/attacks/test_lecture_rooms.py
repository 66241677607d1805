"""Who would disturb a lecture: forged steering, answers played again, guessed codes, markup, floods. All refused, in words."""

from __future__ import annotations

import json
import time
from itertools import cycle, islice
from typing import Any

import pytest
from room_visitor import Visitor

from viz.classroom import routes, seats, store
from viz.classroom.ask import AnswerFormat, Question
from viz.classroom.pictures import RoomPicture
from viz.classroom.room import Room

MARKUP = "<img src=x onerror=alert(1)><script>alert(1)</script>"


@pytest.fixture
def room(monkeypatch, new_rooms) -> Room:
    """A room with a view and an open question, and beside it another one."""
    monkeypatch.setattr(store, "ROOMS", rooms := new_rooms())
    room, _ = rooms.open()
    room.show({"title": "Look"}, {"a": RoomPicture({}, {"part": b"1"})})
    room.set_question(Question("own", "Which?", AnswerFormat("choice", ("a", "b"))))
    return room


@pytest.fixture
def student(room) -> Visitor:
    return seated(room)


def seated(room: Room) -> Visitor:
    """Return a student who has sent nothing yet: a seat may send few messages a second."""
    student = Visitor()
    student.join(room.code)
    return student


def state(room: Room) -> tuple[Any, ...]:
    """All that anybody sees of a room, and what was answered."""
    return room.since(0), room.ended, room.paused, dict(room.question.answers), room.sentences()


def cookie(room: Room, secret: str) -> dict[str, tuple[str, str]]:
    return {"atlas_lead": ("/", f"{room.code}.{secret}")}


FORGED = ["", "0", "x" * 22, "'; DROP", "\u00e9", "null", "BCDFGH", "x" * 3000]


def test_a_forged_secret_steers_nothing(room):
    before, acts = state(room), cycle(sorted(routes.ACTS))
    for secret in FORGED:
        stranger = Visitor(cookies=cookie(room, secret))
        for act in islice(acts, 3):
            assert stranger.steer(room.code, act).status == 403, (secret, act)
        assert stranger.lead(room.code, secret).status in (403, 413), secret
    assert state(room) == before


def test_a_student_steers_nothing(room, student):
    before = state(room)
    for act in sorted(routes.ACTS):
        answer = student.steer(room.code, act, what="word", at={}, place=0, sentence="x")
        assert answer.status == 403 and answer.told["error"]
        assert state(room) == before, act


def test_the_lecturer_of_one_room_steers_no_other(room):
    other, secret = store.ROOMS.open()
    lecturer = Visitor()
    assert lecturer.lead(other.code, secret).status == 200
    assert lecturer.steer(room.code, "end").status == 403 and lecturer.lead(room.code, secret).status == 403
    lecturer.cookies = cookie(room, secret)
    assert lecturer.steer(room.code, "end").status == 403 and not room.ended


def test_a_student_hears_nothing_that_is_the_lecturers(room, student):
    assert student.get(f"/room/{room.code}/events?as=lead").status == 403
    room.answer(room.take_seat(""), room.question.id, 1)
    room.say(room.take_seat(""), "unread")
    heard = student.stream(f"/room/{room.code}/events")[0]
    assert {event["event"] for event in heard} == {"view", "picture", "ask"}
    assert "unread" not in json.dumps(heard) and "counts" not in json.dumps(heard)
    for name in ("votes", "report"):
        assert student.get(f"/room/{room.code}/{name}").status == 403


def test_what_is_no_answer_is_not_counted(room):
    for given in (None, -1, 2, 1.0, True, "1", "", [0], [0, 1], {}, {"a": 1}, 10**30, MARKUP, [[]]):
        told = {"question": room.question.id, "answer": given}
        answer = seated(room).post(f"/room/{room.code}/answer", told)
        assert answer.status == 400 and answer.told["error"], given
        assert room.question.answers == {}, given


def test_what_is_no_number_is_not_counted(room):
    room.set_question(Question("own", "How many?", AnswerFormat("number", low=0, high=10)))
    for given in ("1", None, True, float("nan"), float("inf"), -0.1, 10.1, [1], 10**400):
        body = json.dumps({"question": room.question.id, "answer": given}).encode()
        assert seated(room).post(f"/room/{room.code}/answer", raw=body).status == 400, given
        assert room.question.answers == {}, given


def test_an_answer_played_again_counts_once_and_none_to_a_question_of_before(room, student):
    first = {"question": room.question.id, "answer": 1}
    for _ in range(5):
        student.post(f"/room/{room.code}/answer", first)
    assert len(room.question.answers) == 1
    room.reveal()
    assert student.post(f"/room/{room.code}/answer", first).status == 400
    room.set_question(Question("own2", "And now?", AnswerFormat("choice", ("a", "b"))))
    assert student.post(f"/room/{room.code}/answer", first).status == 400
    assert room.question.answers == {}


def test_a_seat_that_nobody_gave_out_sends_nothing(room):
    for seat in ("", "guessed", "x" * 2000, "../..", MARKUP, "\u00fc"):
        stranger = Visitor(cookies={"atlas_seat": (f"/room/{room.code}", seat)})
        for path, told in (
            ("answer", {"question": room.question.id, "answer": 0}),
            ("say", {"sentence": "Hello"}),
        ):
            assert stranger.post(f"/room/{room.code}/{path}", told).status == 403, (seat, path)
        for path in ("events", "part/part"):
            assert stranger.get(f"/room/{room.code}/{path}").status == 403, (seat, path)
    assert room.question.answers == {} and room.sentences() == []


UNREADABLE = (
    *(b"[]", b"1", b'"a"', b"{", b"\xff\xfe", b"[" * 4000, b'{"a":' * 800, b"null", b"{}" * 2),
    b'{"sentence":"a\\ud800b"}',
    b'{"door":"\\udfff","secret":"\\udfff"}',
    b'{"sentence":NaN}',
)


@pytest.mark.parametrize("path", ["join", "lead", "answer", "say"])
@pytest.mark.parametrize("new_rooms", ["memory"], indirect=True)  # it is refused before a room is asked
def test_what_cannot_be_read_is_refused(room, path):
    for body in UNREADABLE:
        answer = seated(room).post(f"/room/{room.code}/{path}", raw=body)
        assert answer.status in (400, 403) and answer.told["error"], body[:9]


@pytest.mark.parametrize("new_rooms", ["memory"], indirect=True)
def test_more_than_a_message_is_not_read(room, student):
    for path in ("join", "lead", "answer", "say", "steer"):
        answer = student.post(f"/room/{room.code}/{path}", {"sentence": "x" * 100_000})
        assert answer.status in (403, 413) and len(answer.body) < 500, path
        assert room.sentences() == []


def test_half_a_character_does_not_reach_the_lecturers_page(room, student):
    for name in ("sentence", "question", "answer", "\ud800"):
        student.post(
            f"/room/{room.code}/say", raw=json.dumps({"sentence": "fine", name: "a\ud800b"}).encode()
        )
    assert (
        room.sentences() == []
        and json.dumps(room.since(0, leads=True), default=str, ensure_ascii=False).encode()
    )


def test_a_sentence_of_nothing_to_see_is_refused_and_none_turns_what_follows(room, student):
    for empty in ("\u200b\u200d", "\u2060", "\ufeff \u00ad", "\u202e\u202c"):
        assert student.post(f"/room/{room.code}/say", {"sentence": empty}).status == 400
    assert (
        student.post(
            f"/room/{room.code}/say", {"sentence": "a \u202eb \u0915\u093f \U0001f469\u200d\U0001f52c"}
        ).status
        == 200
    )
    assert room.sentences() == ["a b \u0915\u093f \U0001f469\u200d\U0001f52c"]


def test_one_seat_has_few_streams_and_a_full_server_opens_none(room, student, monkeypatch):
    path, seat = f"/room/{room.code}/events", student.cookies["atlas_seat"][1]
    monkeypatch.setattr(routes, "_streams", routes.Counter({(room.code, seat): routes.STREAMS[False]}))
    refused = student.get(path)
    assert refused.status == 503 and "open too often" in refused.told["error"]
    other = Visitor()
    other.join(room.code)
    assert other.stream(path) and not routes._streams[room.code, other.cookies["atlas_seat"][1]]
    monkeypatch.setattr(routes.limits, "refusal_reason", lambda spare: "All of its files are in use.")
    assert other.get(path).status == 503


def test_a_part_of_a_room_does_not_say_whether_there_is_one(room):
    for code in (room.code, "222222"):
        assert Visitor().get(f"/room/{code}/part/x").status == 403


def test_a_code_cannot_be_guessed_by_trying(room):
    statuses = [Visitor("one").join(f"22222{sign}").status for sign in store.SIGNS for _ in range(2)]
    assert statuses.count(404) == store.MOST_WRONG and set(statuses[store.MOST_WRONG :]) == {429}
    many = [Visitor(f"10.1.{i // 250}.{i % 250}").join("222222").status for i in range(320)]
    assert many[-1] == 429 and many.count(404) <= store.MOST_WRONG_IN_ALL
    assert Visitor("10.9.9.9").join(room.code, room.door + "x").status == 429
    assert len(store.ROOMS.guesses._by) <= store.Guesses.MOST_ADDRESSES


def test_a_code_that_is_none_opens_nothing(room):
    for code in ("", " ", "..", "%2e%2e", "<b>", "x" * 5000, "\u0130", "BCDFG\u0000", "room"):
        assert Visitor().post(f"/room/{code}/join").status in (404, 405), code


def test_markup_stays_words(room, student):
    student.post(f"/room/{room.code}/say", {"sentence": MARKUP})
    assert room.sentences() == [MARKUP]
    for name in ("follow.js", "asking.js", "draw.js", "ending.js", "presenter.js"):
        assert not any(
            word in Visitor().get(f"/room/assets/{name}").body for word in (b"innerHTML", b"outerHTML")
        )


def test_a_thousand_answers_are_bounded_and_the_other_students_still_count(room, student):
    path, told = f"/room/{room.code}/answer", {"question": room.question.id, "answer": 0}
    begun = time.monotonic()
    statuses = [student.post(path, told).status for _ in range(200)]
    allowed = seats.BURST + seats.RATE * (time.monotonic() - begun) + 1
    assert statuses.count(200) <= allowed and set(statuses) == {200, 429}
    other = Visitor()
    other.join(room.code)
    assert other.post(path, told).status == 200 and len(room.question.answers) == 2


def test_ten_thousand_seats_are_refused_in_words_and_who_sits_stays(room, student):
    for _ in range(seats.MOST_SEATS - 1):
        room.take_seat("")
    answer = Visitor().join(room.code)
    assert answer.status == 503 and answer.told["error"]
    assert student.join(room.code).status == 200


def test_seats_that_nobody_sits_in_are_free_again_at_once_when_the_room_is_full():
    clock = [0.0]
    full = seats.Seats(lambda: clock[0])
    here, away = full.take_seat("", ()), full.take_seat("", ())
    for seat in (here, away):
        full.connect(seat, 1)
    full.connect(away, -1)
    for _ in range(seats.MOST_SEATS - 2):
        full.take_seat("", ())
    clock[0] = seats.NEVER_HERE + 1
    assert full.take_seat("", ()) and here in full and away in full and len(full._by_name) == 3


def test_where_the_lecturer_points_is_a_place_or_nothing(new_rooms, monkeypatch):
    monkeypatch.setattr(store, "ROOMS", new_rooms())
    room, secret = store.ROOMS.open()
    lecturer = Visitor()
    lecturer.lead(room.code, secret)
    for odd in (MARKUP, [1], {"query": MARKUP}, {"query": 1.5}, {"side": "middle"}, {"x": [1]}):
        assert lecturer.steer(room.code, "touch", what="word", group="g", at=odd).status == 200, odd
        assert json.loads(room.since(0)[-1][2])["at"] is None, odd
    assert lecturer.steer(room.code, "touch", what=MARKUP, at={}).status == 400
