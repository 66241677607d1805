"""What a browser may ask a room for: the light page of the followers, its stream of events, and what is sent to it.

A follower is one page of ours and one idle connection (server-sent events), not a Streamlit session. A browser holds two
cookies that no script can read: its seat, and on the lecturer's devices the secret that steers. Nothing else tells one from
another, and nothing is written to disk.
"""

from __future__ import annotations

import asyncio
import gc
import json
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from http.cookies import SimpleCookie
from typing import Any

import uvicorn
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from core.errors import InputError
from viz.server.rooms import store
from viz.server.rooms.light_pages import asset, handout, notes, page, presenter
from viz.server.rooms.room import LASTS, Room
from viz.server.rooms.seats import CLOSED, LEAD, SEAT, Refusal

HOME = re.compile(r"/(?:[\w.~%-]+/)*")
NOTHING: Mapping[str, str] = {}
MOST_BODY = 4096
"""Bytes of what may be sent at once."""
PACE, QUIET = 0.05, 15.0
"""Seconds between two messages to one follower at least, and to the comment that holds a quiet connection."""
SWEEP, GLANCE = 60.0, 0.25
"""Seconds from one look for rooms that are over to the next, and between two looks whether the server ends."""
POINTING, SIDES = ("hover", "word"), ("source", "target")
"""What a pointer does in a picture, and the rows of the words view."""
STRANGER = (
    403,
    "You do not control this room.",
    "Only the person who opened it may do so.",
    "Join as a student, or use the lecturer's own link.",
)


async def join(request: Request) -> Response:
    """Take a seat: `{"door": ...}`, which only the QR code has, or nothing."""
    told = await _body(request)
    code, seat = request.path_params["code"], request.cookies.get(SEAT, "")
    room = store.ROOMS.find(code)
    who = request.client.host if request.client else ""
    if room is None and (ended := store.ROOMS.ended(code, who)):
        return _ended(ended)
    if room is None or not room.sits(seat):
        room = await asyncio.to_thread(store.ROOMS.enter, code, who, str(told.get("door", "")))
    answer = JSONResponse({"code": room.code})
    _keep(answer, SEAT, await asyncio.to_thread(room.sit, seat))
    return answer


async def lead(request: Request) -> Response:
    """Show the secret once: from then on this browser steers, and comes back without it."""
    told, held = await _body(request), request.cookies.get(LEAD, "").partition(".")[2]
    secret, room = str(told.get("secret", "")) or held, store.ROOMS.find(request.path_params["code"])
    who = request.client.host if request.client else ""
    if room is None and (ended := store.ROOMS.ended(request.path_params["code"], who)):
        return _ended(ended, leads=ended.steers(secret))
    if room is None or not room.steers(secret):
        raise Refusal(*STRANGER)
    answer = JSONResponse({"code": room.code})
    _keep(answer, LEAD, f"{room.code}.{secret}", {"path": _home(request, told)})
    return answer


def _ended(room: Room, *, leads: bool = False) -> Response:
    """Answer with what stays of a lecture; to its lecturer with where the votes are."""
    told = {**room.record.summary(), "leads": leads}
    return JSONResponse({"code": room.code, "ended": told}, 410, {"Cache-Control": "no-store"})


async def votes(request: Request) -> Response:
    """Give the lecturer the votes as a file, during the lecture and after it."""
    code, who = request.path_params["code"], request.client.host if request.client else ""
    room = store.ROOMS.find(code) or store.ROOMS.ended(code, who)
    if room is None or not _leads(request, room):
        raise Refusal(*STRANGER)
    name = f'attachment; filename="votes-{room.code}.csv"'
    return Response(
        room.record.table().encode("utf-8-sig"),  # a spreadsheet knows by the mark that it is UTF-8
        media_type="text/csv",
        headers={"Content-Disposition": name, "Cache-Control": "no-store"},
    )


