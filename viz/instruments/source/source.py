"""The source beside the picture: the real lines of code, each line that makes a tensor a button.

A chosen line reaches Python as `.path`; its axes and shape stand beside the code, and its numbers where the page hands
in a card. A line whose tensor an edit changes is marked. Shading comes from Python's own tokenizer; all is text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from viz.instruments.kit.component import Instrument, nothing
from viz.instruments.kit.paths import path_chosen
from viz.instruments.kit.payload import Packet
from viz.instruments.kit.spec import Spec, as_function
from viz.labels import percent
from viz.languages import _
from viz.number_text import significant

if TYPE_CHECKING:
    from core.analysis.arithmetic.source import SourceLine, TensorCard

SOURCE = Instrument("attention_atlas_source", "source/source", numbers=False)


@dataclass(frozen=True)
class ChosenTensor:
    """The visitor's choice: `path`, the tensor that a line makes, or None before any choice."""

    path: str | None


@dataclass(frozen=True, eq=False)
class Source(Spec):
    """Lines as `core.analysis.arithmetic.source.source_lines` gives them.

    selected: the path whose line is chosen from the start; `path` of the result is the newest choice.
    edits: for a path, the words of the edits that change it; None takes what the lines say themselves.
    card: `core.analysis.arithmetic.source.tensor_card` of the chosen path: its numbers stand beside the code.

    Example:
        >>> source(source_lines(run, "causal", 2), key="s").path    # doctest: +SKIP
        'layer.2.self_attn.scores'
    """

    lines: Sequence[SourceLine]
    _: KW_ONLY
    selected: str | None = None
    edits: Mapping[str, Sequence[str]] | None = None
    card: TensorCard | None = None
    title: str = ""
    height: int | None = None

    def show(self) -> ChosenTensor:
        """Draw it in the page."""
        path, echo = path_chosen(self.key, paths_of(self.lines), self.selected)
        packet = self.packet()
        packet.header |= {"selected": path, "echo": echo}
        SOURCE.show(packet, key=self.key, on_path_change=nothing)
        return ChosenTensor(path)

    def packet(self) -> Packet:
        """Return the packet for the browser.

        The text of the lines is a part of its own, the same for every layer and text; so is the card, the same for every head.
        """
        lines, edits, card = self.lines, self.edits, self.card
        changes = {
            i: found
            for i, line in enumerate(lines)
            if (found := line.edits if edits is None else tuple(edits.get(line.path or "", ())))
        }
        sizes = {word: size for line in lines for word, size in zip(line.axes, line.shape, strict=True)}
        scope = _scope(paths_of(lines))
        packet = Packet(
            {
                "scope": scope,
                "sizes": sizes,
                "edits": changes,
                "echo": None,
                **self.plain("title", "selected", "height", "python"),
            }
        )
        packet.add(
            "lines",
            _text(
                tuple(
                    (
                        line.file,
                        line.number,
                        line.spans,
                        line.leaf,
                        line.path and line.path.removeprefix(scope),
                        line.axes,
                        line.gap,
                    )
                    for line in lines
                )
            ),
        )
        packet.add("card", b"null" if card is None else _json(_card(card)))
        return packet


source_packet = as_function(Source, Source.packet)
source = as_function(Source, Source.show)


def paths_of(lines: Sequence[SourceLine]) -> list[str]:
    """Return the paths of the tensors that these lines make, in the order of the lines."""
    return [line.path for line in lines if line.path is not None]


def _scope(paths: Sequence[str]) -> str:
    """Return the common beginning of the names of all tensors, the layer; "" for none. The rest of a name is the same for every layer.

    Example:
        >>> _scope(["layer.2.self_attn.q", "layer.2.self_attn.k"]), _scope([])
        ('layer.2.self_attn.', '')
    """
    words = [path.split(".")[:-1] for path in paths]
    alike = [each[0] for each in zip(*words, strict=False) if len(set(each)) == 1]
    return "".join(f"{word}." for word in alike) if all(each[: len(alike)] == alike for each in words) else ""


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


@lru_cache(64)
def _text(lines: tuple[tuple[Any, ...], ...]) -> bytes:
    """Return the lines as they are in their files; `path` continues after the scope of the layer."""
    return _json(
        [
            {
                "file": file,
                "number": number,
                "spans": spans,
                "leaf": leaf,
                "path": made,
                "axes": axes,
                "gap": gap,
            }
            for file, number, spans, leaf, made, axes, gap in lines
        ]
    )


def _card(card: TensorCard) -> dict[str, Any]:
    """Return the numbers of one tensor as texts; of a mask the share of True."""
    ends = (
        []
        if card.kind == "bool"
        else [[_("smallest"), significant(card.smallest)], [_("largest"), significant(card.largest)]]
    )
    mean = (
        [_("share of True"), percent(card.mean, 2)]
        if card.kind == "bool"
        else [_("mean"), significant(card.mean)]
    )
    first = [str(bool(value)) if card.kind == "bool" else significant(value) for value in card.first]
    odd = [[_("not finite"), str(card.odd)]] if card.odd else []
    return {
        "path": card.path,
        "word": card.word,
        "sentence": card.sentence,
        "numbers": [*ends, mean, *odd],
        "first": first,
    }
