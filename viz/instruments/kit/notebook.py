"""The instruments on a run, each a `Picture`: what `viz.heatmap(run)` and its sisters make in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.analysis.arithmetic.cell import lines_of
from core.analysis.arithmetic.source import source_of, tensor_card
from core.analysis.attention.aggregate import aggregated
from core.analysis.attention.lenses import lenses
from viz.instruments.kit.origin import of
from viz.instruments.kit.picture import CROSSING, Picture, axis, check, lines, named, position, seen
from viz.labels import head_name, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.run import Attention, Run

SPECIAL = ("START", "END", "PAD", "[CLS]", "[SEP]")


def _headed(run: Run, kind: str | None, by: str, layer: int, head: int | str) -> tuple[Attention, int, str]:
    """The patterns, the place of `head` in them, and what is shown of them.

    "mean", "largest" or "rollout" instead of a number: the heads of each layer joined (`core.analysis.attention.aggregate.aggregated`).
    Raises InputError for a layer or head that the run does not have, and for another word.
    """
    attention = seen(run, kind, by)
    if isinstance(head, str):
        attention = aggregated(run, attention.kind, head, by, writing=attention.kind in CROSSING)
    index, what = (0, f"{head} of layer {layer}") if isinstance(head, str) else (head, head_name(layer, head))
    check(run, attention, layer, index)
    return attention, index, what


def words(run: Run, layer: int = 0, head: int = 0, kind: str | None = None) -> Picture:
    """One head over the words of the text, in large type; see `viz.words`."""
    from viz.instruments.words.words import WORDS, words_packet

    attention = seen(run, kind, "word")
    check(run, attention, layer, head)
    crossing, what = attention.kind in CROSSING, head_name(layer, head)
    packet = words_packet(
        attention.weights[layer, head], attention.queries, attention.keys, allowed=attention.allowed[layer, head],
        layout="two" if crossing else "one", reading=not crossing, names=("reads", "writes") if crossing else ("", ""),
        targets=[(word, row) for row, word in enumerate(attention.queries) if word not in ("END", "PAD")],
        special=("START", "[CLS]", "[SEP]"), caption=what, python=lines(run, "words", layer=layer, head=head, kind=attention.kind),
    )  # fmt: skip
    return Picture(WORDS, packet, name=named(run, attention, what), height=420, origin=of(run, attention.kind, layer, head))


def head_view(
    run: Run, layer: int = 0, heads: Sequence[int] | str | None = None, kind: str | None = None, by: str = "word"
) -> Picture:
    """The heads of one layer as lines between tokens; see `viz.head_view`."""
    from viz.instruments.head_view.head_view import HEAD_VIEW, head_view_packet

    attention, _, what = _headed(run, kind, by, layer, heads if isinstance(heads, str) else 0)
    if isinstance(heads, str):
        shown, called, given = [0], [heads], heads
    else:
        shown = list(range(attention.weights.shape[1])) if heads is None else [int(head) for head in heads]
        check(run, attention, layer, *shown)
        what = f"layer {layer}" if len(shown) != 1 else head_name(layer, shown[0])
        called, given = shown, None if heads is None else shown
    packet = head_view_packet(
        attention.weights[layer, shown], attention.queries, attention.keys, heads=called, allowed=attention.allowed[layer, shown],
        reading=attention.kind not in CROSSING, axis=axis(attention), title=what, special=SPECIAL,
        python=lines(run, "head_view", layer=layer, heads=given, kind=attention.kind, by=by),
    )  # fmt: skip
    return Picture(HEAD_VIEW, packet, name=named(run, attention, what), height=620, origin=of(run, attention.kind, layer, heads if isinstance(heads, str) else None))


def heatmap(run: Run, layer: int = 0, head: int | str = 0, kind: str | None = None, by: str = "word") -> Picture:
    """One head as a grid of cells; see `viz.heatmap`."""
    from viz.instruments.heatmap.heatmap import HEATMAP, heatmap_packet

    attention, index, what = _headed(run, kind, by, layer, head)
    scores, values = (None, None) if isinstance(head, str) else lenses(run, attention.kind, layer, head, by, writing=attention.kind in CROSSING)
    packet = heatmap_packet(
        attention.weights[layer, index], attention.queries, attention.keys, allowed=attention.allowed[layer, index],
        scores=scores, values=values, axis=axis(attention), title=what, numbers=len(attention.keys) <= 16,
        python=lines(run, "heatmap", layer=layer, head=head, kind=attention.kind, by=by),
    )  # fmt: skip
    return Picture(HEATMAP, packet, name=named(run, attention, what), height=620, origin=of(run, attention.kind, layer, head))


def grid(run: Run, kind: str | None = None, by: str = "word") -> Picture:
    """All heads as thumbnails; see `viz.grid`."""
    from viz.instruments.grid.grid import GRID, grid_packet

    attention = seen(run, kind, by)
    what = "all heads"
    packet = grid_packet(
        attention.weights, allowed=attention.allowed[0, 0], title=what, python=lines(run, "grid", kind=attention.kind, by=by),
        queries=attention.queries, keys=attention.keys,
    )
    return Picture(GRID, packet, name=named(run, attention, what), height=120 + 140 * attention.weights.shape[0], origin=of(run, attention.kind))


def strip(run: Run, layer: int = 0, head: int | str = 0, kind: str | None = None, by: str = "word") -> Picture:
    """The running text shaded by one token's look; see `viz.strip`."""
    from viz.instruments.strip.strip import STRIP, strip_packet
    from viz.instruments.words.words import READING, WRITING

    attention, index, what = _headed(run, kind, by, layer, head)
    crossing = attention.kind in CROSSING
    packet = strip_packet(
        attention.weights[layer, index], [*map(visible, attention.queries)], keys=[*map(visible, attention.keys)] if crossing else None,
        allowed=attention.allowed[layer, index], special=SPECIAL, say=WRITING if crossing else READING,
        names=("reads", "writes") if crossing else ("", ""), title=what,
        python=lines(run, "strip", layer=layer, head=head, kind=attention.kind, by=by),
    )  # fmt: skip
    return Picture(STRIP, packet, name=named(run, attention, what), height=320, origin=of(run, attention.kind, layer, head))


