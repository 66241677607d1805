"""One head as a labelled heatmap: query rows, key columns, exact values under the pointer.

Colour means one thing: "pattern" is sequential and fixed from 0 to 1; "score" and "difference" are
diverging and centred on 0. Forbidden cells are hatched, never the colour of zero; a value that is not
finite is crossed out. Hovering, walking and zooming stay in the browser; a chosen cell reaches Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike

from viz.instruments.mount import Instrument, latest, nothing
from viz.instruments.payload import OVERHEAD, Packet, as_matrix, labels

HEATMAP = Instrument("attention_atlas_heatmap", "matrix", "heatmap")
SCALES = ("pattern", "score", "difference")


@dataclass(frozen=True)
class Cells:
    """What the visitor chose: `cell` is (query, key), or None before any choice."""

    cell: tuple[int, int] | None


def heatmap(
    values: ArrayLike,
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    key: str,
    allowed: ArrayLike | None = None,
    scale: str = "pattern",
    limit: float | None = None,
    selected: tuple[int, int] | None = None,
    axis: tuple[str, str] = ("query", "key"),
    title: str = "",
    numbers: bool = False,
    height: int | None = None,
) -> Cells:
    """Draw (query, key) values of one head.

    scale: "pattern" (0 to 1), "score" or "difference" (centred on 0, from -limit to limit).
    limit: the end of a centred scale; None takes the largest finite size in `values`. Views that stand
        side by side get one limit.
    selected: a cell outlined from the start. `cell` of the result is the newest choice: the visitor's
        click or `selected`, whichever changed last; None when there is neither.
    axis: the names of rows and columns. numbers: write values into the cells (32 tokens at most).
    height: the largest height of the cells in pixels, 560 if None.

    Raises ValueError naming both numbers when labels and values do not fit.

    Example:
        >>> heatmap([[1.0, 0.0]], ["le"], ["the", "cat"], key="h").cell    # doctest: +SKIP
        (0, 1)
    """
    if scale not in SCALES:
        raise ValueError(f"scale={scale!r}; there are {', '.join(SCALES)}")
    matrix = as_matrix(values)
    rows, columns = matrix.shape
    query_words, key_words = labels(queries, rows, "query"), labels(keys, columns, "key")
    centred = scale != "pattern"
    cell, echo = latest(key, "cell", selected, matrix.shape)
    packet = Packet({
        "queries": query_words, "keys": None if key_words == query_words else key_words,
        "scale": scale, "axis": list(axis), "title": title, "height": height,
        "numbers": bool(numbers) and max(rows, columns) <= 32, "selected": cell, "echo": echo,
    })  # fmt: skip
    packet.add_matrix(matrix, allowed, centred=centred, spare=len(packet.to_bytes()) + OVERHEAD)
    packet.header["limit"] = limit or packet.header.pop("bound")
    HEATMAP.show(packet, key=key, on_cell_change=nothing)
    return Cells((cell[0], cell[1]) if cell else None)