async def events(request: Request) -> Response:
    """The stream: each topic that changed since `Last-Event-ID`, as it is now."""
    leads = request.query_params.get("as") == "lead"
    room = _led(request) if leads else _joined(request)
    seat = "" if leads else request.cookies.get(SEAT, "")
    last = request.headers.get("last-event-id", "")
    start = int(last) if last.isascii() and last.isdecimal() and len(last) < 16 else 0
    return StreamingResponse(
        _stream(room, seat, start, leads),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _stream(room: Room, seat: str, seen: int, leads: bool) -> AsyncIterator[str]:
    loop, changed, fresh, waits = asyncio.get_running_loop(), asyncio.Event(), seen == 0, False
    own: Any = None

    def wake() -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(changed.set)

    deaf = room.listen(wake, leads=leads)
    room.connect(seat, 1)
    try:
        yield "retry: 1000\n\n"
        while True:
            changed.clear()
            found = room.since(seen, leads=leads)
            seen = max([seen, *(number for _, number, _ in found)])
            told = [
                f"id: {number}\nevent: {topic.partition('.')[0]}\ndata: {text}\n\n"
                for topic, number, text in found
                if not (fresh and topic == "command")  # what was asked of the lecturer's page before it came
            ]
            fresh = False
            if (
                seat and (given := room.own_answer(seat)) != own
            ):  # before the question, which is drawn with it
                own = given
                told.insert(0, f"event: mine\ndata: {json.dumps(own or {})}\n\n")
            if room.waits != waits:
                waits = room.waits
                told.append(f"event: waits\ndata: {json.dumps({'waits': waits})}\n\n")
            if told:
                yield "".join(told)
            if room.over():
                if not room.ended:  # else it is one of the topics
                    yield f"event: end\ndata: {json.dumps(room.record.summary())}\n\n"
                return
            if room.leaves:
                return
            await asyncio.sleep(PACE)
            try:
                await asyncio.wait_for(changed.wait(), QUIET)
            except TimeoutError:
                yield ": here\n\n"
    finally:
        deaf()
        room.connect(seat, -1)


async def part(request: Request) -> Response:
    """A part of a picture that is too large for the stream."""
    room = _room(request)
    if not room.sits(request.cookies.get(SEAT, "")) and not _leads(request, room):
        raise Refusal(*CLOSED)
    data = room.part(request.path_params["identity"])
    if data is None:
        return Response(status_code=404)
    return Response(
        data,
        media_type="application/octet-stream",
        headers={"Cache-Control": f"private, max-age={LASTS:.0f}, immutable"},
    )


async def answer(request: Request) -> Response:
    """Answer what is asked: `{"question": id, "answer": ...}`."""
    told = await _body(request)
    room, seat = _joined(request), request.cookies.get(SEAT, "")
    await asyncio.to_thread(room.answer, seat, str(told.get("question", "")), told.get("answer"))
    return JSONResponse({})


async def say(request: Request) -> Response:
    """Send the lecturer a sentence: `{"sentence": ...}`."""
    told = await _body(request)
    room, seat = _joined(request), request.cookies.get(SEAT, "")
    await asyncio.to_thread(room.say, seat, str(told.get("sentence", "")))
    return JSONResponse({})


async def steer(request: Request) -> Response:
    """What the lecturer's devices do: `{"act": "pause"}` and the others of `ACTS`."""
    room, told = _led(request), await _body(request)
    act = ACTS.get(str(told.get("act", "")))
    if act is None:
        raise InputError("There is no such act.", f"There are {', '.join(ACTS)}.", "Reload the page.")
    await asyncio.to_thread(act, room, told)
    return JSONResponse({})


def _touched(room: Room, told: dict[str, Any]) -> None:
    what, at = told.get("what"), told.get("at")
    if what not in POINTING:
        raise InputError("Nothing points so.", f"There are {', '.join(POINTING)}.", "Reload the page.")
    fits = isinstance(at, dict) and all(
        type(value) in (int, type(None)) or value in SIDES for value in at.values()
    )
    room.touch(what, str(told.get("group", ""))[:80], at if fits else None)


def _command(act: str) -> Callable[[Room, dict[str, Any]], None]:
    return lambda room, _: room.command(act)


def _sentence(told: dict[str, Any]) -> str:
    return str(told.get("sentence", ""))[:40]


ACTS: dict[str, Callable[[Room, dict[str, Any]], None]] = {
    "pause": lambda room, _: room.pause(True),
    "go": lambda room, _: room.pause(False),
    "touch": _touched,
    "read": lambda room, _: room.read(),
    "accept": lambda room, told: room.accept(_sentence(told)),
    "drop": lambda room, told: room.drop(_sentence(told)),
    "take": lambda room, told: room.command("take", sentence=_sentence(told)),
    "close": lambda room, _: room.asks(None),
    "end": lambda room, _: room.end(),
    "again": lambda room, _: room.again(),
    **{act: _command(act) for act in ("next", "back", "stop_next", "stop_back", "reveal")},
}
"""What steers a room by itself, and what its lecturer's page is asked to do."""


def _room(request: Request) -> Room:
    room = store.ROOMS.find(request.path_params["code"])
    if room is None:
        raise Refusal(*store.NO_ROOM)
    return room


def _joined(request: Request) -> Room:
    room = store.ROOMS.find(request.path_params["code"])
    if room is None or not room.sits(request.cookies.get(SEAT, "")):
        raise Refusal(*CLOSED)
    return room


def _leads(request: Request, room: Room) -> bool:
    code, _, secret = request.cookies.get(LEAD, "").partition(".")
    return code == room.code and room.steers(secret)


def _led(request: Request) -> Room:
    room = store.ROOMS.find(request.path_params["code"])
    if room is None or not _leads(request, room):
        raise Refusal(*STRANGER)
    return room


async def _body(request: Request) -> dict[str, Any]:
    """What was sent, an object of JSON; never more of it is read than may be sent."""
    data = b""
    async for piece in request.stream():
        data += piece
        if len(data) > MOST_BODY:
            raise Refusal(
                413, "That is too long.", f"A message has at most {MOST_BODY:,} bytes.", "Send less at once."
            )
    try:
        told = json.loads(data or b"{}")
    except (ValueError, RecursionError):
        told = None
    if not isinstance(told, dict):
        raise InputError("That cannot be read.", "A message is an object of JSON.", "Reload the page.")
    return told


def _home(request: Request, told: dict[str, Any]) -> str:
    """Where the app begins in the browser's own address, as its page tells; a proxy may have taken a prefix of it away."""
    home = str(told.get("home", ""))
    return home if HOME.fullmatch(home) else re.sub(r"/room/.*$", "/", request.url.path)


def _keep(answer: Response, name: str, value: str, more: Mapping[str, str] = NOTHING) -> None:
    """Set a cookie; without a path it belongs to the room whose address was asked."""
    cookie: SimpleCookie = SimpleCookie({name: value})
    cookie[name] |= {"httponly": True, "samesite": "Strict", "max-age": int(LASTS), **more}
    answer.raw_headers.append((b"set-cookie", cookie.output(header="").strip().encode("latin-1")))


def _told(handler: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """What is refused is answered in words, as JSON."""

    async def handled(request: Request) -> Response:
        try:
            return await handler(request)
        except InputError as error:
            return JSONResponse(
                {"error": str(error)}, getattr(error, "status", 400), {"Cache-Control": "no-store"}
            )
        except ClientDisconnect:
            return Response(status_code=400)

    return handled


async def keep_clean() -> None:
    """Forget rooms that are over, until the server ends; then end all of them, for it waits until every stream has ended.

    The web server says that it is about to end only by its own flag; the application hears of it when all connections are closed.
    """
    server = next((one for one in gc.get_objects() if isinstance(one, uvicorn.Server)), None)
    swept = time.monotonic()
    while server is None or not server.should_exit:
        await asyncio.sleep(GLANCE)
        if time.monotonic() - swept > SWEEP:
            await asyncio.to_thread(store.ROOMS.sweep)
            swept = time.monotonic()
    await asyncio.to_thread(store.ROOMS.close)


ROUTES = [
    Route("/room", page),
    Route("/room/assets/{name}", asset),
    Route("/room/notes", notes),
    Route("/room/handout", handout),
    Route("/room/{code}", page),
    Route("/room/{code}/wall", page),
    Route("/room/{code}/remote", presenter),
    Route("/room/{code}/presenter", presenter),
    Route("/room/{code}/events", _told(events)),
    Route("/room/{code}/votes", _told(votes)),
    Route("/room/{code}/part/{identity}", _told(part)),
    *(
        Route(f"/room/{{code}}/{act.__name__}", _told(act), methods=["POST"])
        for act in (join, lead, answer, say, steer)
    ),
]