def arithmetic(run: Run, layer: int = 0, head: int = 0, query: int = -1, key: int | None = None, kind: str | None = None) -> Picture:
    """How one weight is computed, line by line; see `viz.arithmetic`."""
    from viz.instruments.arithmetic.arithmetic import ARITHMETIC, arithmetic_packet

    attention = seen(run, kind, "token")
    check(run, attention, layer, head)
    row = position("query", query, len(attention.queries))
    column = int(attention.weights[layer, head, row].argmax()) if key is None else position("key", key, len(attention.keys))
    name = named(run, attention, f"{head_name(layer, head)}, one weight")
    python = lines(run, "arithmetic", layer=layer, head=head, query=row, key=column, kind=attention.kind)
    return Picture(ARITHMETIC, arithmetic_packet(lines_of(run, attention.kind, layer, head, row, column), python=python), name=name, height=700, origin=of(run, attention.kind, layer, head))


def source(run: Run, layer: int = 0, kind: str | None = None, path: str | None = None) -> Picture:
    """The lines of code that made the attention of a layer; see `viz.source`."""
    from viz.instruments.source.source import SOURCE, source_packet

    attention = seen(run, kind, "token")
    check(run, attention, layer)
    code = source_of(run, attention.kind, layer)
    given = path or next(line.path for line in code if line.path and line.leaf == "pattern")
    packet = source_packet(code, selected=given, card=tensor_card(run, given), title=given, python=lines(run, "source", layer=layer, kind=attention.kind, path=path))
    return Picture(SOURCE, packet, name=named(run, attention, "its code"), height=560, origin=of(run, attention.kind, layer))
