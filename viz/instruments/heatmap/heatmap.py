"""One head as a labelled heatmap: query rows, key columns, exact values under the pointer.

Colour means one thing: "pattern" is sequential and fixed from 0 to 1; "score" and "difference" are
diverging and centred on 0. Forbidden cells are hatched, never the colour of zero; a value that is not
finite is crossed out. Hovering, walking, zooming, the choice of a lens (weight, score, value-weighted) and of a
window into a long text stay in the browser; a chosen cell reaches Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viz.instruments.kit.component import Instrument, latest, nothing, stored
from viz.instruments.kit.head_stack import HeadContext
from viz.instruments.kit.payload import OVERHEAD, Layer, Packet, as_allowed, as_matrix, labels
from viz.instruments.kit.spec import Spec, as_function
from viz.languages import _, mark

HEATMAP = Instrument("attention_atlas_heatmap", "heatmap/heatmap")
SCALES = ("pattern", "score", "difference")
FORBIDDEN = mark("masked")
FURTHER = ("score", "contribution")
"""Lenses besides the weight that Python can make when a visitor asks for one."""
STEADY = (
    "queries",
    "keys",
    "scale",
    "axis",
    "height",
    "group",
    "called",
    "offers",
    "python",
    "unit",
    "shut",
    "hint",
    "lone",
)
Lenses = Callable[[], tuple[ArrayLike | None, ArrayLike | None]]


@dataclass(frozen=True)
class Cells:
    """The visitor's choice: `cell` is (query, key), or None before any choice."""

    cell: tuple[int, int] | None


