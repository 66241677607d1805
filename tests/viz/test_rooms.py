"""One lecture room without a server: who hears what, what counts as an answer, what is forgotten and when."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from core.errors import InputError
from viz.classroom.ask import AnswerFormat, Question
from viz.classroom.pictures import MOST_PICTURES, RoomPicture
from viz.classroom.record import Record
from viz.classroom.room import LASTS, Room
from viz.classroom.seats import AWAY, BURST, MOST_SEATS, Seats
from viz.classroom.sentences import MOST as MOST_SENTENCES
from viz.classroom.store import IDLE, LENGTH, MOST_ROOMS, SIGNS, Rooms


@pytest.fixture
def clock() -> list[float]:
    return [0.0]


@pytest.fixture
def rooms(new_rooms, clock: list[float]) -> Rooms:
    return new_rooms(now=lambda: clock[0])


@pytest.fixture
def room(rooms: Rooms) -> Room:
    return rooms.open()[0]


AB = AnswerFormat("choice", ("a", "b"))


def choice(key: str = "own") -> Question:
    return Question(key, "Which word?", AnswerFormat("choice", ("the", "cat", "sat")))


def told(room: Room, since: int = 0, *, leads: bool = False) -> dict[str, Any]:
    return {topic: json.loads(text) for topic, _, text in room.since(since, leads=leads)}


def vote(room: Room, seats: list[str], *answers: Any) -> None:
    """Answer the room's question from these seats."""
    for seat, given in zip(seats, answers, strict=False):
        room.answer(seat, room.question.id, given)


def seated(room: Room, n: int) -> list[str]:
    return [room.take_seat("") for _ in range(n)]


def picture(key: str, value: int = 0, size: int = 1) -> RoomPicture:
    return RoomPicture({"value": value}, {f"{key}-part": bytes(size)})


def test_a_latecomer_gets_all_as_it_is_and_who_was_there_gets_what_changed(room):
    room.show({"title": "Look"}, {"a": picture("a"), "b": picture("b")})
    room.show({"title": "Masks"}, {"a": picture("a"), "b": picture("b", 1)})
    before = room.number
    room.show({"title": "Masks"}, {"a": picture("a"), "b": picture("b", 2)})
    assert set(told(room, before)) == {"picture.b"} and told(room, before)["picture.b"]["value"] == 2
    assert told(room) == {
        "view": {"title": "Masks", "pictures": ["a", "b"]},
        "picture.a": {"key": "a", "value": 0},
        "picture.b": {"key": "b", "value": 2},
    }
    assert told(room, 10**9) == told(room)  # a number of another room that had this code


def test_pictures_that_have_gone_are_kept_by_nobody_and_there_are_never_too_many(room):
    room.show({}, {str(i): picture(str(i)) for i in range(MOST_PICTURES + 3)})
    assert len(told(room)["view"]["pictures"]) == MOST_PICTURES
    assert room.part("0-part") == b"\0"
    room.show({}, {"large": picture("large", size=5_000_000), "small": picture("small")})
    assert told(room)["view"]["pictures"] == ["small"]
    assert room.part("0-part") is None and room.part("large-part") is None


def test_an_answer_counts_once_can_change_until_the_reveal_and_is_seen_by_nobody_before(room):
    seats = seated(room, 3)
    room.set_question(choice())
    question = room.question
    for answers in ((0, 1, 2), (1, 1, 2), (1, 1, 1)):  # until each of them says 1
        vote(room, seats, *answers)
    seen = told(room)
    assert "counts" not in seen["ask"] and "truth" not in seen["ask"] and "people" not in seen
    assert told(room, leads=True)["people"]["answered"] == 3
    room.reveal(truth=[1], explanation="measured")
    assert told(room)["ask"] | {"id": ""} == {
        **question.public_state(),
        "id": "",
        "counts": [0, 3, 0],
        "answered": 3,
        "truth": [1],
        "why": "measured",
    }
    with pytest.raises(InputError, match="closed"):
        room.answer(seats[0], question.id, 0)


def test_the_same_question_once_more_goes_on_and_another_begins_anew(room):
    seat = room.take_seat("")
    room.set_question(choice())
    first = room.question
    room.answer(seat, first.id, 1)
    room.set_question(Question("own", "Which word?", AnswerFormat("choice", ["the", "cat", "sat"])))
    assert room.question.id == first.id and room.question.answers == {seat: 1}
    room.set_question(choice("another"))
    assert room.question.answers == {}
    with pytest.raises(InputError, match="closed"):
        room.answer(seat, first.id, 1)
    room.set_question(None)
    assert told(room)["ask"] == {}


