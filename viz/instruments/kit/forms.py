"""How the numbers of a matrix are written in few bytes: float32 where that fits, else float16, else whole steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viz.instruments.kit import rice

LARGEST_SIDE = 1024
_FLOAT16_SAFE = 6e4


def runs(mask: NDArray[np.bool_]) -> bytes:
    """Encode the run lengths of a flat boolean array, alternating from a True run on, as base-128 varints.

    Example:
        >>> runs(np.array([True, True, False]))
        b'\\x02\\x01'
        >>> runs(np.array([False, True]))
        b'\\x00\\x01\\x01'
    """
    flat = np.asarray(mask, dtype=bool).ravel()
    if flat.size == 0:
        return b""
    edges = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    lengths = np.diff(np.concatenate(([0], edges, [flat.size]))).tolist()
    if not flat[0]:
        lengths.insert(0, 0)
    out = bytearray()
    for length in lengths:
        while length > 127:
            out.append(length & 127 | 128)
            length >>= 7
        out.append(length)
    return bytes(out)


@dataclass(frozen=True)
class Layer:
    """One matrix to send: (query, key) floats from 0 to `top` (None: to the largest), or `centred` around 0."""

    values: ArrayLike
    top: float | None = None
    centred: bool = False


class Cells:
    """The cells of one layer that are sent, and the forms that they can take."""

    def __init__(self, sent: NDArray[np.float64], layer: Layer, side: int) -> None:
        self.sent, self.layer = sent, layer
        self.finite = np.isfinite(sent)
        self.all_finite = bool(self.finite.all())
        self.bound = float(np.abs(sent if self.all_finite else sent[self.finite]).max(initial=0.0)) or (
            0.0 if self.finite.any() else 1.0
        )
        top = layer.top or self.bound or 1.0
        self.finest = top / 1000 if layer.centred or layer.top is None else 1 / _parts(side)
        self._counted: dict[int, tuple[NDArray[np.uint16], int]] = {}

    def can(self, form: Form) -> bool:
        return form != "f16" or self.bound < _FLOAT16_SAFE

    def least(self, form: Form) -> int:
        """Return a lower bound of the bytes: twice as coarse a step saves at most one bit per number."""
        if isinstance(form, str):
            return self.sent.size * (4 if form == "f32" else 2)
        known = max((f for f in self._counted if f <= form), default=None)
        return (
            0
            if known is None
            else self._counted[known][1] - self.sent.size * int(form // known).bit_length() // 8
        )

    def size(self, form: Form) -> int:
        if isinstance(form, str):
            return self.least(form)
        if form not in self._counted:
            levels = self._levels(form)
            self._counted[form] = (
                levels,
                rice.size(levels) + (0 if self.all_finite else len(runs(self.finite))),
            )
        return self._counted[form][1]

    def encode(self, form: Form) -> tuple[dict[str, Any], bytes, bytes | None]:
        """Return header fields, the bytes of the numbers, and the mask of finite ones if the form cannot express it."""
        fields = {"kind": form, "step": 0.0, "bound": self.bound}
        if isinstance(form, str):
            return fields, self.sent.astype("<f4" if form == "f32" else "<f2").tobytes(), None
        self.size(form)
        fields |= {"kind": "steps", "step": self.finest * form, "signed": self.layer.centred}
        return fields, rice.pack(self._counted[form][0]), None if self.all_finite else runs(self.finite)

    def _levels(self, form: int) -> NDArray[np.uint16]:
        sent = self.sent if self.all_finite else np.where(self.finite, self.sent, 0.0)
        levels = np.rint(sent * (1 / (self.finest * form))).clip(-32767, 32767).astype(np.int16)
        if self.layer.centred:  # 0, -1, 1, -2, 2 ... as 0, 1, 2, 3, 4 ...
            return (levels << 1 ^ levels >> 15).view(np.uint16)
        return levels.clip(0).view(np.uint16)


Form = str | int
"""How the numbers of a layer are written: "f32", "f16", or in so many of its finest steps each."""
_FORMS: tuple[Form, ...] = ("f32", "f16", 1, 2, 4, 8, 16, 32, 64)
_COARSEST = _FORMS.index(8)
"""The first of several layers gives up no more than this; the others go on to the last form."""


def fitting(layers: Sequence[Cells], room: int) -> list[Form]:
    """Return the most exact forms that fit together: the first layer ahead of the others, by three forms at most."""
    first = rest = 0
    last = _COARSEST if len(layers) > 1 else len(_FORMS) - 1
    while True:
        forms: list[Form] = [_FORMS[first], *[_FORMS[rest]] * (len(layers) - 1)]
        if all(map(Cells.can, layers, forms)) and _fit(layers, forms, room):
            return forms
        if len(layers) > 1 and rest < len(_FORMS) - 1 and (rest - first < 3 or first == last):
            rest += 1
        elif first < last:
            first += 1
            rest = max(first, rest - 1)
        else:
            return forms


def _fit(layers: Sequence[Cells], forms: Sequence[Form], room: int) -> bool:
    return all(sum(map(weigh, layers, forms)) <= room for weigh in (Cells.least, Cells.size))


def _parts(side: int) -> int:
    """Return the number of steps from 0 to 1, a round one: uniform attention to `side` tokens is still 15 steps."""
    return next(n for n in (1000, 2000, 5000, 10000, 20000) if n >= 15 * min(side, LARGEST_SIDE))