@dataclass(frozen=True, eq=False)
class Heatmap(Spec):
    """(query, key) weights of one head.

    scores: (query, key) scores before the mask and the softmax: a second lens.
    values: how much of each value arrives: a third lens. Of shape (key,) the size of each value, which the browser
        multiplies by the weights; of shape (query, key) the products themselves. The first costs next to nothing.
    scale: "pattern" (0 to 1), "score" or "difference" (centred on 0, from -limit to limit).
    limit: the end of a centred scale; None takes the largest finite size. Views that are compared get one limit.
    selected: a cell outlined from the start. `cell` of the result is the newest choice: the visitor's
        click or `selected`, whichever changed last; None when there is neither.
    axis: the names of rows and columns. numbers: values are written into the cells from the start (32 tokens at most).
    height: the largest height of the cells in pixels, 560 if None.
    group: views of one group mark each other's cell under the pointer. python: with a stack, LAYER and HEAD in place of the two numbers.
    among: all heads of this kind, `weights` among them: another one that is chosen in the grid of the group is then
        drawn without asking Python. called: the title then, {head} is its name.
    lenses: gives scores and values; called only while the visitor looks through one of these lenses.
    log_sums: (query,) ln of the denominators of the softmax; with it the score is shown beside each weight all the time.
    unit: what the numbers are, in the legend, where they are neither weights nor scores. shut: what the hatched cells are.
    hint: what one can do here, behind the title; it is not saved.
    lone: rows and columns whose word has no counterpart here: no mask closed them, so they are grey, not hatched.
    margins: a pattern whose rows each add up to one gets bars: what each key receives, how spread each query looks. False where the
        rows are not those of one head (methods, layers, players): over them a column has no sum that means anything.
    sink: a learned sink takes a part of each row: rows add up to less than one, and what is missing is said of each.
    Above 128 tokens the whole is an overview with a window into it.

    Raises ValueError naming both numbers when labels and matrices do not fit.

    Example:
        >>> packet = Heatmap([[0.25, 0.75]], ["le"], ["the", "cat"], scores=[[0.0, 1.1]], values=[2.0, 0.5]).packet()
        >>> packet.header["shape"], packet.header["scores.bound"], packet.header["margins"]
        ([1, 2], 1.1, True)
        >>> heatmap([[1.0, 0.0]], ["le"], ["the", "cat"], key="h").cell    # doctest: +SKIP
        (0, 1)
    """

    weights: ArrayLike
    queries: Sequence[str]
    keys: Sequence[str]
    _: KW_ONLY
    allowed: ArrayLike | None = None
    scores: ArrayLike | None = None
    values: ArrayLike | None = None
    scale: str = "pattern"
    limit: float | None = None
    selected: tuple[int, int] | None = None
    axis: tuple[str, str] = ("query", "key")
    title: str = ""
    numbers: bool = False
    height: int | None = None
    group: str = ""
    among: HeadContext | None = None
    called: str = "{head}"
    lenses: Lenses | None = None
    log_sums: ArrayLike | None = None
    unit: str = ""
    shut: str = FORBIDDEN
    hint: str = ""
    lone: tuple[Sequence[int], Sequence[int]] = ((), ())
    margins: bool = True
    sink: bool = False

    def show(self) -> Cells:
        """Draw it in the page."""
        cell, echo = latest(self.key, "cell", self.selected, np.shape(self.weights))
        chosen, scores, values = (cell[0], cell[1]) if cell else None, self.scores, self.values
        if self.lenses is not None and stored(self.key, "lens") in FURTHER:
            scores, values = self.lenses()
        packet = replace(self, selected=chosen, scores=scores, values=values).packet()
        packet.header["echo"] = echo
        HEATMAP.show(packet, key=self.key, on_cell_change=nothing, on_lens_change=nothing)
        return Cells(chosen)

    def packet(self) -> Packet:
        scale, among, limit = self.scale, self.among, self.limit
        if scale not in SCALES:
            raise ValueError(f"scale={scale!r}; there are {', '.join(SCALES)}")
        if scale != "pattern" and (self.scores is not None or self.values is not None):
            raise ValueError(
                f"scale={scale!r} with scores or values: only a pattern has these further lenses"
            )
        matrix = as_matrix(self.weights)
        rows, columns = matrix.shape
        query_words, key_words = labels(self.queries, rows, "query"), labels(self.keys, columns, "key")
        may = as_allowed(self.allowed, matrix.shape)
        packet = Packet(
            {
                "queries": query_words,
                "keys": None if key_words == query_words else key_words,
                "shut": _(self.shut),
                "axis": [_(name) for name in self.axis],
                "echo": None,
                "numbers": bool(self.numbers) and max(rows, columns) <= 32,
                "margins": self.margins and scale == "pattern" and (self.sink or _shared_out(matrix, may)),
                "offers": [] if self.lenses is None else FURTHER,
                "lone": [list(places) for places in self.lone],
                **self.plain(
                    "scale",
                    "selected",
                    "title",
                    "height",
                    "group",
                    "python",
                    "called",
                    "unit",
                    "hint",
                    "sink",
                ),
            },
            steady=STEADY,
        )
        shown = {"": Layer(matrix, 1.0, centred=scale != "pattern")}
        layers = {} if among and not among.stack.rough else dict(shown)
        if self.log_sums is not None:
            packet.add("log_sums", np.asarray(self.log_sums, dtype="<f4").tobytes())
        if self.scores is not None:
            layers["scores."] = Layer(self.scores, centred=True)
        if self.values is not None:
            size = np.asarray(self.values, dtype=np.float64)
            if size.ndim == 1:
                if len(size) != columns:
                    raise ValueError(f"sizes of {len(size)} values for {columns} keys")
                packet.add("sizes", size.astype("<f4").tobytes())
            else:
                layers["contributions."] = Layer(size)
        packet.add_matrices(layers, may, spare=len(packet.to_bytes()) + OVERHEAD)
        packet.header["limit"] = limit or packet.header.pop("bound", 1.0)
        if among:
            among.join(packet)
            among.holds(packet, shown, may)
        if self.scores is not None and limit:
            packet.header["scores.bound"] = limit
        return packet


heatmap_packet = as_function(Heatmap, Heatmap.packet)
heatmap = as_function(Heatmap, Heatmap.show)


def _shared_out(matrix: NDArray[np.float64], may: NDArray[np.bool_] | None) -> bool:
    """Return whether each row with finite values sums to one, or to zero where nothing is allowed."""
    if not matrix.size:
        return False
    sums = (matrix if may is None else np.where(may, matrix, 0.0)).sum(axis=1)
    known = sums[np.isfinite(sums)]
    return bool(known.size and (known > 0.5).any() and (np.minimum(abs(known - 1), abs(known)) < 0.01).all())
