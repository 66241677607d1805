"""Rooms that several copies of the app share through Redis: one order for all, a copy that dies, a Redis that goes and comes back."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis

from core.errors import InputError
from viz.classroom import backend, shared, store
from viz.classroom.ask import AnswerFormat, Question
from viz.classroom.pictures import RoomPicture
from viz.classroom.room import LASTS
from viz.classroom.seats import Refusal
from viz.classroom.shared import RedisRooms
from viz.classroom.store import MOST_WRONG


@pytest.fixture
def copy(redis_server) -> Iterator[Callable[[], RedisRooms]]:
    """Starts a copy: as much of it as holds rooms."""
    started: list[RedisRooms] = []

    def start() -> RedisRooms:
        started.append(RedisRooms(redis_server.url))
        return started[-1]

    yield start
    for one in started:
        one.close()


@pytest.fixture
def two(copy) -> tuple[RedisRooms, RedisRooms]:
    return copy(), copy()


def until(true: Callable[[], Any], seconds: float = 8) -> None:
    """Wait for it."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.01)


def level(*copies: RedisRooms) -> None:
    """Wait until all have done the same."""
    until(lambda: len({_applied(one) for one in copies}) == 1)


def _applied(one: RedisRooms) -> bytes:
    """Return the position of the last act that a copy has done, not of one that it does just now."""
    with one._turn:
        return one.position


def choice(key: str = "own") -> Question:
    return Question(key, "Which word?", AnswerFormat("choice", ("the", "cat", "sat")))


def held(room: Any) -> dict[str, Any]:
    """What a copy holds of a room, but how often the lecturer was told who is there."""
    state = room.state()
    state["topics"]["held"].pop("people", None)
    return json.loads(json.dumps({**state, "topics": state["topics"]["held"]}))


def test_a_seat_that_answers_at_both_copies_counts_once(two):
    room, secret = two[0].open()
    level(*two)
    other = two[1].find(room.code)
    assert other.accepts_secret(secret) and not other.accepts_secret("x") and other.door == room.door
    seats = [one.take_seat("") for one in (room, other, other)]
    room.set_question(choice())
    level(*two)
    for seat, given in zip(seats * 2, (0, 1, 2, 1, 1, 1), strict=True):
        (room if given % 2 else other).answer(seat, other.question.id, given)
    other.reveal([1], "measured")
    level(*two)
    for one in (room, other):
        assert one.question.public_state()["counts"] == [0, 3, 0] and one.question.answers.keys() == set(
            seats
        )
        with pytest.raises(InputError, match="closed"):
            one.answer(seats[0], room.question.id, 0)


def test_who_comes_back_at_another_copy_goes_on_where_he_was(two):
    room, _ = two[0].open()
    room.show({"title": "Look"}, {"grid": RoomPicture({"header": 1}, {"abc": b"\x00numbers"})})
    level(*two)
    other, seen = two[1].find(room.code), room.number
    assert other.since(seen) == [] and other.since(0) == room.since(0) != []
    assert other.part("abc") == b"\x00numbers"
    other.pause(True)
    level(*two)
    assert [topic for topic, _, _ in room.since(seen)] == ["pause"] and room.since(seen) == other.since(seen)


