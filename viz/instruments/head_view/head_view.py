"""Heads of one layer as lines: tokens on two sides, one line for each weight that can be seen.

One or several heads, each in a colour, a dash and a number of its own. A touched token keeps its lines, the others
fade, and its weights stand beside the tokens of the other side. Touching, walking, switching heads, thresholds and
filters stay in the browser; the touched token reaches Python only when the caller asks for it.

Each head travels as the heatmap sends it, so both views of one head cost one copy; or all travel as one stack.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viz.instruments.kit.component import Instrument, latest, stored
from viz.instruments.kit.forms import Layer
from viz.instruments.kit.head_stack import HeadContext
from viz.instruments.kit.payload import OVERHEAD, Packet, Places, as_allowed, as_matrix, as_places, labels
from viz.instruments.kit.spec import Spec, as_function
from viz.languages import _
from viz.number_text import MEGA, megabytes

HEAD_VIEW = Instrument("attention_atlas_head_view", "head_view/head_view")
LAYOUTS = ("auto", "columns", "rows")
MOST = 1_500_000
"""Bytes of weights that one view may carry (UI budget of a single update)."""
STEADY = ("queries", "keys", "segments", "special", "axis", "group", "url", "height", "python")
Segments = Sequence[int | None]


@dataclass(frozen=True)
class Lines:
    """The visitor's choice: `pinned`, a token, is ("query" | "key", index) or None; `heads` are the names that are on."""

    pinned: tuple[str, int] | None
    heads: tuple[int | str, ...]


@dataclass(frozen=True, eq=False)
class HeadView(Spec):
    """Heads of one layer as lines between their tokens.

    weights: (head, query, key) patterns of the heads to draw; (query, key) is one head.
    heads: their numbers (which also choose their colours) or names; None: 0, 1, 2, ...
    allowed: boolean, broadcastable to weights; forbidden cells have no line.
    layout: "columns" (queries beside keys), "rows" (keys above queries) or "auto": rows where they fit one line in
        comfortable type, else columns. The visitor can switch.
    segments: 0, 1 or None (neither) for each token, or a pair of such lists (queries, keys): filters A->A to B->B.
    special: places of tokens that the visitor can hide, one list for both sides or a pair (queries, keys). The first key (the sink of many heads) can be hidden always.
    selected: the token pinned first: 3 or "3" a query, "s2" a key. None or nonsense: none, all lines are shown.
    reading: the sentence says "Reading x" (the word's own row), or else "Writing x" (labels are words written).
    group: views of one group hear each other's pointer. url: a query parameter that follows the pinned token.
    height: the largest height of the picture, 720 if None.
    among: all heads of this kind, those of `weights` among them, `heads` their numbers: others that are chosen in the
        grid of the group are then drawn without asking Python.
    on_touched_change: asks for the pinned token and the set of heads to reach Python (a rerun, this function first);
        without it nothing is sent, and the result says only what the arguments said.

    Raises ValueError naming both numbers when labels, heads, segments and weights do not fit.

    Example:
        >>> packet = HeadView([[[0.9, 0.1]]], ["le"], ["the", "cat"], heads=[3]).packet()
        >>> packet.header["heads"], packet.header["h0.shape"]
        ([3], [1, 2])
        >>> head_view(run_weights, words, words, key="lines", heads=[0, 5])    # doctest: +SKIP
        Lines(touched=None, heads=(0, 5))
    """

    weights: ArrayLike
    queries: Sequence[str]
    keys: Sequence[str]
    _: KW_ONLY
    heads: Sequence[int | str] | None = None
    allowed: ArrayLike | None = None
    layout: str = "auto"
    segments: Segments | tuple[Segments, Segments] | None = None
    special: Places = ()
    selected: int | str | None = None
    reading: bool = True
    axis: tuple[str, str] = ("query", "key")
    title: str = ""
    group: str = ""
    url: str | None = None
    height: int | None = None
    among: HeadContext | None = None
    on_touched_change: Callable[[], None] | None = None

    def show(self) -> Lines:
        """Draw it in the page."""
        sides, shape = ("query", "key"), (len(self.queries), len(self.keys))
        names, pinned = _names(self.heads, _stack(self.weights).shape[0]), _start(self.selected, *shape)
        on, told = tuple(names), {}
        states: dict[str, Any] = {}
        if self.on_touched_change is not None:
            pinned, echo = _newest(self.key, pinned, shape)
            event = stored(self.key, "touched")
            on = (
                tuple(name for i, name in enumerate(names) if i in event["heads"])
                if event and list(event["names"]) == names
                else on
            )
            told = {"tell": True, "echo": echo}
            states["on_touched_change"] = self.on_touched_change
        packet = replace(self, selected=None if pinned is None else f"{'s' * pinned[0]}{pinned[1]}").packet()
        packet.header |= told
        HEAD_VIEW.show(packet, key=self.key, **states)
        return Lines((sides[pinned[0]], pinned[1]) if pinned is not None else None, on)

    def packet(self) -> Packet:
        among = self.among
        stack = _stack(self.weights)
        if self.layout not in LAYOUTS:
            raise ValueError(f"layout={self.layout!r}; there are {', '.join(LAYOUTS)}")
        names = _names(self.heads, stack.shape[0])
        rows, columns = stack.shape[1:]
        query_words, key_words = labels(self.queries, rows, "query"), labels(self.keys, columns, "key")
        packet = Packet(
            {
                "queries": query_words,
                "keys": None if key_words == query_words else key_words,
                "heads": names,
                "inks": [name if isinstance(name, int) else i for i, name in enumerate(names)],
                "segments": _segments(self.segments, rows, columns),
                "special": as_places(self.special),
                "selected": _start(self.selected, rows, columns),
                "reading": bool(self.reading),
                "axis": [_(name) for name in self.axis],
                **self.plain("layout", "title", "group", "python", "url", "height"),
            },
            steady=STEADY,
        )
        if among is not None:
            among.join(packet, [name for name in names if isinstance(name, int)])
        may, spare = as_allowed(self.allowed, stack.shape), len(packet.to_bytes()) + OVERHEAD
        if among is not None and not among.stack.rough:
            for i, matrix in enumerate(stack):
                among.holds(packet, {f"h{i}.": Layer(matrix, 1.0)}, None if may is None else may[i])
            return packet
        for i, matrix in enumerate(stack):
            packet.add_matrix(matrix, None if may is None else may[i], spare=spare, prefix=f"h{i}.")
        total = sum(map(len, packet.parts.values()))
        if total > MOST:
            raise ValueError(
                f"{len(names)} heads of {rows} x {columns} tokens are {megabytes(total, 1, MEGA)}; one view carries "
                f"{megabytes(MOST, 1, MEGA)}: give it {max(1, MOST * len(names) // total)} heads, or a window of the tokens"
            )
        return packet