def test_a_room_that_votes_again_shows_both_votes_and_who_changed_his_mind(room):
    seats = seated(room, 5)
    room.vote_again()  # nobody is asked anything
    room.set_question(choice())
    first = room.question.id
    room.vote_again()  # nobody has answered
    assert room.question.id == first
    vote(room, seats, 0, 0, 1, 1)
    room.vote_again()
    room.vote_again()
    with pytest.raises(InputError, match="closed"):
        room.answer(seats[0], first, 1)
    seen = told(room, leads=True)
    assert seen["ask"]["again"] and "before" not in seen["ask"] and "counts" not in seen["ask"]
    assert (seen["people"]["first"], seen["people"]["answered"]) == (4, 0)
    assert room.question.majority() in (0, 1)
    vote(room, seats, 1, 0, 2, 1, 1)
    room.set_question(choice())  # the page is drawn anew
    room.reveal(truth=[1])
    shown = told(room)["ask"]
    assert shown["before"] == {"answered": 4, "counts": [2, 2, 0]}
    assert (shown["answered"], shown["counts"]) == (5, [1, 3, 1])
    assert shown["changed"] == {"both": 4, "to_right": 1, "to_wrong": 1}
    room.vote_again()  # it is over
    assert told(room)["ask"] == shown


@pytest.mark.parametrize(
    ("form", "answers", "tally", "majority"),
    [
        (AnswerFormat("word", ("a", "b")), [1, 1, 0], {"counts": [1, 2]}, 1),
        (
            AnswerFormat("cell", ("a", "b")),
            [[0, 1], [0, 1], [1, 1]],
            {"cells": [[0, 1, 2], [1, 1, 1]]},
            (0, 1),
        ),
        (AnswerFormat("number", low=0, high=12), [1, 2.5, 12], {"median": 2.5}, 2.5),
    ],
)
def test_each_kind_is_tallied_as_it_was_answered(form, answers, tally, majority):
    read = [form.read(given) for given in answers]
    found = form.tally(read)
    assert {name: found[name] for name in tally} == tally
    assert "counts" not in found or sum(found["counts"]) == len(answers)
    assert Question("k", "w", form, answers=dict(enumerate(read))).majority() == majority


@pytest.mark.parametrize(
    ("words", "form", "wrong"),
    [
        ("", AB, "empty.*Write a question"),
        (" ", AB, "empty.*Write a question"),
        ("w" * 601, AB, "601 characters.*Shorten"),
        ("w", AnswerFormat("choice", ("a",)), "1 option"),
        ("w", AnswerFormat("choice", ()), "0 options"),
        ("w", AnswerFormat("word", ("a",) * 401), "401 options"),
        ("w", AnswerFormat("number", low=1, high=1), "No number"),
        ("w", AnswerFormat("number", low=0, high=float("inf")), "No number"),
    ],
)
def test_a_question_that_cannot_be_asked_says_so(words, form, wrong):
    with pytest.raises(InputError, match=wrong):
        Question("k", words, form)


def test_who_listens_is_woken_by_what_he_may_hear(room):
    woken: list[str] = []
    deaf = room.listen(lambda: woken.append("follower"))
    room.listen(lambda: woken.append("lecturer"), leads=True)
    room.take_seat("")
    room.command("next")
    assert set(woken) == {"lecturer"}
    room.pause(True)
    assert "follower" in woken
    deaf()
    woken.clear()
    room.pause(False)
    assert woken == ["lecturer"]


def test_sentences_are_for_the_lecturer_alone_one_a_seat_until_he_has_read_them(room):
    one, two = seated(room, 2)
    room.say(one, "  A first\n sentence ")
    room.say(one, "A second sentence")
    room.say(two, "<b>Mine</b>")
    assert "said" not in told(room)
    assert room.sentences() == ["A second sentence", "<b>Mine</b>"]
    assert [one["words"] for one in told(room, leads=True)["said"]["sentences"]] == room.sentences()
    room.clear_sentences()
    assert room.sentences() == [] and told(room, leads=True)["people"]["sentences"] == 0
    for _ in range(MOST_SENTENCES):
        room.say(room.take_seat(""), "mine")
    with pytest.raises(InputError, match="No more sentences"):
        room.say(one, "one more")


