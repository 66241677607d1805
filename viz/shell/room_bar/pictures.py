"""A picture of the lecturer's page as the followers' page draws it."""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import pyarrow as pa

from viz.classroom.pictures import RoomPicture
from viz.instruments.kit.payload import Packet
from viz.instruments.kit.picture_listener import AnyPicture, Chart

INLINE = 40_000
"""Bytes of a part that goes with the message; a larger one, and the code, is asked for once and kept by the browser."""
MOST_ROWS = 5_000


def for_followers(key: str, picture: AnyPicture) -> RoomPicture | None:
    """Return a picture as the followers of a room get it; None for one that they cannot draw.

    >>> packet = Packet({"kind": "demo"}); packet.add("values", b"12")
    >>> for_followers("demo", packet).message["parts"]
    {'068e50a9f339': ['MTI=', 0]}
    """
    if isinstance(picture, Packet):
        code = (picture.header.get("kit"), picture.header.get("code"))
        parts = {
            name: [
                base64.b64encode(data).decode() if len(data) <= INLINE and name not in code else None,
                int(name in picture.deflated),
            ]
            for name, data in picture.parts.items()
        }
        header = picture.header | {"needs": list(picture.parts)}
        return RoomPicture({"key": key, "header": header, "parts": parts}, dict(picture.parts))
    return _chart(key, picture) if isinstance(picture, Chart) else None


def _chart(key: str, chart: Chart) -> RoomPicture | None:
    data = {name: _rows(table) for name, table in chart.tree.get("datasets", {}).items()}
    if sum(map(len, data.values())) > MOST_ROWS:
        return None
    tree = json.loads(json.dumps({**chart.tree, "datasets": data}, default=str))
    return RoomPicture({"key": key, "chart": tree, "alt": chart.alt})


def _rows(table: Any) -> list[Any]:
    """Return rows as JSON has them, with None for a number that is not finite."""
    rows = table.to_pylist() if isinstance(table, pa.Table) else list(table)
    return [
        {name: None if isinstance(v, float) and not math.isfinite(v) else v for name, v in row.items()}
        for row in rows
    ]
