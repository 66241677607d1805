"""A visitor's own model, three files sent to this server: judged before its weights are read, for one visitor alone and as long as the visit.

The page hands its browser a ticket that nobody guesses; with it go, in this order,

    POST upload/TICKET/config.json         at most 1 MB
    POST upload/TICKET/tokenizer.json      at most 32 MB; none for a model that reads pictures
    POST upload/TICKET/head?bytes=N        how long model.safetensors is, and its first bytes: its list of tensors
    POST upload/TICKET/model.safetensors   exactly N bytes that begin so; answered with the name of the model

After the head all is judged that can be without a weight: config, list, tokenizer (in the limited child), memory, disk. Names are
those four and no others; no archive, no path, no fourth file. Whatever is refused is answered in words.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import time
from collections.abc import AsyncIterator

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import core.serving.engine
from core.checkpoints.files import MB, json_object, printable
from core.checkpoints.load import inspect
from core.checkpoints.safety.safetensors_header import MAX_HEADER
from core.checkpoints.tokenizer import FILE, MAX_FILE, read_tokenizer
from core.checkpoints.weights import SINGLE
from core.errors import InputError
from core.jobs.listing import Listing
from core.jobs.user_models import SHELF
from viz import limits
from viz.classroom.light_pages import reader_language
from viz.classroom.seats import Refusal
from viz.languages import using
from viz.uploads.store import UPLOADS, Upload, refusal

log = logging.getLogger("atlas")
CONFIG, HEAD = "config.json", "head"
NAMES = {"config": CONFIG, "tokenizer": FILE, "weights": SINGLE}
MOST = {CONFIG: MB, FILE: MAX_FILE, HEAD: 8 + MAX_HEADER}
"""Bytes of each part; of the weights the server's own limit."""
QUIET, SLOWEST, FIRST = 15.0, 20_000, 20.0
"""Seconds without a byte, and bytes a second after so many first ones, at which a sender is given up."""
PIECE = MB
SPARE = 2**30
"""Bytes of the disk that stay free."""


async def part(request: Request) -> Response:
    """Answer a part of a model."""
    try:
        return JSONResponse(await _receive(request), headers={"Cache-Control": "no-store"})
    except InputError as error:
        with using(reader_language(request)):
            reason = {"wrong": error.wrong, "rule": error.rule, "remedy": error.remedy}
        return JSONResponse(reason, getattr(error, "status", 400), {"Cache-Control": "no-store"})
    except ClientDisconnect:
        return Response(status_code=400)


async def _receive(request: Request) -> dict[str, str]:
    if not limits.upload_limit():
        raise refusal(
            403,
            "Nothing can be uploaded to this server.",
            "It takes models only if it was started so.",
            "Start it with {variable}=1.",
            variable=limits.UPLOAD,
        )
    upload, name = UPLOADS.find(request.path_params["ticket"]), request.path_params["part"]
    if upload.busy:
        raise refusal(
            409, "A part of this model is being sent already.", "One is sent after the other.", "Wait for it."
        )
    upload.busy = True
    try:
        if name in (CONFIG, FILE):
            return await _small(upload, name, request)
        if name == HEAD:
            return await _head(upload, request)
        if name == SINGLE:
            return await _weights(upload, request)
    except ClientDisconnect:
        if name == SINGLE:
            upload.received.discard(HEAD)
        raise
    finally:
        upload.busy = False
    raise refusal(
        404,
        "'{name}' is none of the files of a model.",
        "They are {config}, {tokenizer} and {weights}.",
        "Choose these three.",
        name=printable(name, 60),
        **NAMES,
    )


async def _small(upload: Upload, name: str, request: Request) -> dict[str, str]:
    """Receive config.json or tokenizer.json, whole."""
    if name == CONFIG:
        await asyncio.to_thread(UPLOADS.begin, upload)
    elif CONFIG not in upload.received:
        raise _order(CONFIG)
    size = _announced(request, name, MOST[name])
    upload.received -= {name, HEAD}
    with (upload.folder / name).open("wb") as file:
        async for piece in _body(request, name, size):
            file.write(piece)
    upload.received.add(name)
    return {}


async def _head(upload: Upload, request: Request) -> dict[str, str]:
    """Receive the beginning of the weights, and judge the model."""
    if CONFIG not in upload.received:
        raise _order(CONFIG)
    said = request.query_params.get("bytes", "")
    size = int(said) if said.isascii() and said.isdecimal() and len(said) < 16 else 0
    if not 10 <= size <= limits.upload_limit():
        raise refusal(
            413,
            "{name} has {size:,} bytes." if size else "It is not said how long {name} is.",
            "This server takes up to {most:,}.",
            "Choose a smaller model.",
            name=SINGLE,
            size=size,
            most=limits.upload_limit(),
        )
    head = b"".join([piece async for piece in _body(request, HEAD, _announced(request, HEAD, MOST[HEAD]))])
    upload.received.discard(HEAD)
    await asyncio.to_thread(_judge, upload, head[:size], size)
    upload.head, upload.size = head[:size], size
    upload.received.add(HEAD)
    return {}