def test_a_sentence_is_on_the_wall_only_once_it_is_accepted_and_one_can_be_dropped(room):
    seats = seated(room, 3)
    for seat, words in zip(seats, ("Good", "Obscene", "Better"), strict=True):
        room.say(seat, words)
    good, obscene, better = told(room, leads=True)["said"]["sentences"]
    assert "accepted" not in told(room)
    room.drop(obscene["id"])
    room.accept(good["id"])
    room.say(seats[2], "Best")
    room.accept(better["id"])  # it has been replaced meanwhile: what the lecturer has not read is not shown
    assert room.sentences() == ["Best"]
    assert [one["words"] for one in told(room)["accepted"]["sentences"]] == ["Good"]
    assert not any(seat in json.dumps(told(room, leads=True)) for seat in seats)
    room.drop(good["id"])
    assert told(room)["accepted"]["sentences"] == []


def test_the_lecturer_alone_sees_the_answers_before_the_reveal(room):
    seats = seated(room, 3)
    room.set_question(Question("own", "Which?", AB, truth=[1]))
    vote(room, seats, 0, 1, 1)
    votes = told(room, leads=True)["votes"]
    assert (votes["counts"], votes["truth"], votes["revealed"]) == ([1, 2], [1], False)
    assert "votes" not in told(room) and "truth" not in told(room)["ask"]
    room.vote_again()
    assert told(room, leads=True)["votes"]["before"]["counts"] == [1, 2]
    room.set_question(Question("own", "Which?", AB, truth=[0]))  # another run, another answer
    assert told(room, leads=True)["votes"]["truth"] == [0] and room.question.first


def test_a_seat_is_told_its_own_answers_and_no_others(room):
    one, two = seated(room, 2)
    assert room.own_answer(one) is None
    room.set_question(choice())
    vote(room, [one], 2)
    assert room.own_answer(one) == {"id": room.question.id, "answer": 2} and room.own_answer(two) is None
    room.vote_again()
    vote(room, [one], 0)
    room.reveal(truth=[0])
    assert room.own_answer(one) == {"id": room.question.id, "answer": 0, "first": 2}


def test_a_seat_sends_only_so_fast(room, clock):
    seat = room.take_seat("")
    room.set_question(choice())
    vote(room, [seat] * int(BURST), *[1] * int(BURST))
    with pytest.raises(InputError, match="too fast"):
        vote(room, [seat], 1)
    clock[0] += 1
    vote(room, [seat], 2)
    assert list(room.question.answers.values()) == [2]


def test_seats_are_bounded_and_those_who_left_make_room(clock):
    seats = Seats(lambda: clock[0])
    names = [seats.take_seat("", ()) for _ in range(MOST_SEATS)]
    seats.connect(names[0], 1)
    with pytest.raises(InputError, match="full"):
        seats.take_seat("", ())
    clock[0] = AWAY + 1
    new = seats.take_seat("", {names[1]})
    assert {names[0], names[1], new} == {name for name in (*names, new) if name in seats}
    assert seats.joined == 1
    later = Seats(lambda: clock[0])
    later.restore(seats.state())
    assert later.state() == seats.state() and later.joined == 1


def test_the_end_forgets_everything_and_tells_it(room):
    seat = room.take_seat("")
    room.show({"title": "Look"}, {"a": picture("a")})
    room.set_question(choice())
    room.say(seat, "mine")
    room.end()
    shown = [{"title": "Look", "link": "", "sentence": ""}]
    assert told(room) == {"end": {"shown": shown, "sheet": "", "votes": []}}
    assert room.is_over() and not room.has_seat(seat) and not room.is_forgotten()
    assert room.question is None and room.sentences() == [] and room.part("a-part") is None


