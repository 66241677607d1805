"""Vectors in the plane that one drags: a query among keys, the weights it gives them and the mix of their values.

Drag a point, or reach it with Tab and move it with the arrow keys. Scores, weights and the mix follow in the page, frame by
frame; when a point is released, Python hears where it is (`moved`) and computes the same again. The ground is coloured by what
a query there would find. Instead of a query the points may be words that are added and taken off (`plus`, `minus`).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, replace
from typing import Any

from viz.instruments.kit.component import Instrument, nothing, stored
from viz.instruments.kit.payload import Packet, labels
from viz.instruments.kit.spec import Spec, as_function
from viz.languages import _, mark

PLANE = Instrument("attention_atlas_plane", "plane/plane")
RULES = ("dot", "scaled", "cosine", "general", "linear", "additive", "location")
Pair = tuple[float, float]


@dataclass(frozen=True)
class Point:
    """A vector with its name. role: "key", "query" (one) or "word"."""

    name: str
    position: Pair
    role: str = "key"
    movable: bool = True


@dataclass(frozen=True)
class Score:
    """How a key is compared with the query: one of RULES, the sharpness that multiplies it before the softmax, its parameters.

    general: w (2 2). linear: q and k (2,). additive: w (u 4) and v (u,). location: w (rows 2). `label` is what a table is called.
    """

    rule: str = "dot"
    sharpness: float = 1.0
    label: str = ""
    w: Sequence[Sequence[float]] = ()
    q: Sequence[float] = ()
    k: Sequence[float] = ()
    v: Sequence[float] = ()

    def arguments(self) -> dict[str, Any]:
        """Return the arguments by which viz.course.look_up.retrieval.look_up computes the same: `look_up(query, keys, values, **score.arguments())`."""
        return {
            name: value
            for name, value in asdict(self).items()
            if name in ("rule", "sharpness") or (name != "label" and len(value))
        }


@dataclass(frozen=True, eq=False)
class Plane(Spec):
    """Vectors in the plane.

    values: the vector that each key hands over, in the order of the keys, drawn on a second board; None: the keys themselves.
    scores: each gets a table of scores and weights; the weights of number `drawn_score` are drawn.
    plus, minus: numbers of points; given, the points are words, and their sum and the words nearest to it are shown.
    limit: both boards reach from -limit to limit. field: colour the ground. hull: shade the hull of the values.
    height: most pixels of a board. blind: only the vectors, all alike and still: what follows from them is yet to be guessed.
    on_move: called when a point was released; `moved_points` returns its position.

    Raises ValueError for roles, rules or counts that do not fit.

    Example:
        >>> packet = Plane([Point("q", (1, 0), "query"), Point("k", (0, 1))], scores=[Score("cosine", 3)]).packet()
        >>> packet.header["task"], packet.header["scores"][0]["sharpness"]
        ('attend', 3)
        >>> plane([Point("q", (1, 0), "query"), Point("k", (0, 1))], key="p")    # doctest: +SKIP
    """

    points: Sequence[Point]
    _: KW_ONLY
    values: Sequence[Pair] | None = None
    value_names: Sequence[str] | None = None
    movable_values: bool = True
    scores: Sequence[Score] = (Score(),)
    drawn_score: int = 0
    plus: Sequence[int] = ()
    minus: Sequence[int] = ()
    limit: float = 2
    field: bool = True
    hull: bool = True
    captions: tuple[str, str] = (
        mark("Query and keys: drag the query"),
        mark("Values and their weighted sum"),
    )
    mix: str = "mix"
    title: str = ""
    height: int | None = None
    blind: bool = False
    on_move: Callable[[], None] | None = None

    def show(self) -> None:
        """Draw it in the page."""
        packet, event = self.packet(), stored(self.key, "moved")
        packet.header["echo"] = str(event["id"]) if isinstance(event, dict) and "id" in event else ""
        PLANE.show(packet, key=self.key, on_moved_change=self.on_move or nothing)

    def packet(self) -> Packet:
        points, values, scores, plus, minus = self.points, self.values, self.scores, self.plus, self.minus
        words = bool(plus or minus)
        keys = [point for point in points if point.role == "key"]
        if not words and (sum(point.role == "query" for point in points) != 1 or not keys):
            raise ValueError("there must be one query, and at least one key")
        if values is not None and len(values) != len(keys):
            raise ValueError(f"{len(values)} values for {len(keys)} keys")
        if words and not all(0 <= i < len(points) for i in (*plus, *minus)):
            raise ValueError(f"plus and minus count {len(points)} points from 0")
        for score in scores:
            if score.rule not in RULES:
                raise ValueError(f"score {score.rule!r}; there are {', '.join(RULES)}")
        if not 0 <= self.drawn_score < len(scores):
            raise ValueError(f"score {self.drawn_score} of {len(scores)}, counted from 0")
        points = [replace(point, movable=point.movable and not self.blind) for point in points]
        names = labels([point.name for point in points], len(points), "point")
        return Packet(
            {
                "task": "sum" if words else "attend",
                "points": [
                    asdict(point) | {"name": name, "at": list(point.position)}
                    for point, name in zip(points, names, strict=True)
                ],
                "values": None if values is None else [list(at) for at in values],
                "value_names": list(self.value_names) if self.value_names else None,
                "movable_values": self.movable_values and not self.blind,
                "scores": [asdict(score) for score in scores],
                "plus": list(plus),
                "minus": list(minus),
                "captions": [_(caption) for caption in self.captions],
                "echo": "",
                "base": base(points, values is not None),
                **self.plain(
                    "drawn_score", "limit", "field", "hull", "mix", "title", "height", "blind", "python"
                ),
            }
        )


plane_packet = as_function(Plane, Plane.packet)
plane = as_function(Plane, Plane.show)


def base(points: Sequence[Point], values: bool) -> str:
    """Return a short name of these points, wherever they are: a move of other ones is never taken for theirs."""
    return hashlib.sha256(
        repr([(point.name, point.role, point.movable) for point in points] + [values]).encode(
            "utf-8", "replace"
        )
    ).hexdigest()[:12]


def moved_points(
    key: str, points: Sequence[Point], *, values: int = 0, limit: float = 2
) -> tuple[list[Pair], list[Pair]] | None:
    """Return where the visitor put the points and the values (this many) in the plane `key`; None before any move, or for other points.

    The answer comes from a browser and is checked: another count, or what is no finite number, is None; beyond the limit is the limit.
    """
    event = stored(key, "moved")
    if not isinstance(event, dict) or event.get("base") != base(points, values > 0):
        return None
    at, handed = (
        valid_pairs(event.get("points"), len(points), limit),
        valid_pairs(event.get("values"), values, limit),
    )
    return None if at is None or handed is None else (at, handed)


def valid_pairs(rows: Any, count: int, limit: float) -> list[Pair] | None:
    """Return `count` pairs of finite numbers, clipped to the limit, or None.

    Example:
        >>> valid_pairs([[0.5, 9]], 1, 2), valid_pairs([[0.5]], 1, 2), valid_pairs([["a", 0]], 1, 2)
        ([(0.5, 2)], None, None)
    """
    if not isinstance(rows, list) or len(rows) != count:
        return None
    found: list[Pair] = []
    for row in rows:
        if (
            not isinstance(row, list)
            or len(row) != 2
            or not all(isinstance(v, (int, float)) and math.isfinite(v) for v in row)
        ):
            return None
        found.append((max(-limit, min(limit, row[0])), max(-limit, min(limit, row[1]))))
    return found
