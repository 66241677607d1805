"""How one weight is computed: a column of lines, each with its words, its equation, the numbers put in, the result.

The figures are texts made in `core.lessons.arithmetic`, so that what stands on the page adds up as it stands. A long
vector shows its largest terms and "and 24 more: sum ..."; a click opens it in place. Nothing of that asks the server;
only a tensor that the visitor chooses (to see the line of code that made it) reaches Python.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from viz.instruments.mount import Instrument, latest, nothing
from viz.instruments.payload import Packet
from viz.labels import visible
from viz.pages import Cite

if TYPE_CHECKING:
    from core.lessons.lines import Line, Lines

ARITHMETIC = Instrument("attention_atlas_arithmetic", "equation", "arithmetic")
AXES: Mapping[str, str] = {"element": "no.", "unit": "unit", "key": "key", "head": "head"}
"""What stands over the names of terms."""
TURN = "value"
"""The first line that says what the weight does, after those that say how it comes about."""


@dataclass(frozen=True)
class Steps:
    """What the visitor chose: `path`, the tensor behind a line, or None before any choice."""

    path: str | None


def arithmetic(
    lines: Lines,
    *,
    key: str,
    title: str = "",
    words: tuple[str, str] | None = None,
    selected: str | None = None,
    height: int | None = None,
    python: str = "",
) -> Steps:
    """Draw the lines of one cell, as `core.lessons.arithmetic.lines_of` gives them.

    title: what stands above; "" asks "How is 81 % computed?" with the weight of the cell.
    words: the names of query and key where the tokens are not the best ones (a written word, say).
    selected: the path of a tensor that is marked. `path` of the result is the newest choice: click or `selected`.

    Example:
        >>> arithmetic(lines_of(run, "causal", 2, 5, 7, 3), key="a").path    # doctest: +SKIP
    """
    packet = arithmetic_packet(lines, title=title, words=words, height=height, python=python)
    paths = packet.header["paths"]
    at = (paths.index(selected),) if selected in paths else None
    chosen, echo = latest(key, "path", at, (len(paths),))
    packet.header |= {"selected": chosen[0] if chosen else None, "echo": echo}
    ARITHMETIC.show(packet, key=key, on_path_change=nothing)
    return Steps(paths[chosen[0]] if chosen else None)


def arithmetic_packet(
    lines: Lines,
    *,
    title: str = "",
    words: tuple[str, str] | None = None,
    height: int | None = None,
    python: str = "",
) -> Packet:
    """What the browser needs to draw the lines: texts, and which terms are shown first."""
    query, key = words or (lines.query_word, lines.key_word)
    paths = list(dict.fromkeys(line.path for line in lines.lines if line.path))
    packet = Packet({
        "title": title, "query": visible(query), "key": visible(key), "weight": lines.weight, "residue": f"{lines.residue:.0e}",
        "cell": [lines.layer, lines.head, lines.query, lines.key], "paths": paths, "turn": TURN, "selected": None, "echo": None,
        "height": height, "python": python,
    })  # fmt: skip
    packet.add("lines", _json([_told(line) for line in lines.lines]))
    packet.add("cites", _json([[cited(cite) for cite in line.cites] for line in lines.lines]))  # the same for every cell: sent once
    return packet


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _told(line: Line) -> dict[str, Any]:
    """One line as the browser reads it."""
    few = line.few()
    named = line.axis == "key"
    return {
        "name": line.name, "title": line.title, "words": line.words, "equation": line.equation,
        "put": line.put, "result": line.result, "path": line.path, "used": line.used,
        "axis": AXES[line.axis], "words_axis": named, "columns": list(line.columns), "chosen": line.chosen,
        "terms": [[visible(term.label) if named else term.label, list(line.cells(term)), term.value] for term in line.terms],
        "few": list(few), "rest": line.rest(few) if line.result and len(few) < len(line.terms) else "",
    }  # fmt: skip


def cited(cite: tuple[str, str, str]) -> tuple[str, str]:
    """Where an equation stands: in few words, and the whole place.

    Example:
        >>> cited(("ghojogh2020", "2.4.2", "Eq. (10)"))
        ('Ghojogh and Ghodsi, survey 2020, Eq. (10)', 'Ghojogh and Ghodsi, survey 2020, 2.4.2, Eq. (10)')
    """
    place = Cite(*cite)
    return ", ".join((place.source.short, place.item or place.section)), place.place()
