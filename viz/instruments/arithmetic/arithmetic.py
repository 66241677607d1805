"""How one weight is computed: a column of lines, each with its words, its equation, the numbers put in, the result.

The figures are texts made in `core.analysis.arithmetic.cell`, so that the rounded numbers on the page add up exactly. A long
vector shows its largest terms and "and 24 more: sum ..."; a click opens it in place. Nothing of that asks the server;
only a tensor that the visitor chooses (to see the line of code that made it) reaches Python.

A page may wait with the figures until they are in view: `show_pending` names the cell and shows no figure but its weight,
the browser says when the place comes near, and `in_view` is true from then on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from viz.exhibit_text import Cite
from viz.instruments.arithmetic import figures
from viz.instruments.kit.component import Instrument, nothing, stored
from viz.instruments.kit.paths import path_chosen
from viz.instruments.kit.payload import Packet, identity
from viz.instruments.kit.spec import Spec, as_function
from viz.labels import visible
from viz.languages import _, mark

if TYPE_CHECKING:
    from core.analysis.arithmetic.lines import CellArithmetic, Line

ARITHMETIC = Instrument("attention_atlas_arithmetic", "arithmetic/arithmetic")
AXES: Mapping[str, str] = {
    **{"element": mark("no."), "unit": mark("unit")},
    **{"key": mark("key"), "head": mark("head")},
}
"""Headings over the names of terms, by kind of axis."""
TURN = "value"
"""The first line about the effect of the weight, after those about its computation."""


@dataclass(frozen=True)
class Steps:
    """The visitor's choice: `path`, the tensor behind a line, or None before any choice."""

    path: str | None


@dataclass(frozen=True)
class Cell:
    """A cell before its arithmetic: layer, head, query, key, the weight, the names of query and key.

    `context` names what it is a cell of; by it the browser knows whether the figures that it shows are those of this cell.
    """

    indices: tuple[int, int, int, int]
    weight: float
    words: tuple[str, str]
    context: str


def in_view(key: str) -> bool:
    """Return whether the browser last reported that the instrument `key` is in view, or nearly. A test sets it by
    `session_state[key] = {"near": True}`."""
    return bool(stored(key, "near"))


def show_pending(cell: Cell, *, key: str, title: str = "") -> None:
    """Draw a placeholder for `arithmetic(...)` until it scrolls into view: the cell's title and weight, no lines. Lines of another cell are removed."""
    ARITHMETIC.show(light_packet(cell, title=title), key=key, on_path_change=nothing, on_near_change=nothing)


def light_packet(cell: Cell, *, title: str = "") -> Packet:
    """Return the packet with which the browser names a cell, without its arithmetic."""
    query, key = map(visible, cell.words)
    return Packet(
        {
            "light": True,
            "of": _cell_identity(cell),
            "title": title,
            "query": query,
            "key": key,
            "weight": cell.weight,
            "cell": cell.indices,
        }
    )


@dataclass(frozen=True, eq=False)
class Arithmetic(Spec):
    """The lines of one cell, as `core.analysis.arithmetic.cell.cell_arithmetic` gives them.

    title: the heading; "" asks "How is 81% computed?" with the weight of the cell.
    words: the names of query and key where the tokens are not the best ones (a written word, say).
    selected: the path of a tensor that is marked. `path` of the result is the newest choice: click or `selected`.
    cell: the cell that was `awaited` before; the browser goes on saying whether the place is in view.

    Example:
        >>> arithmetic(cell_arithmetic(run, "causal", 2, 5, 7, 3), key="a").path    # doctest: +SKIP
    """

    lines: CellArithmetic
    _: KW_ONLY
    title: str = ""
    words: tuple[str, str] | None = None
    selected: str | None = None
    height: int | None = None
    cell: Cell | None = None

    def show(self) -> Steps:
        """Draw it in the page."""
        packet = self.packet()
        path, echo = path_chosen(self.key, paths_of(self.lines), self.selected)
        packet.header |= {"selected": path, "echo": echo}
        if self.cell is not None:
            packet.header |= {"light": False, "of": _cell_identity(self.cell)}
        ARITHMETIC.show(packet, key=self.key, on_path_change=nothing, on_near_change=nothing)
        return Steps(path)

    def packet(self) -> Packet:
        """Return the packet for the browser: texts, and which terms are shown first.

        Four parts, since much is the same for many cells: `lines`, what is said (for all cells of one kind, with # for each
        number), `labels` (for all cells of a text), the figures of the `row` (for all keys of a query), those of the `pair`.
        """
        lines = self.lines
        query, key = self.words or (lines.query_word, lines.key_word)
        numbers: list[str] = []
        labels = tuple(
            dict.fromkeys((line.axis == "key", line.labels) for line in lines.lines if line.labels)
        )
        packet = Packet(
            {
                "query": visible(query),
                "key": visible(key),
                "weight": lines.weight,
                "residue": f"{lines.residue:.0e}",
                "cell": [lines.layer, lines.head, lines.query, lines.key],
                "turn": TURN,
                "echo": None,
                **self.plain("title", "selected", "height", "python"),
                "numbers": numbers,
                "told": [_own_parts(line) for line in lines.lines],
            }
        )
        packet.add("lines", _plan(tuple(_shared_parts(line, labels, numbers) for line in lines.lines)))
        packet.add("labels", _labels(labels))
        for name, shared in (("row", True), ("pair", False)):
            summed = [line for line in lines.lines if line.values is not None and line.shared == shared]
            packet.add(
                name,
                figures.pack_groups(
                    figures.columns([*line.factors, line.values], line.label_indices)
                    for line in summed
                    if line.values is not None
                ),
            )
        return packet