def test_copies_that_act_at_once_come_to_the_same_room(two, copy):
    room, _ = two[0].open()
    level(*two)
    rooms = (room, two[1].find(room.code))
    seats = [room.take_seat("") for _ in range(6)]

    def act(at: int) -> None:
        rng = random.Random(at)
        mine = rooms[at % 2]
        for n in range(40):
            what = rng.randrange(6)
            try:
                if what == 0:
                    mine.set_question(choice(f"own{rng.randrange(4)}"))
                elif what == 1:
                    mine.show(
                        {"n": n}, {"a": RoomPicture({"n": n}, {f"part{at}{n}": bytes(rng.randrange(9))})}
                    )
                elif what == 2:
                    mine.say(seats[at], f"sentence {n}")
                elif what == 3:
                    mine.reveal([1])
                elif what == 4 and mine.question:
                    mine.answer(seats[at], mine.question.id, rng.randrange(3))
                else:
                    mine.pause(rng.random() < 0.5)
            except InputError:
                pass

    threads = [threading.Thread(target=act, args=(at,)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    late = copy()
    level(*two, late)
    assert held(rooms[0]) == held(rooms[1]) == held(late.find(room.code))


def test_a_log_that_was_cut_is_gone_on_with_by_who_comes_later(two, copy, redis_server, monkeypatch):
    monkeypatch.setattr("viz.classroom.log.RETENTION", 0.0)
    room, _ = two[0].open()
    room.show({"title": "Look"}, {"grid": RoomPicture({}, {"abc": b"1"})})
    room.set_question(choice())
    room.answer(room.take_seat(""), room.question.id, 1)
    two[0]._cut()
    server = redis.Redis.from_url(redis_server.url)
    assert server.xlen("atlas:rooms:log") <= 3  # who is here
    room.pause(True)
    late = copy()
    level(*two, late)
    assert held(late.find(room.code)) == held(room) and late.find(room.code).part("abc") == b"1"


def test_redis_keeps_no_secret_and_no_word_of_a_room_that_has_ended_and_everything_expires(two, redis_server):
    server = redis.Redis.from_url(redis_server.url)
    room, secret = two[0].open()
    other, _ = two[1].open()
    seat = room.take_seat("")
    room.set_question(choice("own of the room"))
    for _ in range(2):
        room.say(seat, "A sentence of the room")
        two[0]._cut()
    assert secret not in str(everything(server)) and "A sentence of the room" in str(everything(server))
    room.end()
    level(*two)
    left = str(everything(server))
    assert not any(word in left for word in ("sentence of", "own of", seat)) and other.code in left
    assert two[1].find(room.code) is None and two[1].find(other.code)
    assert all(0 < server.ttl(name) <= LASTS for name in server.keys("*"))


def everything(server: Any) -> list[Any]:
    return [
        server.xrange(name)
        if server.type(name) == b"stream"
        else server.hgetall(name)
        if server.type(name) == b"hash"
        else server.get(name)
        for name in server.keys("*")
    ]


def test_who_is_there_is_counted_over_all_copies_and_a_dead_copy_takes_its_own_along(two, monkeypatch):
    monkeypatch.setattr(shared, "LOST", 0.3)
    room, _ = two[0].open()
    level(*two)
    other = two[1].find(room.code)
    seats = [room.take_seat("") for _ in range(3)]
    for one, at in zip(seats, (room, other, other), strict=True):
        at.connect(one, 1)
    other.connect(seats[0], 1)  # one browser, two windows
    until(lambda: room._seats.joined == other._seats.joined == 3)
    two[1]._stopped.set()  # it says nothing any more
    two[1]._heart.join()
    time.sleep(0.4)
    two[0].publish_counts_soon()
    until(lambda: room._seats.joined == 1)


def test_wrong_codes_are_counted_over_all_copies(two):
    for n in range(MOST_WRONG):
        with pytest.raises(Refusal, match="no room"):
            two[n % 2].enter("222222", "an address")
    level(*two)
    for one in two:
        with pytest.raises(Refusal, match="Too many"):
            one.enter("222222", "an address")


@pytest.mark.parametrize("lost", [True, False], ids=["with its memory", "for a while"])
def test_redis_goes_and_comes_back(two, redis_server, lost, monkeypatch):
    monkeypatch.setattr("viz.classroom.log.AGAIN", 0.05)
    monkeypatch.setattr("viz.classroom.log.PATIENCE", 0.3)
    room, secret = two[0].open()
    room.show({"title": "Look"}, {})
    room.set_question(choice())
    level(*two)
    other = two[1].find(room.code)
    seat = other.take_seat("")
    other.answer(seat, room.question.id, 1)
    level(*two)
    woken, seen = [], other.number
    other.listen(lambda: woken.append(other.is_stale))
    if lost:
        redis_server.stop()
    else:
        redis_server.freeze(True)
    until(lambda: room.is_stale and other.is_stale and woken)
    for act in (lambda: other.answer(seat, room.question.id, 2), lambda: other.say(seat, "x"), two[0].open):
        with pytest.raises(Refusal, match="cannot be reached"):
            act()
    assert other.since(0) and other.accepts_secret(secret)  # what was known is still shown
    room.show({"title": "Masks"}, {})  # the lecturer goes on
    room.show({"title": "Scaling"}, {})
    if lost:
        redis_server.start()
    else:
        redis_server.freeze(False)
    until(lambda: not room.is_stale and not other.is_stale)
    until(lambda: any('"Scaling"' in told for _, _, told in other.since(seen)))
    other.answer(seat, room.question.id, 2)
    level(*two)
    assert room.question.answers == other.question.answers == {seat: 2}
    assert held(room) == held(other)


def test_a_redis_that_forgot_without_hanging_up_is_told_the_rooms(two, redis_server, copy):
    room, _ = two[0].open()
    room.show({"title": "Look"}, {})
    level(*two)
    redis_server.clear()
    for one in two:
        one.publish_counts_soon()
    until(lambda: redis.Redis.from_url(redis_server.url).exists("atlas:rooms:log"))
    late = copy()
    until(lambda: late.find(room.code))
    others = two[1].find(room.code), late.find(room.code)
    until(lambda: all(held(room) == held(other) for other in others))  # each copy notices by itself


def test_a_redis_that_forgets_at_any_moment_always_has_a_life(two, redis_server):
    """Between two commands of its own a copy may find that all keys are gone."""
    ended = threading.Event()
    server = redis.Redis.from_url(redis_server.url)

    def forget() -> None:
        while not ended.is_set():
            server.flushall()

    thread = threading.Thread(target=forget)
    thread.start()
    try:
        lives = {two[0]._log._life_now() for _ in range(400)}
    finally:
        ended.set()
        thread.join()
    assert len(lives) > 1 and all(len(life) == 16 for life in lives)


def test_a_copy_that_ends_leaves_the_room_to_the_others(two):
    room, _ = two[0].open()
    level(*two)
    other = two[1].find(room.code)
    seat = room.take_seat("")
    room.connect(seat, 1)
    until(lambda: other._seats.joined == 1)
    two[0].close()
    assert room.is_draining and not room.ended
    until(lambda: other._seats.joined == 0)
    assert other.has_seat(seat) and two[1].find(room.code) is other


def test_what_the_copies_cannot_read_is_passed_over(two, redis_server):
    server = redis.Redis.from_url(redis_server.url)
    room, _ = two[0].open()
    for fields in ({"act": "dance", "code": room.code, "args": "[[], {}]"}, {"act": "pause"}, {"x": "y"}):
        server.xadd("atlas:rooms:log", fields)
    room.pause(True)
    level(*two)
    assert two[1].find(room.code).paused


@pytest.mark.parametrize("url", ["localhost", "http://localhost", "redis"])
def test_an_address_that_is_none_ends_the_start_in_words(url, monkeypatch):
    monkeypatch.setenv("ATLAS_ROOMS", url)
    with pytest.raises(ValueError, match="is not the address of a Redis"):
        backend.configure_backend()


def test_without_redis_the_app_starts_and_waits(monkeypatch):
    monkeypatch.setenv("ATLAS_ROOMS", "redis://127.0.0.1:9/0")
    monkeypatch.setattr(store, "ROOMS", None)
    backend.configure_backend()
    assert store.ROOMS.is_stale and store.ROOMS.find("222222") is None
    with pytest.raises(Refusal, match="cannot be reached"):
        store.ROOMS.open()
    store.ROOMS.close()
