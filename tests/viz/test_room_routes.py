"""What a browser may ask a lecture room for, over ASGI: joining, the stream, answers, steering."""

from __future__ import annotations

import asyncio
import re

import pytest
import uvicorn
from room_visitor import Visitor

from viz.classroom import light_pages, routes, store
from viz.classroom.ask import AnswerFormat, Question
from viz.classroom.pictures import RoomPicture


@pytest.fixture
def led(monkeypatch, new_rooms):
    """A new room, and the secret that steers it."""
    monkeypatch.setattr(store, "ROOMS", rooms := new_rooms())
    return rooms.open()


def test_the_page_says_nothing_of_a_room_and_lets_only_its_own_scripts_run(led):
    room, _ = led
    pages = {
        re.sub(rb'<base href="[./]+">', b"", Visitor().get(f"/room{path}").body)
        for path in ("", f"/{room.code}", f"/{room.code}/wall", "/222222")
    }
    assert len(pages) == 1 and room.code.encode() not in pages.pop()
    answer = Visitor().get("/room")
    assert "script-src 'self' blob:" in answer.headers["content-security-policy"]
    named = set(re.findall(r"room/assets/([\w.]+)", answer.body.decode()))
    assert named == {"follow.js", "follow.css", "asking.css"}
    assert all(Visitor().get(f"/room/assets/{name}").status == 200 for name in light_pages.ASSETS)
    assert Visitor().get("/room/assets/follow.html").status == 404


@pytest.mark.parametrize(("page", "script"), [("presenter", "presenter.js"), ("follower_page", "follow.js")])
def test_the_script_of_a_page_reads_the_code_in_each_of_its_addresses(page, script):
    (rule,) = re.findall(
        r"/(\S+)/\.exec\(location\.pathname\)", (light_pages.PAGE_FOLDER / script).read_text("utf-8")
    )
    addresses = [
        route.path
        for route in routes.ROUTES
        if route.endpoint is getattr(light_pages, page) and "{code}" in route.path
    ]
    codes = [re.search(rule, path.replace("{code}", "ABC123"))[1] for path in addresses]
    assert set(codes) == {"ABC123"}


def test_the_page_finds_its_way_below_an_operators_path():
    for path, base in (("", "./"), ("/notes", "../"), ("/BCDFGH/wall", "../../")):
        assert f'<base href="{base}">' in Visitor().get(f"/room{path}").body.decode(), (
            "the prefix of a proxy is known to the browser alone"
        )


def test_who_joins_gets_a_seat_and_the_view_and_comes_back_to_what_is_new(led):
    room, _ = led
    room.show({"title": "Look"}, {"words": RoomPicture({"header": {}})})
    student = Visitor()
    assert student.join(room.code).told == {"code": room.code}  # the page asks in capitals: follow.js
    (first,) = student.stream(f"/room/{room.code}/events")
    assert [event["event"] for event in first] == ["view", "picture"]
    assert first[0]["data"] == {"title": "Look", "pictures": ["words"]}
    room.pause(True)
    (again,) = student.stream(f"/room/{room.code}/events", last=int(first[-1]["id"]))
    assert [(event["event"], event["data"]) for event in again] == [("pause", {"paused": True})]
    seat = student.cookies["atlas_seat"]
    student.join(room.code)
    assert student.cookies["atlas_seat"] == seat and seat[0] == f"/room/{room.code}"


def test_an_answer_and_a_sentence_reach_the_lecturer_and_no_follower(led):
    room, secret = led
    room.set_question(question := Question("own", "Which?", AnswerFormat("choice", ("a", "b"))))
    student, lecturer = Visitor(), Visitor()
    student.join(room.code)
    answers = f"/room/{room.code}/answer"
    assert student.post(answers, {"question": question.id, "answer": 1}).status == 200
    assert student.post(f"/room/{room.code}/say", {"sentence": "A red car."}).status == 200
    assert lecturer.lead(room.code, secret).status == 200
    (heard,) = lecturer.stream(f"/room/{room.code}/events?as=lead")
    told = {event["event"]: event["data"] for event in heard}
    assert told["people"]["answered"] == 1 and room.sentences() == ["A red car."]
    assert told["said"]["sentences"][0]["words"] == "A red car." and told["votes"]["counts"] == [0, 1]
    (seen,) = student.stream(f"/room/{room.code}/events")
    assert [event["event"] for event in seen] == ["mine", "ask"] and "counts" not in seen[1]["data"]
    assert seen[0]["data"] == {"id": question.id, "answer": 1}
    for act, left in (("accept", ["A red car."]), ("drop", [])):
        assert lecturer.steer(room.code, act, sentence=told["said"]["sentences"][0]["id"]).status == 200
        assert room.on_wall() == left and room.sentences() == []