head_view_packet = as_function(HeadView, HeadView.packet)
head_view = as_function(HeadView, HeadView.show)


def _newest(
    key: str, pinned: list[int] | None, shape: tuple[int, int]
) -> tuple[list[int] | None, str | None]:
    found, echo = latest(key, "touched", tuple(pinned) if pinned else None, (2, max(shape)))
    return (list(found) if found and found[1] < shape[found[0]] else None), echo


def _stack(weights: ArrayLike) -> NDArray[np.float64]:
    stack = np.asarray(weights, dtype=np.float64)
    if stack.ndim == 2:
        stack = stack[None]
    if stack.ndim != 3:
        raise ValueError(
            f"expected heads of one layer, axes (head, query, key); got {stack.ndim} axes of shape {stack.shape}"
        )
    if not stack.shape[0]:
        raise ValueError("0 heads; a picture needs at least 1: pass weights[[3]], not weights[[]]")
    as_matrix(stack[0])
    return stack


def _names(heads: Sequence[int | str] | None, count: int) -> list[int | str]:
    names = [
        int(h) if isinstance(h, (int, np.integer)) else str(h)
        for h in (range(count) if heads is None else heads)
    ]
    if len(names) != count:
        raise ValueError(f"{len(names)} names for {count} heads")
    if len(set(names)) != count:
        raise ValueError(f"{count} heads have {len(set(names))} different names; each head needs its own")
    if any(isinstance(name, int) and name < 0 for name in names):
        raise ValueError(f"head {min(n for n in names if isinstance(n, int))}; heads count from 0")
    return names


def _segments(
    segments: Segments | tuple[Segments, Segments] | None, rows: int, columns: int
) -> list[list[int | None]] | None:
    if segments is None:
        return None
    pair = len(segments) == 2 and all(isinstance(side, (list, tuple, np.ndarray)) for side in segments)
    sides: Any = segments if pair else (segments, segments)
    out: list[list[int | None]] = []
    for side, count, name in zip(sides, (rows, columns), ("query", "key"), strict=True):
        if len(side) != count:
            raise ValueError(f"{len(side)} segments for {count} {name} positions")
        marks = [None if mark is None else int(mark) for mark in side]
        if not set(marks) <= {0, 1, None}:
            raise ValueError(
                f"segments {sorted({m for m in marks if m is not None})}; a pair has 0 (A) and 1 (B)"
            )
        out.append(marks)
    return out


def _start(selected: int | str | None, rows: int, columns: int) -> list[int] | None:
    """Return [side, index] of the token that `selected` names (side 0: query, 1: key), or None.

    Example:
        >>> _start("s1", 3, 3), _start(2, 3, 3), _start("s9", 3, 3), _start("<b>", 3, 3)
        ([1, 1], [0, 2], None, None)
    """
    asked = "" if selected is None else str(selected)
    side, digits = (1, asked[1:]) if asked.startswith("s") else (0, asked)
    fine = (
        digits.isascii()
        and digits.isdigit()
        and len(digits) < 6
        and int(digits) < (columns if side else rows)
    )
    return [side, int(digits)] if fine else None
