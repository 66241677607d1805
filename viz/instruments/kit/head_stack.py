"""Every head of one kind over one text, in one part: another head is in the page before anybody asks for it.

A packet that has a stack names the head that it shows (`at`); when a visitor chooses another one in the grid, the
browser draws it from the stack at once, and Python's own packet follows. Forbidden cells are not sent; the numbers of all heads
are one run of float32 where that fits, else of whole steps (`rice.py`), as fine as fits.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viz.instruments.kit import rice
from viz.instruments.kit.forms import Layer
from viz.instruments.kit.payload import Packet, as_allowed, runs

LONGEST = 128
"""Texts with more tokens than this have a rough stack: enough for colours and lines until Python's packet is there."""
ROOM = 256 * 1024
"""Bytes in which the numbers should be; a coarser step is taken as long as they are not."""
PARTS = (16_000, 4_000, 1_000)
"""Steps from 0 to 1, the finest first: the coarsest still tells 0.1%."""
MOST_CELLS = 8_000_000
MOST = 1_500_000
"""Bytes above which there is no stack, whatever the step: the most that one update may carry."""
SHADES = 254
"""Steps of a rough stack, as many as there are colours; 255 is not a finite number."""


@dataclass(frozen=True)
class Stack:
    """(layer, head, query, key) weights on their way to the browser; `make_stack` returns it."""

    fields: dict[str, Any]
    parts: dict[str, bytes]

    @property
    def rough(self) -> bool:
        """Return whether a packet needs its own numbers besides those in the stack."""
        return self.fields["kind"] == "u8"


class _Open:
    """A number that is not known yet: lines of Python hold its mark until the browser replaces it by the number of its head."""

    def __init__(self, mark: str) -> None:
        self.mark = mark

    def __repr__(self) -> str:
        return self.mark


LAYER, HEAD = _Open("\x01"), _Open("\x02")
"""For `python` of a picture with a stack: no text that is written with `repr` holds these signs."""


@dataclass(frozen=True)
class HeadContext:
    """The head that a picture shows, `layer_head`, among all heads of its `stack`.

    turn: id of the newest click (`clicked_head`) in the grid in which heads are chosen: a packet that answers an older choice must not turn the picture
        back from the head that the browser shows already.
    """

    stack: Stack
    layer_head: tuple[int, int]
    turn: str | None = None

    def holds(self, packet: Packet, layers: Mapping[str, Layer], allowed: ArrayLike | None) -> None:
        """Leave these matrices of `packet` to the stack: where the stack holds them rounded, the exact ones come with a saved file."""
        if self.stack.fields["kind"] == "steps":
            cells = sum(np.size(layer.values) for layer in layers.values())
            packet.note_rounding(cells, lambda found: found.add_float32(layers, allowed))

    def join(self, packet: Packet, heads: Sequence[int] | None = None) -> None:
        """Add the stack to `packet`; `heads`: several heads of the layer instead of the one."""
        packet.header |= {"stack": self.stack.fields, "turn": self.turn}
        packet.steady = (*packet.steady, "stack", *(f"stack.{name}" for name in self.stack.parts))
        packet.header["at"] = (
            list(self.layer_head) if heads is None else [[self.layer_head[0], head] for head in heads]
        )
        for name, data in self.stack.parts.items():
            packet.add(f"stack.{name}", data, deflated=self.stack.rough and name == "values", lasting=True)


def make_stack(weights: ArrayLike, allowed: ArrayLike | None = None) -> Stack | None:
    """Return the stack of these (layer, head, query, key) weights from 0 to 1, or None where it would be too large.

    allowed: boolean, broadcastable to weights; None too where it differs between heads.

    Example:
        >>> found = make_stack(np.full((2, 3, 4, 4), 0.25), np.tri(4))
        >>> found.fields, len(found.parts["values"])
        ({'shape': [2, 3, 4, 4], 'kind': 'f32', 'step': 0.0}, 240)
    """
    stack = np.asarray(weights)
    if stack.ndim != 4:
        raise ValueError(
            f"expected axes (layer, head, query, key); got {stack.ndim} axes of shape {stack.shape}"
        )
    if not 0 < stack.size <= 2 * MOST_CELLS:  # a causal mask leaves half
        return None
    may = as_allowed(allowed, stack.shape)
    cells = None if may is None else may[0, 0]
    if may is not None and (may != cells).any():
        return None
    sent = (stack if cells is None else stack[:, :, cells]).ravel()
    finite = np.isfinite(sent)
    fields, values = (_encode_roughly if max(stack.shape[2:]) > LONGEST else _encode)(sent, finite)
    if sent.size > MOST_CELLS or len(values) > MOST:
        return None
    parts = {"values": values}
    if cells is not None and not cells.all():
        parts["allowed"] = runs(cells)
    if fields["kind"] == "steps" and not finite.all():
        parts["bad"] = runs(finite)
    return Stack({"shape": list(stack.shape)} | fields, parts)


def _encode_roughly(sent: NDArray[Any], finite: NDArray[np.bool_]) -> tuple[dict[str, Any], bytes]:
    whole = bool(finite.all())
    shades = np.rint((sent if whole else np.where(finite, sent, 0.0)).clip(0, 1) * SHADES).astype(np.uint8)
    if not whole:
        shades[~finite] = 255
    return {"kind": "u8", "step": 1 / SHADES}, zlib.compress(shades.tobytes(), 1)


def _encode(sent: NDArray[Any], finite: NDArray[np.bool_]) -> tuple[dict[str, Any], bytes]:
    if sent.size * 4 <= ROOM:
        return {"kind": "f32", "step": 0.0}, sent.astype("<f4").tobytes()
    known, values = np.where(finite, sent, 0.0).clip(0, 1), b""
    for parts in PARTS:
        values = rice.pack(np.rint(known * parts).astype(np.uint16))
        if len(values) <= ROOM:
            break
    return {"kind": "steps", "step": 1 / parts}, values
