"""A mask edited by hand: click or drag over cells, whole rows and columns by their labels, rectangles, undo and redo.

True means "may attend", as everywhere. Presets are made in Python (core.masks) and handed in as `presets`: buttons that
change the mask in the browser. Handing in another `allowed`, or another `turn`, starts a new edit. The edited matrix
reaches Python when the pointer is lifted. A row that allows nothing is marked: its output is zeros.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viz.instruments.kit.component import Instrument, stored
from viz.instruments.kit.payload import Packet, as_matrix, labels, runs
from viz.instruments.kit.spec import Spec, as_function
from viz.languages import _

MASK_EDITOR = Instrument("attention_atlas_mask", "mask_editor/mask_editor")


@dataclass(frozen=True, eq=False)
class MaskEditor(Spec):
    """A mask to edit: `allowed` (query, key), True = may attend; drawn, it gives the matrix as it is now.

    now: the mask as it was edited before. presets: masks by name.
    drawing: edited like a mask and spoken of as what it is: cells are drawn, not allowed, and a row without a
    stroke is not marked. hint: what one can do here, behind the title; it is not saved.
    on_stroke: hears of the matrix after each stroke, before the run that draws it: who keeps it in the link does so there.

    Raises ValueError naming both numbers when labels, presets and cells do not fit.

    Example:
        >>> MaskEditor(np.tri(2, dtype=bool), "ab", "ab", presets={"all": np.ones((2, 2))}).packet().header["presets"]
        ['all']
        >>> mask_editor(np.tri(3, dtype=bool), "abc", "abc", key="m", presets={"all": np.ones((3, 3))})    # doctest: +SKIP
    """

    allowed: ArrayLike
    queries: Sequence[str]
    keys: Sequence[str]
    _: KW_ONLY
    now: NDArray[np.bool_] | None = None
    turn: int = 0
    presets: Mapping[str, ArrayLike] | None = None
    axis: tuple[str, str] = ("query", "key")
    title: str = ""
    height: int | None = None
    drawing: bool = False
    hint: str = ""
    on_stroke: Callable[[NDArray[np.bool_]], None] | None = None

    def show(self) -> NDArray[np.bool_]:
        """Draw it in the page and return the matrix as it is now."""
        start, key = as_matrix(self.allowed) > 0.5, self.key
        base = fingerprint(start, self.turn)
        now = edited_mask(stored(key, "mask"), start, base)

        def notify() -> None:
            sent = stored(key, "mask")
            if sent and sent.get("base") == base and self.on_stroke:
                self.on_stroke(edited_mask(sent, start, base))

        MASK_EDITOR.show(replace(self, now=now).packet(), key=key, on_mask_change=notify)
        return now

    def packet(self) -> Packet:
        start = as_matrix(self.allowed) > 0.5
        words = (
            labels(list(self.queries), start.shape[0], "query"),
            labels(list(self.keys), start.shape[1], "key"),
        )
        named = self.presets or {}
        packet = Packet(
            {
                "queries": words[0],
                "keys": None if words[0] == words[1] else words[1],
                "axis": [_(name) for name in self.axis],
                "shape": list(start.shape),
                "base": fingerprint(start, self.turn),
                "presets": labels(list(named), len(named), "preset"),
                **self.plain("title", "height", "python", "hint"),
                **({"drawing": True} if self.drawing else {}),
            }
        )
        packet.add("start", runs(start))
        packet.add("now", runs(start if self.now is None else self.now))
        for i, (name, mask) in enumerate(named.items()):
            cells = as_matrix(mask) > 0.5
            if cells.shape != start.shape:
                raise ValueError(f"the preset {name!r} has shape {cells.shape}; the mask has {start.shape}")
            packet.add(f"preset{i}", runs(cells))
        return packet


mask_editor_packet = as_function(MaskEditor, MaskEditor.packet)
mask_editor = as_function(MaskEditor, MaskEditor.show)


def fingerprint(mask: NDArray[np.bool_], turn: int = 0) -> str:
    """Return a short name of exactly this mask in this turn, so that an edit of another one is never taken for its own."""
    return hashlib.sha256(f"{turn} {mask.shape}".encode() + np.packbits(mask).tobytes()).hexdigest()[:16]


def edited_mask(state: Any, start: NDArray[np.bool_], base: str) -> NDArray[np.bool_]:
    """Return the matrix in the browser's answer {"base", "runs"}, or a copy of `start` if it belongs to another mask.

    The answer comes from a browser and is checked: lengths that do not add up to the matrix are refused.

    Example:
        >>> start = np.ones((1, 3), dtype=bool)
        >>> edited_mask({"base": "b", "runs": base64.b64encode(bytes([1, 1, 1])).decode()}, start, "b").tolist()
        [[True, False, True]]
    """
    if not state or state.get("base") != base:
        return start.copy()
    lengths, length, shift = [], 0, 0
    for byte in base64.b64decode(state["runs"]):
        length |= (byte & 127) << shift
        if byte & 128 and shift < 28:
            shift += 7
            continue
        lengths.append(length)
        length = shift = 0
    if sum(lengths) != start.size or len(lengths) > start.size + 1:
        raise ValueError(f"the edited mask has {sum(lengths)} cells; this one has {start.size}")
    values = np.arange(len(lengths)) % 2 == 0
    return np.repeat(values, lengths).reshape(start.shape)