def test_the_end_keeps_what_was_shown_and_the_counts_and_nobody(room):
    seats = seated(room, 3)
    for step in (1, 2):
        view = {"title": "Masks", "link": f"masks?masks.step={step}", "exercises": ["mask"]}
        room.show(view, {"a": picture("a")})
    room.show({"title": "Lecture room", "invites": True}, {})
    room.set_question(Question("own", "=Which, word?", AB, truth=[1]))
    vote(room, seats, 0, 1, 1)
    room.reveal(room.question.truth)
    room.set_question(choice("nobody answers"))
    room.reveal()
    room.say(seats[0], "A secret sentence")
    room.end()
    left = json.dumps(room.state())
    assert not any(word in left for word in (*seats, "secret sentence"))
    end = told(room)["end"]
    assert [page["link"] for page in end["shown"]] == ["masks?masks.step=2"]
    assert end["sheet"].endswith("homework.kinds=mask")
    assert [(vote["words"], vote["counts"]) for vote in end["votes"]] == [("=Which, word?", [1, 2])]
    table = room.record.table().splitlines()
    assert table[1:] == ['1,"=Which, word?",choice,a,no,,1', '1,"=Which, word?",choice,b,yes,,2']


def test_a_state_of_an_older_version_is_read(room):
    room.set_question(choice())
    state = json.loads(json.dumps(room.state()))
    for name in ("accepted", "record"):
        del state[name]
    del state["question"]["near"]
    room.restore(state)
    assert room.question.identity == choice().identity and room.record.summary()["votes"] == []


def test_a_room_ends_four_hours_after_the_last_event_not_after_the_last_visit(rooms, clock):
    room, secret = rooms.open()
    assert (
        room.accepts_secret(secret) and not room.accepts_secret(secret + " ") and not room.accepts_secret("")
    )
    assert len(room.code) == LENGTH and set(room.code) <= set(SIGNS)
    clock[0] = LASTS - 1
    room.pause(True)
    clock[0] = 2 * LASTS - 2
    assert rooms.find(f" {room.code[:3].lower()}-{room.code[3:]} ") is room
    room.connect(room.take_seat(""), 1)
    clock[0] = 2 * LASTS
    assert rooms.find(room.code) is None
    rooms.sweep()
    assert room.ended and set(told(room)) == {"end"} and rooms.find_ended(room.code) is room
    clock[0] = 3 * LASTS + 1
    rooms.sweep()
    assert rooms.find_ended(room.code) is None


def test_rooms_are_bounded_and_one_that_nobody_uses_makes_place(rooms, clock):
    opened = [rooms.open()[0] for _ in range(MOST_ROOMS)]
    assert len({room.code for room in opened}) == MOST_ROOMS
    with pytest.raises(InputError, match="No more rooms"):
        rooms.open()
    opened[0].connect("", 1)  # the lecturer's
    here = getattr(rooms, "say_here", None)
    if here:
        here()
    clock[0] = IDLE + 1
    rooms.open()
    assert rooms.find(opened[0].code) is opened[0] and rooms.find(opened[1].code) is None


def test_a_number_is_counted_in_bins_with_round_edges_in_its_unit():
    """Neighbours of 0 to 1 in twelfths: shares, percent, whole numbers, ends that are not round, a negative one."""
    for low, high, edges in (
        (0, 1, [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]),
        (0, 64, [0, 10, 20, 30, 40, 50, 60, 64]),
        (1, 1000, [1, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000]),
        (-0.25, 0.3, [-0.25, -0.2, -0.15, -0.1, -0.05, 0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3]),
        (0.1, 0.3, [0.1, 0.12, 0.14, 0.16, 0.18, 0.2, 0.22, 0.24, 0.26, 0.28, 0.3]),
        (0, 5e-324, [0, 5e-324]),
    ):
        form = AnswerFormat("number", low=low, high=high, unit="%")
        assert form.edges() == edges
        counts = form.tally([low, high, (low + high) / 2])["counts"]
        assert sum(counts) == 3 and counts[0] >= 1 and counts[-1] >= 1 and len(counts) <= 12
    asked = Question("own", "How much?", AnswerFormat("number", low=0, high=100, unit="%"), truth=37.0)
    asked.answers["x"] = 40.0
    record = Record()
    record.note_votes(dataclasses.replace(asked, revealed=True))
    assert "30 to 40%,yes,,0" in record.table() and "40 to 50%,no,,1" in record.table()


def test_powers_and_indices_of_a_question_are_set_on_phones():
    asked = Question("own", "x_i or *e*?", AB, revealed=True, explanation="e^3.5 = 33\n#1")
    parts = asked.public_state()["typeset"]
    assert parts["words"] == [["x", "i"], ["i", "sub"], [" or *e*?", ""]]
    assert parts["why"] == [["e", "i"], ["3.5", "sup"], [" = 33\n#1", ""]]