arithmetic_packet = as_function(Arithmetic, Arithmetic.packet)
arithmetic = as_function(Arithmetic, Arithmetic.show)


def _cell_identity(cell: Cell) -> str:
    """Return a short identity of this cell, different from that of every other one."""
    return identity(json.dumps([cell.context, *cell.indices, *cell.words]).encode())


def paths_of(lines: CellArithmetic) -> list[str]:
    """Return the paths of the tensors that hold results, in the order of the lines."""
    return list(dict.fromkeys(line.path for line in lines.lines if line.path))


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _shared_parts(
    line: Line, labels: tuple[tuple[bool, tuple[str, ...]], ...], numbers: list[str]
) -> tuple[Any, ...]:
    """Return the parts of a line that all cells share; append the numbers that differ to `numbers`, in the order of these texts."""
    texts = (
        figures.template(text, numbers)
        for text in (line.title, line.words, line.equation, line.path, *line.columns)
    )
    named = labels.index((line.axis == "key", line.labels)) if line.labels else None
    return (
        line.name,
        *texts,
        line.form,
        line.axis,
        _(AXES[line.axis]),
        named,
        None if line.values is None else line.shared,
        line.cites,
    )


@lru_cache(64)
def _plan(rows: tuple[tuple[Any, ...], ...]) -> bytes:
    """Return the lines without their numbers, as the browser reads them; cells of one kind differ in little else."""
    return _json(
        [
            {
                "name": name,
                "title": title,
                "words": words,
                "equation": equation,
                "path": path,
                "columns": columns,
                "form": form,
                "axis": heading,
                "words_axis": axis == "key",
                "labels": labels,
                "shared": shared,
                "cites": [source_names(cite) for cite in cites],
            }
            for name, title, words, equation, path, *columns, form, axis, heading, labels, shared, cites in rows
        ]
    )


@lru_cache(64)
def _labels(labels: tuple[tuple[bool, tuple[str, ...]], ...]) -> bytes:
    """Return the lists of the names of terms; those of keys with their spaces visible."""
    return _json([[visible(name) for name in names] if keys else names for keys, names in labels])


def _own_parts(line: Line) -> dict[str, Any]:
    """Return what differs from cell to cell in a line, for the packet's header: expression, result, replacement, the leading terms, the sum of the rest.

    Its numbers are sent as columns; `_shared_parts` has what all cells share.
    """
    few, told = (
        line.leading_terms(),
        {"put": line.expression, "result": line.result, "used": line.replacement},
    )
    if line.values is not None:
        told |= {"odd": figures.odd([*line.factors, line.values])}
        if len(few) < len(line.values):
            told |= {"few": few, "rest": line.remainder(few) if line.result else ""}
    return {name: value for name, value in told.items() if value} | (
        {} if line.selected_index is None else {"chosen": line.selected_index}
    )


def source_names(cite: tuple[str, str, str]) -> tuple[str, str]:
    """Name an equation of the sources: in few words, and in full.

    Example:
        >>> source_names(("ghojogh2020", "2.4.2", "Eq. (10)"))
        ('Ghojogh and Ghodsi, survey 2020, Eq. (10)', 'Ghojogh and Ghodsi, survey 2020, 2.4.2, Eq. (10)')
    """
    place = Cite(*cite)
    return ", ".join((place.source.label, place.item or place.section)), place.place()
