"""The pictures that a room shows: what a browser needs to draw each, and the parts too large for a message."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

MOST_PICTURES, MOST_BYTES = 4, 4_000_000
"""Pictures that follow at a time, and the bytes of all their parts."""


@dataclass(frozen=True)
class RoomPicture:
    """One picture: what a browser needs to draw it, as JSON, and the parts that it is made of."""

    message: Mapping[str, Any]
    parts: Mapping[str, bytes] = field(default_factory=dict)


class Parts:
    """The parts of the pictures in view; not safe to use from several threads by itself.

    >>> parts = Parts(); list(parts.keep({"a": RoomPicture({}, {"x": b"1"})})), parts.part("x"), parts.part("y")
    (['a'], b'1', None)
    """

    def __init__(self) -> None:
        self._parts: dict[str, Mapping[str, bytes]] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def keep(self, pictures: Mapping[str, RoomPicture]) -> dict[str, RoomPicture]:
        """Keep the parts of these pictures instead of those before; return the pictures for which there is room."""
        kept: dict[str, RoomPicture] = {}
        left = MOST_BYTES
        for key, shown in pictures.items():
            size = sum(map(len, shown.parts.values()))
            if size <= left and len(kept) < MOST_PICTURES:
                kept[key], left = shown, left - size
        self._parts = {key: shown.parts for key, shown in kept.items()}
        return kept

    def part(self, identity: str) -> bytes | None:
        """Return a part by its identity."""
        return next((parts[identity] for parts in self._parts.values() if identity in parts), None)

    def state(self) -> dict[str, dict[str, str]]:
        """Return the pictures as a dictionary that JSON can write; `restore` reads it."""
        return {
            key: {name: base64.b64encode(data).decode() for name, data in parts.items()}
            for key, parts in self._parts.items()
        }

    def restore(self, state: Mapping[str, Mapping[str, str]]) -> None:
        """Hold what `state()` gave."""
        self._parts = {
            key: {name: base64.b64decode(text) for name, text in parts.items()}
            for key, parts in state.items()
        }
