"""The addresses of a room: the light page of the followers, its stream of events, and the messages to it.

A follower is one page of ours and one idle connection (server-sent events), not a Streamlit session. A browser holds two
cookies that no script can read: its seat, and on the lecturer's devices the secret that controls the room. Nothing else
distinguishes browsers, and nothing is written to disk.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from http.cookies import SimpleCookie
from typing import Any

import uvicorn
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from core.errors import InputError
from viz import limits
from viz.classroom import store
from viz.classroom.light_pages import asset, follower_page, notes, presenter, reader_language
from viz.classroom.report import lecture_report
from viz.classroom.room import LASTS, Room
from viz.classroom.seats import CLOSED, LEAD, SEAT, Refusal
from viz.languages import mark, using

HOME = re.compile(r"/(?:[\w.~%-]+/)*")
NOTHING: Mapping[str, str] = {}
MOST_BODY = 4096
"""Bytes of what may be sent at once."""
PACE, QUIET = 0.05, 15.0
"""Seconds between two messages to one follower at least, and to the comment that holds a quiet connection."""
SWEEP, GLANCE = 60.0, 0.25
"""Seconds from one look for rooms that are over to the next, and between two looks whether the server ends."""
POINTING, SIDES = ("hover", "word"), ("source", "target")
"""Kinds of pointing in a picture, and the rows of the words view."""
STRANGER = (
    403,
    mark("You do not control this room."),
    mark("Only the person who opened it may do so."),
    mark("Join as a student, or use the lecturer's own link."),
)

STREAMS = {False: 4, True: 16}
"""Streams that one seat may have open, and one that leads: wall, control, presenter's view and bar on several devices."""
RETURNING = 16
"""Open files that must stay free for those inside."""
CROWDED = (
    503,
    mark("This page is open too often."),
    mark("A student has {most} connections to a room at most, and the server keeps some files free."),
    mark("Close other windows of this room, or try again in a minute."),
)
_streams: Counter[tuple[str, str]] = Counter()


async def join(request: Request) -> Response:
    """Give this browser a seat in the room. The body of the request is `{"door": ...}`, which only the QR code has, or empty."""
    message = await _body(request)
    code, seat = request.path_params["code"], request.cookies.get(SEAT, "")
    room = store.ROOMS.find(code)
    who = request.client.host if request.client else ""
    if room is None and (past := store.ROOMS.find_ended(code, who)):
        return _end(past)
    if room is None or not room.has_seat(seat):
        room = await asyncio.to_thread(store.ROOMS.enter, code, who, str(message.get("door", "")))
    answer = JSONResponse({"code": room.code})
    _keep(answer, SEAT, await asyncio.to_thread(room.take_seat, seat))
    return answer


async def lead(request: Request) -> Response:
    """Exchange the secret for a cookie, with which this browser controls the room."""
    message, cookie = await _body(request), request.cookies.get(LEAD, "").partition(".")[2]
    secret, room = str(message.get("secret", "")) or cookie, store.ROOMS.find(request.path_params["code"])
    who = request.client.host if request.client else ""
    if room is None and (past := store.ROOMS.find_ended(request.path_params["code"], who)):
        return _end(past, leads=past.accepts_secret(secret))
    if room is None or not room.accepts_secret(secret):
        raise Refusal(*STRANGER)
    answer = JSONResponse({"code": room.code})
    _keep(answer, LEAD, f"{room.code}.{secret}", {"path": _home(request, message)})
    return answer


def _end(room: Room, *, leads: bool = False) -> Response:
    """Answer with the summary of a lecture that has ended; to its lecturer with the address of the votes."""
    summary = {**room.record.summary(), "leads": leads}
    return JSONResponse({"code": room.code, "ended": summary}, 410, {"Cache-Control": "no-store"})


async def votes(request: Request) -> Response:
    """Send the votes as a file to the lecturer, during the lecture and after it."""
    room = _own_room(request)
    name = f'attachment; filename="votes-{room.code}.csv"'
    return Response(
        room.record.table().encode("utf-8-sig"),  # a spreadsheet knows by the mark that it is UTF-8
        media_type="text/csv",
        headers={"Content-Disposition": name, "Cache-Control": "no-store"},
    )


async def report(request: Request) -> Response:
    """Send what was shown and the counts of all answers, as one page, to the lecturer."""
    room = _own_room(request)
    with using(reader_language(request)):
        page = lecture_report(room.record)
    return Response(
        page,
        media_type="text/html",
        headers={"Content-Disposition": 'attachment; filename="lecture.html"', "Cache-Control": "no-store"},
    )


def _own_room(request: Request) -> Room:
    """Return the room, open or ended, for its lecturer. Raises Refusal: the request is another person's."""
    code, who = request.path_params["code"], request.client.host if request.client else ""
    room = store.ROOMS.find(code) or store.ROOMS.find_ended(code, who)
    if room is None or not _leads(request, room):
        raise Refusal(*STRANGER)
    return room


