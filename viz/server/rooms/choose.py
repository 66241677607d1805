"""Where this server keeps its rooms: in its memory, or, shared by several copies, where `ATLAS_ROOMS=redis://host:6379/0` says."""

from __future__ import annotations

import os

from viz.server.rooms import store

VARIABLE = "ATLAS_ROOMS"


def begin() -> None:
    """Take the rooms from where the variable says, if it says so.

    Raises:
        ValueError: it names no Redis, or the client of Redis is not installed.
    """
    url = os.environ.get(VARIABLE, "").strip()
    if not url:
        return
    if not url.startswith(("redis://", "rediss://", "unix://")):
        raise ValueError(
            f"{VARIABLE}={url!r} is no Redis. It begins with redis://, rediss:// or unix://, such as redis://localhost:6379/0. "
            "Say it so, or leave it out to keep rooms in the memory of this process."
        )
    try:
        from viz.server.rooms import shared
    except ModuleNotFoundError as missing:
        raise ValueError(
            f"{VARIABLE} is set, and the client of Redis is not installed. Copies of the app share rooms through it. "
            'Install it with pip install -e ".[rooms]".'
        ) from missing
    store.ROOMS = shared.RedisRooms(url)