def test_the_lecturers_devices_steer(led):
    room, secret = led
    phone = Visitor()
    assert phone.lead(room.code, "").status == 403
    assert phone.lead(room.code, secret).status == phone.lead(room.code, "").status == 200
    for act, more in (
        ("pause", {}),
        ("touch", {"what": "word", "group": "g", "at": {"side": "source", "index": 2}}),
        ("next", {}),
        ("take", {"sentence": "ab12"}),
    ):
        assert phone.steer(room.code, act, **more).status == 200
    (heard,) = phone.stream(f"/room/{room.code}/events?as=lead", last=1)
    told = {event["event"]: event["data"] for event in heard}
    assert told["command"] == {"act": "take", "sentence": "ab12"} and told["touch"]["at"]["index"] == 2
    (fresh,) = phone.stream(f"/room/{room.code}/events?as=lead")
    assert "command" not in {event["event"] for event in fresh}  # a reload does nothing twice
    assert phone.steer(room.code, "go").status == 200 and not room.paused
    assert phone.steer(room.code, "end").status == 200 and room.ended


def test_a_part_is_for_those_inside_and_stays_in_their_browser(led):
    room, _ = led
    room.show({}, {"grid": RoomPicture({}, {"abc": b"numbers"})})
    student = Visitor()
    assert student.get(f"/room/{room.code}/part/abc").status == 403
    student.join(room.code)
    answer = student.get(f"/room/{room.code}/part/abc")
    assert answer.body == b"numbers" and answer.headers["cache-control"].startswith("private")
    assert student.get(f"/room/{room.code}/part/other").status == 404


def test_when_it_ends_everybody_is_told_and_the_code_is_none(led):
    room, _ = led
    student = Visitor()
    student.join(room.code)
    room.end()
    for answer in (student.join(room.code), Visitor().join(room.code), Visitor().lead(room.code, "")):
        assert (answer.status, answer.told["ended"]["leads"], answer.told["ended"]["votes"]) == (
            410,
            False,
            [],
        )
    answer = Visitor().join("222222")
    assert answer.status == 404 and answer.told["error"]


def test_the_votes_are_a_file_for_the_lecturer_alone_during_and_after_the_lecture(led):
    room, secret = led
    lecturer, student = Visitor(), Visitor()
    student.join(room.code)
    lecturer.lead(room.code, secret)
    room.set_question(question := Question("own", "Which?", AnswerFormat("choice", ("a", "b")), truth=[0]))
    student.post(f"/room/{room.code}/answer", {"question": question.id, "answer": 1})
    room.reveal(question.truth)
    for _ in range(2):
        answer = lecturer.get(f"/room/{room.code}/votes")
        assert answer.body.decode("utf-8-sig").splitlines()[1:] == [
            "1,Which?,choice,a,yes,,0",
            "1,Which?,choice,b,no,,1",
        ]
        assert "attachment" in answer.headers["content-disposition"]
        page = lecturer.get(f"/room/{room.code}/report")
        assert 'filename="lecture.html"' in page.headers["content-disposition"]
        assert "Which?" in page.body.decode() and room.code not in page.body.decode()
        for name in ("votes", "report"):
            assert student.get(f"/room/{room.code}/{name}").status == 403
        room.end()
    assert (
        lecturer.lead(room.code, "").told["ended"]["leads"]
        and not student.join(room.code).told["ended"]["leads"]
    )


def test_the_qr_code_opens_where_an_address_tried_too_many_codes(led):
    room, _ = led
    for _ in range(store.MOST_WRONG):
        assert Visitor("hall").join("222222").status == 404
    assert Visitor("hall").join(room.code).status == 429
    assert Visitor("hall").join(room.code, room.door).status == 200
    assert Visitor("elsewhere").join(room.code).status == 200


def test_streams_end_when_the_server_is_about_to_and_rooms_that_no_other_copy_has(led):
    server = uvicorn.Server(uvicorn.Config("app:app"))
    server.should_exit = True
    asyncio.run(asyncio.wait_for(routes.remove_ended_rooms(server), 5))
    ended, leaves = led[0].ended, led[0].is_draining
    assert (ended, store.ROOMS.find(led[0].code)) == (True, None) or (ended, leaves) == (False, True)
