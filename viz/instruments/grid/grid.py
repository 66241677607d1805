"""All layers and heads as thumbnails on one canvas: a tile is one head, a click opens it.

A thumbnail is the pattern, max-pooled to at most 32 by 32 and one byte a cell: 144 heads are 147 KB, causal ones
half of it, for forbidden cells are not sent. Pooling by the maximum keeps what a head looks at; it makes thin lines
thicker, and the legend says so. The visitor orders and colours the tiles by kind or by a measure in the browser.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viz.instruments.kit.component import Instrument, latest, nothing, stored
from viz.instruments.kit.payload import Packet, as_allowed, labels, runs
from viz.instruments.kit.spec import Spec, as_function
from viz.languages import _, mark
from viz.memo import remembered

GRID = Instrument("attention_atlas_grid", "grid/grid")
THUMB = 32
DEEP = 12
"""With more layers than these the tiles are small, and where there is room the layers go across."""
_NOT_FINITE = 255


@dataclass(frozen=True)
class Heads:
    """The visitor's choice: `head` is (layer, head), or None before any choice."""

    head: tuple[int, int] | None


@dataclass(frozen=True, eq=False)
class AllHeads(Spec):
    """Every head of a run.

    weights: (layer, head, query, key) patterns. selected: (layer, head) outlined. `head` of the result is the newest choice: click or `selected`.
    kinds: names of measured kinds, (layer, head), drawn under the
    tiles where there is room and named on hover. scores: (layer, head) floats shown beside the kind, 0 to 1.
    measures: more (layer, head) floats by name. The tiles can be ordered and coloured by kind and by each of them.
    allowed: boolean, broadcastable to (query, key); forbidden cells are hatched.
    order: begin with the heads in this order, called `order_name`, each tile with its own label, instead of layers by
        heads. kind_order: the kinds in the order in which they are grouped; the others follow, the clearest first.
    group: pictures of one group that have a stack follow the head that is opened. url: a query parameter that follows
        order and colour. place: under which name they are remembered for the visit, `key` where it is empty. before: goes before each
        head's name, where a page shows heads of several kinds. queries, keys: the words, for what is saved; `keys` None: the same.

    Raises ValueError when the axes do not fit, naming both sizes.

    Example:
        >>> packet = AllHeads(np.ones((1, 2, 4, 4)), kinds=[["first word", "spread out"]], measures={"entropy": [[0, 2]]}).packet()
        >>> packet.header["kinds"], packet.header["kind"], packet.header["measures"]
        (['first word', 'spread out'], [[0, 1]], ['entropy'])
        >>> grid(run.attention("causal").weights, key="g").head    # doctest: +SKIP
        (2, 5)
    """

    weights: ArrayLike
    _: KW_ONLY
    selected: tuple[int, int] | None = None
    kinds: Sequence[Sequence[str]] | None = None
    scores: ArrayLike | None = None
    measures: Mapping[str, ArrayLike] | None = None
    allowed: ArrayLike | None = None
    order: Sequence[tuple[int, int]] | None = None
    order_name: str = mark("as this page has them")
    kind_order: Sequence[str] = ()
    title: str = ""
    group: str = ""
    url: str | None = None
    place: str = ""
    before: str = ""
    queries: Sequence[str] | None = None
    keys: Sequence[str] | None = None

    def show(self) -> Heads:
        """Draw it in the page."""
        head, echo = latest(self.key, "head", self.selected, np.shape(self.weights)[:2])
        chosen = (head[0], head[1]) if head else None
        show_grid(self.packet(), key=self.key, selected=chosen, echo=echo)
        return Heads(chosen)

    def packet(self) -> Packet:
        kinds, order, queries, keys, allowed = self.kinds, self.order, self.queries, self.keys, self.allowed
        stack = _stack(self.weights)
        n_layers, n_heads, rows, columns = stack.shape
        if kinds is not None and [len(row) for row in kinds] != [n_heads] * n_layers:
            raise ValueError(
                f"kinds for {[len(row) for row in kinds]} heads a layer; this run has {n_layers} layers of {n_heads}"
            )
        named = None if kinds is None else [labels(list(row), n_heads, "kind") for row in kinds]
        worth = None if self.scores is None else _measure("scores", self.scores, (n_layers, n_heads))
        ranks = [] if named is None else _ranks(named, worth, self.kind_order)
        numbers = {
            name: _measure(name, values, (n_layers, n_heads))
            for name, values in (self.measures or {}).items()
        }
        thumbs, may = remembered(stack, "pool", lambda: pool(stack)), None
        packet = Packet(
            {
                "size": [n_layers, n_heads],
                "deep": n_layers > DEEP,
                "shape": list(thumbs.shape[2:]),
                "tokens": [rows, columns],
                "kinds": ranks,
                "kind": None if named is None else [[ranks.index(name) for name in row] for row in named],
                "scores": None
                if worth is None
                else [[_printed(value) for value in row] for row in worth.tolist()],
                "measures": labels(list(numbers), len(numbers), "measure"),
                "order": None if order is None else [[int(layer), int(head)] for layer, head in order],
                "place": self.place or self.key,
                "before": self.before and f"{self.before}.",
                "order_name": _(self.order_name),
                **self.plain("title", "group", "url", "python"),
                "queries": None if queries is None else labels(queries, rows, "query"),
                "keys": None if keys is None or keys is queries else labels(keys, columns, "key"),
            }
        )
        packet.steady = tuple(packet.header)
        packet.header |= {"selected": None, "echo": None}
        if allowed is not None:
            cells = np.broadcast_to(np.asarray(allowed, dtype=bool), (rows, columns))
            may = _pool(cells.astype(np.float32)) > 0
            packet.add("allowed", runs(may))
        packet.add("thumbs", (thumbs if may is None else thumbs[:, :, may]).tobytes())
        if numbers:
            packet.add("numbers", np.stack(list(numbers.values())).astype("<f4").tobytes())
        packet.note_rounding(stack.size, lambda found: _add_weights(found, stack, allowed))
        return packet


