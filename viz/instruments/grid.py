"""All layers and heads as thumbnails on one canvas: a tile is one head, a click opens it.

A thumbnail is the pattern, max-pooled to at most 32 by 32 and one byte a cell: 144 heads are 147 KB.
Pooling by the maximum keeps what a head looks at; it makes thin lines thicker, and says so on hover.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viz.instruments.mount import Instrument, latest, nothing
from viz.instruments.payload import Packet, labels, runs

GRID = Instrument("attention_atlas_grid", "grid")
THUMB = 32
_NOT_FINITE = 255


@dataclass(frozen=True)
class Heads:
    """What the visitor chose: `head` is (layer, head), or None before any choice."""

    head: tuple[int, int] | None


def grid(
    weights: ArrayLike,
    *,
    key: str,
    kinds: Sequence[Sequence[str]] | None = None,
    scores: ArrayLike | None = None,
    allowed: ArrayLike | None = None,
    order: Sequence[tuple[int, int]] | None = None,
    selected: tuple[int, int] | None = None,
    title: str = "",
) -> Heads:
    """Draw every head of a run.

    weights: (layer, head, query, key) patterns. kinds: names of measured kinds, (layer, head), drawn under the
    tiles where there is room and named on hover. scores: (layer, head) floats shown beside the kind, 0 to 1.
    allowed: boolean, broadcastable to (query, key); forbidden cells are hatched.
    order: draw the heads in this order, each tile with its own label, instead of layers by heads.
    selected: (layer, head) outlined. `head` of the result is the newest choice: click or `selected`.

    Raises ValueError when the axes do not fit, naming both sizes.

    Example:
        >>> grid(run.attention("causal").weights, key="g").head    # doctest: +SKIP
        (2, 5)
    """
    stack = np.asarray(weights)
    if stack.ndim != 4:
        raise ValueError(f"expected axes (layer, head, query, key); got {stack.ndim} axes of shape {stack.shape}")
    n_layers, n_heads, rows, columns = stack.shape
    if kinds is not None and [len(row) for row in kinds] != [n_heads] * n_layers:
        raise ValueError(
            f"kinds for {[len(row) for row in kinds]} heads a layer; this run has {n_layers} layers of {n_heads}"
        )
    head, echo = latest(key, "head", selected, (n_layers, n_heads))
    thumbs = pool(stack)
    packet = Packet({
        "size": [n_layers, n_heads], "shape": list(thumbs.shape[2:]), "tokens": [rows, columns], "title": title,
        "kinds": None if kinds is None else [labels(list(row), n_heads, "kind") for row in kinds],
        "scores": None if scores is None else np.round(np.asarray(scores, dtype=float), 3).tolist(),
        "order": None if order is None else [[int(layer), int(head)] for layer, head in order],
        "selected": head, "echo": echo,
    })  # fmt: skip
    packet.add("thumbs", thumbs.tobytes())
    if allowed is not None:
        may = np.broadcast_to(np.asarray(allowed, dtype=bool), (rows, columns))
        packet.add("allowed", runs(_pool(may[None, None].astype(np.float32))[0, 0] > 0))
    GRID.show(packet, key=key, on_head_change=nothing)
    return Heads((head[0], head[1]) if head else None)


def pool(weights: NDArray[np.floating]) -> NDArray[np.uint8]:
    """(layer, head, query, key) -> (layer, head, <= 32, <= 32): the maximum of each block, 0..254; 255 = not finite.

    Example:
        >>> pool(np.full((1, 1, 64, 3), 0.5)).shape, int(pool(np.ones((1, 1, 2, 2)))[0, 0, 0, 0])
        ((1, 1, 32, 3), 254)
    """
    pooled = _pool(np.where(np.isfinite(weights), weights, np.inf))
    finite = np.isfinite(pooled)
    levels = np.rint(np.where(finite, pooled, 0).clip(0, 1) * 254).astype(np.uint8)
    return np.where(finite, levels, np.uint8(_NOT_FINITE))


def _pool(values: NDArray[np.floating]) -> NDArray[np.floating]:
    for axis in (2, 3):
        size = values.shape[axis]
        if size > THUMB:
            values = np.maximum.reduceat(values, np.arange(THUMB) * size // THUMB, axis=axis)
    return values
