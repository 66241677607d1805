"""The source beside the picture: the real lines of code, each line that makes a tensor a button.

A chosen line reaches Python as `.path`; its axes and shape stand beside the code, and its numbers where the page hands
in a card. A line whose tensor an edit changes is marked. Shading comes from Python's own tokenizer; all is text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from viz.instruments.mount import Instrument, latest, nothing
from viz.instruments.payload import Packet

if TYPE_CHECKING:
    from core.lessons.source import SourceLine, TensorCard

SOURCE = Instrument("attention_atlas_source", "source")


@dataclass(frozen=True)
class Chosen:
    """What the visitor chose: `path`, the tensor that a line makes, or None before any choice."""

    path: str | None


def source(
    lines: Sequence[SourceLine],
    *,
    key: str,
    selected: str | None = None,
    edits: Mapping[str, Sequence[str]] | None = None,
    card: TensorCard | None = None,
    title: str = "",
    height: int | None = None,
    python: str = "",
) -> Chosen:
    """Show lines as `core.lessons.source.source_of` gives them.

    selected: the path whose line is chosen from the start; `path` of the result is the newest choice.
    edits: for a path, the words of the edits that change it; None takes what the lines say themselves.
    card: `core.lessons.source.tensor_card` of the chosen path: its numbers stand beside the code.

    Example:
        >>> source(source_of(run, "causal", 2), key="s").path    # doctest: +SKIP
        'layer.2.self_attn.scores'
    """
    paths = paths_of(lines)
    at = (paths.index(selected),) if selected in paths else None
    chosen, echo = latest(key, "path", at, (len(paths),))
    path = paths[chosen[0]] if chosen else None
    packet = source_packet(lines, selected=path, edits=edits, card=card, title=title, height=height, python=python)
    packet.header["echo"] = echo
    SOURCE.show(packet, key=key, on_path_change=nothing)
    return Chosen(path)


def paths_of(lines: Sequence[SourceLine]) -> list[str]:
    """The tensors that these lines make, in the order of the lines."""
    return [line.path for line in lines if line.path is not None]


def source_packet(
    lines: Sequence[SourceLine],
    *,
    selected: str | None = None,
    edits: Mapping[str, Sequence[str]] | None = None,
    card: TensorCard | None = None,
    title: str = "",
    height: int | None = None,
    python: str = "",
) -> Packet:
    """What the browser needs to show the lines."""
    paths = paths_of(lines)
    packet = Packet({
        "title": title, "paths": paths, "selected": paths.index(selected) if selected in paths else None, "echo": None,
        "card": None if card is None else _card(card), "height": height, "python": python,
    })  # fmt: skip
    told = [_told(line, line.edits if edits is None else tuple(edits.get(line.path or "", ()))) for line in lines]
    packet.add("lines", json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))
    return packet


def _told(line: SourceLine, edits: Sequence[str]) -> dict[str, Any]:
    return {
        "file": line.file, "number": line.number, "spans": line.spans, "leaf": line.leaf, "path": line.path, "gap": line.gap,
        "axes": list(zip(line.axes, line.shape, strict=True)), "edits": list(edits),
    }  # fmt: skip


def _card(card: TensorCard) -> dict[str, Any]:
    """The numbers of one tensor as texts; a mask counts what it lets through."""
    ends = [] if card.kind == "bool" else [["smallest", _figure(card.smallest)], ["largest", _figure(card.largest)]]
    mean = ["share of True", f"{card.mean:.1%}"] if card.kind == "bool" else ["mean", _figure(card.mean)]
    first = [str(bool(value)) if card.kind == "bool" else _figure(value) for value in card.first]
    odd = [["not finite", str(card.odd)]] if card.odd else []
    return {"path": card.path, "word": card.word, "sentence": card.sentence, "numbers": [*ends, mean, *odd], "first": first}


def _figure(value: float) -> str:
    """Four significant digits with a real minus sign.

    Example:
        >>> _figure(-0.123456), _figure(12345.6), _figure(float("nan")), _figure(0.0)
        ('−0.1235', '12350', 'not a number', '0.000')
    """
    if value != value:
        return "not a number"
    text = f"{value:#.4g}" if 1e-3 <= abs(value) < 1e4 or value == 0 else f"{value:.4g}" if abs(value) < 1e4 else f"{float(f'{value:.4g}'):g}"
    return text.replace("-", "−")