grid_packet = as_function(AllHeads, AllHeads.packet)
grid = as_function(AllHeads, AllHeads.show)


def show_grid(
    packet: Packet,
    *,
    key: str,
    selected: tuple[int, int] | None = None,
    echo: str | None = None,
    on_choice: Callable[[], None] = nothing,
) -> None:
    """Draw a grid whose packet was made before; `on_choice` is called before the run that answers a click (`clicked_head`)."""
    GRID.show(
        replace(packet, header=packet.header | {"selected": selected, "echo": echo}),
        key=key,
        on_head_change=on_choice,
    )


def clicked_head(key: str) -> tuple[tuple[int, int] | None, str | None]:
    """Return the (layer, head) that the visitor last opened in the grid `key`, and the id of that click."""
    event = stored(key, "head")
    return ((int(event["at"][0]), int(event["at"][1])), str(event["id"])) if event else (None, None)


def _add_weights(packet: Packet, stack: NDArray[Any], allowed: ArrayLike | None) -> None:
    """Add every weight of every head unrounded, for a file."""
    cells = as_allowed(allowed, stack.shape[2:])
    packet.add("weights", (stack if cells is None else stack[:, :, cells]).astype("<f4").tobytes())
    if cells is not None:
        packet.add("weights.allowed", runs(cells))


def _stack(weights: ArrayLike) -> NDArray[Any]:
    stack = np.asarray(weights)
    if stack.ndim != 4:
        raise ValueError(
            f"expected axes (layer, head, query, key); got {stack.ndim} axes of shape {stack.shape}"
        )
    return stack


def _measure(name: str, values: ArrayLike, size: tuple[int, int]) -> NDArray[np.float64]:
    found = np.asarray(values, dtype=np.float64)
    if found.shape != size:
        raise ValueError(
            f"{name!r} has shape {found.shape}; this run has {size[0]} layers of {size[1]} heads"
        )
    return found


def _printed(value: float) -> float | None:
    return round(value, 3) if np.isfinite(value) else None


def _ranks(
    kinds: Sequence[Sequence[str]], scores: NDArray[np.float64] | None, first: Sequence[str]
) -> list[str]:
    """Return every kind once: those of `first` in their order, then by the best score of a head of that kind."""
    best: dict[str, float] = {}
    for i, row in enumerate(kinds):
        for j, name in enumerate(row):
            score = 0.0 if scores is None else float(np.nan_to_num(scores[i, j]))
            best[name] = max(best.get(name, -np.inf), score)
    known = {name: place for place, name in enumerate(first)}
    return sorted(best, key=lambda name: (known.get(name, len(known)), -best[name]))


def pool(weights: NDArray[np.floating]) -> NDArray[np.uint8]:
    """Reduce (layer, head, query, key) to (layer, head, <= 32, <= 32): the maximum of each block, 0..254; 255 = not finite.

    Example:
        >>> pool(np.full((1, 1, 64, 3), 0.5)).shape, int(pool(np.ones((1, 1, 2, 2)))[0, 0, 0, 0])
        ((1, 1, 32, 3), 254)
    """
    pooled = np.array(
        [[_pool(head) for head in layer] for layer in weights]
    )  # one by one: a copy of all may be 600 MB
    finite = np.isfinite(pooled)
    levels = np.rint(np.where(finite, pooled, 0).clip(0, 1) * 254).astype(np.uint8)
    return np.where(finite, levels, np.uint8(_NOT_FINITE))


def _pool(values: NDArray[np.floating]) -> NDArray[np.floating]:
    if not np.isfinite(values).all():
        values = np.where(np.isfinite(values), values, np.inf)
    for axis in (0, 1):
        size = values.shape[axis]
        if size > THUMB:
            values = np.maximum.reduceat(values, np.arange(THUMB) * size // THUMB, axis=axis)
    return values