async def events(request: Request) -> Response:
    """Stream each topic that changed since `Last-Event-ID`, as it is now."""
    leads = request.query_params.get("as") == "lead"
    room = _led(request) if leads else _joined(request)
    seat = "" if leads else request.cookies.get(SEAT, "")
    if _streams[room.code, seat] >= STREAMS[leads] or limits.refusal_reason(RETURNING):
        raise Refusal(*CROWDED, most=STREAMS[False])
    last = request.headers.get("last-event-id", "")
    start = int(last) if last.isascii() and last.isdecimal() and len(last) < 16 else 0
    return StreamingResponse(
        _stream(room, seat, start, leads),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _stream(room: Room, seat: str, last: int, leads: bool) -> AsyncIterator[str]:
    global _streams
    loop, changed, fresh, waits = asyncio.get_running_loop(), asyncio.Event(), last == 0, False
    own: Any = None

    def wake() -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(changed.set)

    deaf = room.listen(wake, leads=leads)
    room.connect(seat, 1)
    _streams[room.code, seat] += 1
    try:
        yield "retry: 1000\n\n"
        while True:
            changed.clear()
            found = room.since(last, leads=leads)
            last = max([last, *(number for _, number, _ in found)])
            lines = [
                f"id: {number}\nevent: {topic.partition('.')[0]}\ndata: {text}\n\n"
                for topic, number, text in found
                if not (
                    fresh and topic == "command"
                )  # an order to the lecturer's page from before it was opened
            ]
            fresh = False
            if (
                seat and (given := room.own_answer(seat)) != own
            ):  # before the question, which is drawn with it
                own = given
                lines.insert(0, f"event: mine\ndata: {json.dumps(own or {})}\n\n")
            if room.is_stale != waits:
                waits = room.is_stale
                lines.append(f"event: waits\ndata: {json.dumps({'waits': waits})}\n\n")
            if lines:
                yield "".join(lines)
            if room.is_over():
                if not room.ended:  # else it is one of the topics
                    yield f"event: end\ndata: {json.dumps(room.record.summary())}\n\n"
                return
            if room.is_draining:
                return
            await asyncio.sleep(PACE)
            try:
                await asyncio.wait_for(changed.wait(), QUIET)
            except TimeoutError:
                yield ": here\n\n"
    finally:
        deaf()
        room.connect(seat, -1)
        _streams[room.code, seat] -= 1
        _streams += Counter()  # what fell to 0 goes


async def part(request: Request) -> Response:
    """Respond with a part of a room's picture that is too large for the stream of events."""
    room = store.ROOMS.find(request.path_params["code"])
    if room is None or not (room.has_seat(request.cookies.get(SEAT, "")) or _leads(request, room)):
        raise Refusal(*CLOSED)  # the same where there is no room, or codes could be tried here uncounted
    data = room.part(request.path_params["identity"])
    if data is None:
        return Response(status_code=404)
    return Response(
        data,
        media_type="application/octet-stream",
        headers={"Cache-Control": f"private, max-age={LASTS:.0f}, immutable"},
    )


async def post_answer(request: Request) -> Response:
    """Receive a follower's answer to the open question, and count it: `{"question": id, "answer": ...}`."""
    message = await _body(request)
    room, seat = _joined(request), request.cookies.get(SEAT, "")
    await asyncio.to_thread(room.answer, seat, str(message.get("question", "")), message.get("answer"))
    return JSONResponse({})


async def say(request: Request) -> Response:
    """Send the lecturer a sentence: `{"sentence": ...}`."""
    message = await _body(request)
    room, seat = _joined(request), request.cookies.get(SEAT, "")
    await asyncio.to_thread(room.say, seat, str(message.get("sentence", "")))
    return JSONResponse({})


async def steer(request: Request) -> Response:
    """Do a command of a lecturer's device: `{"act": "pause"}` and the others of `ACTS`."""
    room, message = _led(request), await _body(request)
    act = ACTS.get(str(message.get("act", "")))
    if act is None:
        raise InputError(
            "The room does not know this command.",
            "The commands are {names}.",
            "Reload the page.",
            names=", ".join(ACTS),
        )
    await asyncio.to_thread(act, room, message)
    return JSONResponse({})


def _touch(room: Room, message: dict[str, Any]) -> None:
    what, at = message.get("what"), message.get("at")
    if what not in POINTING:
        raise InputError(
            "The room does not know this kind of pointing.",
            "The kinds are {names}.",
            "Reload the page.",
            names=", ".join(POINTING),
        )
    fits = isinstance(at, dict) and all(
        type(value) in (int, type(None)) or value in SIDES for value in at.values()
    )
    room.touch(what, str(message.get("group", ""))[:80], at if fits else None)


def _command(act: str) -> Callable[[Room, dict[str, Any]], None]:
    return lambda room, _: room.command(act)


def _sentence(message: dict[str, Any]) -> str:
    return str(message.get("sentence", ""))[:40]


ACTS: dict[str, Callable[[Room, dict[str, Any]], None]] = {
    "pause": lambda room, _: room.pause(True),
    "go": lambda room, _: room.pause(False),
    "touch": _touch,
    "read": lambda room, _: room.clear_sentences(),
    "accept": lambda room, message: room.accept(_sentence(message)),
    "drop": lambda room, message: room.drop(_sentence(message)),
    "take": lambda room, message: room.command("take", sentence=_sentence(message)),
    "close": lambda room, _: room.set_question(None),
    "end": lambda room, _: room.end(),
    "again": lambda room, _: room.vote_again(),
    **{act: _command(act) for act in ("next", "back", "stop_next", "stop_back", "reveal")},
}
"""Commands that change the room, and those that its lecturer's page obeys."""


def _room(request: Request) -> Room:
    room = store.ROOMS.find(request.path_params["code"])
    if room is None:
        raise Refusal(*store.NO_ROOM, length=store.LENGTH)
    return room


def _joined(request: Request) -> Room:
    room = store.ROOMS.find(request.path_params["code"])
    if room is None or not room.has_seat(request.cookies.get(SEAT, "")):
        raise Refusal(*CLOSED)
    return room


def _leads(request: Request, room: Room) -> bool:
    code, _, secret = request.cookies.get(LEAD, "").partition(".")
    return code == room.code and room.accepts_secret(secret)


def _led(request: Request) -> Room:
    room = store.ROOMS.find(request.path_params["code"])
    if room is None or not _leads(request, room):
        raise Refusal(*STRANGER)
    return room


async def _body(request: Request) -> dict[str, Any]:
    """Return the message, a JSON object, without reading more of it than is allowed."""
    data = b""
    async for piece in request.stream():
        data += piece
        if len(data) > MOST_BODY:
            raise Refusal(
                413,
                "The message is too long.",
                "It has {most:,} bytes at most.",
                "Shorten it.",
                most=MOST_BODY,
            )
    try:
        message = json.loads(data or b"{}", parse_constant=_no_number)
        json.dumps(message, ensure_ascii=False).encode()  # half of a surrogate pair could be sent to nobody
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict):
        raise InputError("The message cannot be read.", "It is a JSON object.", "Reload the page.")
    return message


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _home(request: Request, message: dict[str, Any]) -> str:
    """Return the path of the app in the browser's own address, as its page sends it; a proxy may have removed a prefix."""
    home = str(message.get("home", ""))
    return home if HOME.fullmatch(home) else re.sub(r"/room/.*$", "/", request.url.path)