def _judge(upload: Upload, head: bytes, size: int) -> None:
    """Judge all that can be judged before a weight is here: the file has its full length, and is empty behind its head.

    Raises InputError in words.
    """
    if shutil.disk_usage(upload.folder).free < size + SPARE:
        raise refusal(
            507,
            "The disk of this server has no room for {size:,} bytes.",
            "All three files must lie there.",
            size=size,
        )
    with (upload.folder / SINGLE).open("wb") as file:
        file.write(head)
        file.truncate(size)
    plan, _ = inspect(upload.folder)
    if plan.tokenizer is None and FILE not in upload.received:
        raise refusal(
            400,
            "{name} is missing.",
            "A model that reads text needs it; one that reads pictures has none.",
            "Choose it, too.",
            name=FILE,
        )
    read_tokenizer(upload.folder, plan)
    core.serving.engine.default().check_memory_for(Listing(f"This {_name(upload)}", True, memory=plan.memory))


async def _weights(upload: Upload, request: Request) -> dict[str, str]:
    """Receive the weights, piece by piece into their place; then open the model."""
    if HEAD not in upload.received:
        raise _order(HEAD)
    size = _announced(request, SINGLE, limits.upload_limit())
    if size != upload.size:
        raise refusal(
            400,
            "{name} has {size:,} bytes now, and had {before:,}.",
            "It must be the file that was judged.",
            name=SINGLE,
            size=size,
            before=upload.size,
        )
    upload.received.discard(HEAD)  # whatever comes of it, it begins with the judgement again
    at = 0
    with (upload.folder / SINGLE).open("r+b") as file:
        async for piece in _body(request, SINGLE, size):
            known = upload.head[at : at + len(piece)]
            if not piece.startswith(known):
                raise refusal(
                    400,
                    "{name} begins otherwise than before.",
                    "It must be the file that was judged.",
                    name=SINGLE,
                )
            await asyncio.to_thread(file.write, piece)
            at += len(piece)
    return {"name": await asyncio.to_thread(_open, upload)}


def _open(upload: Upload) -> str:
    """Put the model on the shelf and load it. Raises InputError for what is wrong with its numbers."""
    found = SHELF.put(_name(upload), upload.folder, upload.session)
    upload.name = found.name
    engine = core.serving.engine.default()
    try:
        engine.open(found.name)
    except Exception as error:
        SHELF.drop(found.name)
        engine.drop(found.name)
        upload.name = ""
        if isinstance(error, InputError):
            raise
        log.exception("an upload could not be opened")
        raise refusal(
            400,
            "It could not be opened ({kind}).",
            "The server's log says more.",
            kind=type(error).__name__,
        ) from None
    return found.name


def _name(upload: Upload) -> str:
    """Return the name that the config gives."""
    called = json_object(upload.folder, CONFIG).get("model_type")
    return printable(called, 40) if isinstance(called, str) else "model"


def _announced(request: Request, name: str, most: int) -> int:
    """Return the announced number of bytes of the body. Raises Refusal for too many, or for no number."""
    said = request.headers.get("content-length", "")
    if not (said.isascii() and said.isdecimal() and len(said) < 16):
        raise refusal(
            411, "It is not said how long {name} is.", "The length stands before the file.", name=name
        )
    if int(said) > most:
        raise refusal(
            413,
            "{name} has {size:,} bytes.",
            "It may have at most {most:,}.",
            "Choose a smaller file.",
            name=name,
            size=int(said),
            most=most,
        )
    return int(said)


async def _body(request: Request, name: str, size: int) -> AsyncIterator[bytes]:
    """Yield the body in pieces, as many bytes as announced, at most one piece in memory. Raises Refusal for any other number, and for a slow sender."""
    came, begun, held = 0, time.monotonic(), bytearray()
    stream = request.stream()
    while True:
        try:
            chunk = await asyncio.wait_for(anext(stream), QUIET)
        except StopAsyncIteration:
            break
        except TimeoutError:
            raise _slow(name) from None
        came += len(chunk)
        taken = time.monotonic() - begun
        if came > size:
            raise refusal(
                400,
                "{name} is longer than was said: more than {size:,} bytes.",
                "It has as many as announced.",
                name=name,
                size=size,
            )
        if taken > FIRST and came < SLOWEST * (taken - FIRST):
            raise _slow(name)
        held += chunk
        if len(held) >= PIECE:
            yield bytes(held)
            held.clear()
    if came < size:
        raise refusal(
            400,
            "{name} ended after {n:,} of {size:,} bytes.",
            "It has as many as announced.",
            name=name,
            n=came,
            size=size,
        )
    if held:
        yield bytes(held)


def _slow(name: str) -> Refusal:
    return refusal(
        408,
        "{name} comes too slowly.",
        "At least {least:,} bytes a second must come.",
        name=name,
        least=SLOWEST,
    )


def _order(missing: str) -> Refusal:
    return refusal(
        409,
        "Its beginning has not come." if missing == HEAD else "{name} has not come.",
        "The files come in order: {config}, {tokenizer}, {weights}.",
        name=missing,
        **NAMES,
    )


ROUTES = [Route("/upload/{ticket}/{part}", part, methods=["POST"])]
