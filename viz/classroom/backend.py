"""The choice of the store of rooms: the memory of this process, or a Redis that several copies share, by `ATLAS_ROOMS=redis://host:6379/0`."""

from __future__ import annotations

import os

from viz.classroom import store

VARIABLE = "ATLAS_ROOMS"


def configure_backend() -> None:
    """Use the store that the variable names, if it names one.

    Raises:
        ValueError: it does not name a Redis, or the client of Redis is not installed.
    """
    url = os.environ.get(VARIABLE, "").strip()
    if not url:
        return
    if not url.startswith(("redis://", "rediss://", "unix://")):
        raise ValueError(
            f"{VARIABLE}={url!r} is not the address of a Redis. It begins with redis://, rediss:// or unix://, such as redis://localhost:6379/0. "
            "Correct it, or leave it out to keep rooms in the memory of this process."
        )
    try:
        from viz.classroom import shared
    except ModuleNotFoundError as missing:
        raise ValueError(
            f"{VARIABLE} is set, and the client of Redis is not installed. Copies of the app share rooms through it. "
            'Install it with pip install -e ".[rooms]".'
        ) from missing
    store.ROOMS = shared.RedisRooms(url)