def _keep(answer: Response, name: str, value: str, more: Mapping[str, str] = NOTHING) -> None:
    """Set a cookie; without a path it belongs to the room whose address was asked."""
    cookie: SimpleCookie = SimpleCookie({name: value})
    cookie[name] |= {"httponly": True, "samesite": "Strict", "max-age": int(LASTS), **more}
    answer.raw_headers.append((b"set-cookie", cookie.output(header="").strip().encode("latin-1")))


def _with_refusals(
    handler: Callable[[Request], Awaitable[Response]],
) -> Callable[[Request], Awaitable[Response]]:
    """Return the handler with refusals answered in words, as JSON."""

    async def handled(request: Request) -> Response:
        try:
            return await handler(request)
        except InputError as error:
            with using(reader_language(request)):
                words = f"{error.wrong} {error.rule} {error.remedy}"
            return JSONResponse(
                {"error": words}, getattr(error, "status", 400), {"Cache-Control": "no-store"}
            )
        except ClientDisconnect:
            return Response(status_code=400)

    return handled


async def remove_ended_rooms(server: uvicorn.Server | None) -> None:
    """Remove rooms that are over, once a minute until the server ends; then end all rooms, because it waits for every stream.

    That the server is about to end is known from its flag `should_exit`; the application gets the event only after all connections are closed.
    """
    swept = time.monotonic()
    while server is None or not server.should_exit:
        await asyncio.sleep(GLANCE)
        if time.monotonic() - swept > SWEEP:
            await asyncio.to_thread(store.ROOMS.sweep)
            swept = time.monotonic()
    await asyncio.to_thread(store.ROOMS.close)


ROUTES = [
    Route("/room", follower_page),
    Route("/room/assets/{name}", asset),
    Route("/room/notes", notes),
    Route("/room/{code}", follower_page),
    Route("/room/{code}/wall", follower_page),
    Route("/room/{code}/remote", presenter),
    Route("/room/{code}/presenter", presenter),
    Route("/room/{code}/events", _with_refusals(events)),
    Route("/room/{code}/votes", _with_refusals(votes)),
    Route("/room/{code}/report", _with_refusals(report)),
    Route("/room/{code}/part/{identity}", _with_refusals(part)),
    *(
        Route(f"/room/{{code}}/{name}", _with_refusals(act), methods=["POST"])
        for name, act in {
            "join": join,
            "lead": lead,
            "answer": post_answer,
            "say": say,
            "steer": steer,
        }.items()
    ),
]
