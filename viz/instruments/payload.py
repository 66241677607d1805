"""Numbers on their way to the browser: as exact as the budget of a picture allows.

A payload is one `bytes` object: the length of a JSON header (4 bytes, little endian), the header, and
raw parts. A part is named by what it holds (a hash), the header says which part is what, and parts that
the page has already are not sent again: two views of one head cost one copy. Fields of the header that stay as they
are while a visitor goes from head to head (labels, names of axes) are a part as well. Only cells that may be attended to are sent, in row-major
order; which cells those are travels as run lengths (a causal mask of 512 tokens needs 1.5 KB).
Values go as float32 if that fits the budget, else as float16, else as whole numbers of a step that is stated
(`steps.py`: few bits each); the browser prints a value only as exactly as it knows it. Several matrices over the same
cells, say weights and scores, share one budget.

Budgets (bytes a head, square of n tokens): n <= 64: 8 KB, 128: 25 KB, 512: 350 KB.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viz.instruments import steps

LARGEST_SIDE = 1024
OVERHEAD = 2000
"""Bytes that each message costs besides labels and numbers: the loader, names of parts, Streamlit's own."""
_FIELDS = 420
"""Bytes of the header that each further matrix takes."""
_FLOAT16_SAFE = 6e4
_LONE = re.compile("[\ud800-\udfff]")


def budget(n: int) -> int:
    """Bytes that one head of `n` by `n` tokens may cost.

    Example:
        >>> budget(24), budget(128), budget(512)
        (8192, 25600, 358400)
    """
    if n <= 64:
        return 8 * 1024
    if n <= 128:
        return max(8 * 1024, int(25 * 1024 * (n / 128) ** 2))
    return int(350 * 1024 * (n / 512) ** 2)


def runs(mask: NDArray[np.bool_]) -> bytes:
    """Run lengths of a flat boolean array, alternating from a True run on, as base-128 varints.

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


@dataclass
class Packet:
    """A header and the parts it names; `to_bytes()` is what the browser gets.

    Example:
        >>> packet = Packet({"kind": "demo"})
        >>> packet.add("mask", runs(np.ones(9, dtype=bool)))
        >>> packet.to_bytes()[4:].decode()
        '{"kind":"demo","mask":"ee1d3d171c43","needs":["ee1d3d171c43"],"parts":{"ee1d3d171c43":[0,1]}}\\t'
        >>> packet.to_bytes(known=packet.parts)[-11:]
        b'"parts":{}}'
    """

    header: dict[str, Any] = field(default_factory=dict)
    parts: dict[str, bytes] = field(default_factory=dict)
    steady: Collection[str] = ()
    """Names of the header whose values many packets share."""
    deflated: set[str] = field(default_factory=set)
    """Ids of the parts that are inflated in the page (zlib)."""

    def add(self, name: str, data: bytes, *, deflated: bool = False, lasting: bool = False) -> None:
        """Add raw bytes; the header gets `name: id of the part`. `lasting`: the same object goes into many packets."""
        part = _lasting_identity(data) if lasting else identity(data)
        self.header[name] = part
        self.parts[part] = data
        if deflated:
            self.deflated.add(part)

    def add_matrix(
        self,
        values: ArrayLike,
        allowed: ArrayLike | None = None,
        *,
        centred: bool = False,
        spare: int = 0,
        prefix: str = "",
    ) -> None:
        """Add a (query, key) matrix under the names shape, kind, step, bound, signed, values, allowed, bad, each after `prefix`.

        values: (query, key) floats; `centred` if they lie around 0 (scores, differences) and not from 0 to 1.
        allowed: boolean, broadcastable to values; forbidden cells are not sent.
        spare: bytes of the budget that header and labels need.
        prefix: goes before each name, so that one packet holds several matrices ("h3." + "values").
        """
        self.add_matrices({prefix: Layer(values, 1.0, centred)}, allowed, spare=spare)

    def add_matrices(self, layers: Mapping[str, Layer], allowed: ArrayLike | None = None, *, spare: int = 0) -> None:
        """Add matrices over the same cells, {prefix: layer}, as exact as one budget lets them be; the first comes first."""
        if not layers:
            return
        grids = {prefix: as_matrix(layer.values) for prefix, layer in layers.items()}
        shape = next(iter(grids.values())).shape
        for grid in grids.values():
            if grid.shape != shape:
                raise ValueError(f"one matrix has {grid.shape} (query, key) cells, another {shape}: give both the same")
        may = as_allowed(allowed, shape)
        runs_of_may = runs(may) if may is not None and not may.all() else None
        room = budget(max(shape)) - spare - len(runs_of_may or b"") - _FIELDS * (len(layers) - 1)
        cells = [
            _Cells(grid[may] if may is not None else grid.ravel(), layers[prefix], max(shape))
            for prefix, grid in grids.items()
        ]
        for prefix, sent, form in zip(grids, cells, _fitting(cells, room), strict=True):
            fields, data, bad = sent.written(form)
            self.header |= {f"{prefix}{name}": value for name, value in ({"shape": list(shape)} | fields).items()}
            self.add(f"{prefix}values", data)
            if bad:
                self.add(f"{prefix}bad", bad)
            if runs_of_may is not None:
                self.add(f"{prefix}allowed", runs_of_may)

    def whole(self) -> dict[str, bytes]:
        """All parts, what is steady in the header among them."""
        if not self.steady:
            return self.parts
        steady = _json({name: self.header[name] for name in self.steady})
        return self.parts | {identity(steady): steady}

    def to_bytes(self, known: Collection[str] = ()) -> bytes:
        """Length of the header, header, and the parts that are not `known`: `needs` has all their ids,
        `parts` {id: [offset, length]}, and a third number 1 for those that are deflated."""
        whole, places, body = self.whole(), {}, bytearray()
        for part, data in whole.items():
            if part not in known:
                places[part] = [len(body), len(data), 1] if part in self.deflated else [len(body), len(data)]
                body += data
        lively = {name: value for name, value in self.header.items() if name not in self.steady}
        steady = {"steady": next(reversed(whole))} if self.steady else {}
        header = _json(lively | steady | {"needs": list(whole), "parts": places})
        return len(header).to_bytes(4, "little") + header + bytes(body)


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def identity(data: bytes) -> str:
    """The name of a part: a hash of what it holds."""
    return blake2b(data, digest_size=6).hexdigest()


_lasting_identity = lru_cache(maxsize=64)(identity)
"""For code and stacks of heads: a hash of 256 KB with each of three packets was a tenth of a rerun's time."""


@dataclass(frozen=True)
class Layer:
    """One matrix to send: (query, key) floats from 0 to `top` (None: to the largest), or `centred` around 0."""

    values: ArrayLike
    top: float | None = None
    centred: bool = False


class _Cells:
    """The cells of one layer that are sent, and the forms that they can take."""

    def __init__(self, sent: NDArray[np.float64], layer: Layer, side: int) -> None:
        self.sent, self.layer = sent, layer
        self.finite = np.isfinite(sent)
        self.whole = bool(self.finite.all())
        self.bound = float(np.abs(sent if self.whole else sent[self.finite]).max(initial=0.0)) or (
            0.0 if self.finite.any() else 1.0
        )
        top = layer.top or self.bound or 1.0
        self.finest = top / 1000 if layer.centred or layer.top is None else 1 / _parts(side)
        self._counted: dict[int, tuple[NDArray[np.uint16], int]] = {}

    def can(self, form: Form) -> bool:
        return form != "f16" or self.bound < _FLOAT16_SAFE

    def least(self, form: Form) -> int:
        """At least so many bytes: twice as coarse a step saves a bit a number at most."""
        if isinstance(form, str):
            return self.sent.size * (4 if form == "f32" else 2)
        known = max((f for f in self._counted if f <= form), default=None)
        return 0 if known is None else self._counted[known][1] - self.sent.size * int(form // known).bit_length() // 8

    def size(self, form: Form) -> int:
        if isinstance(form, str):
            return self.least(form)
        if form not in self._counted:
            levels = self._levels(form)
            self._counted[form] = levels, steps.size(levels) + (0 if self.whole else len(runs(self.finite)))
        return self._counted[form][1]

    def written(self, form: Form) -> tuple[dict[str, Any], bytes, bytes | None]:
        """Header fields, the numbers, and where they are finite if the form cannot say so itself."""
        fields = {"kind": form, "step": 0.0, "bound": self.bound}
        if isinstance(form, str):
            return fields, self.sent.astype("<f4" if form == "f32" else "<f2").tobytes(), None
        self.size(form)
        fields |= {"kind": "steps", "step": self.finest * form, "signed": self.layer.centred}
        return fields, steps.packed(self._counted[form][0]), None if self.whole else runs(self.finite)

    def _levels(self, form: int) -> NDArray[np.uint16]:
        sent = self.sent if self.whole else np.where(self.finite, self.sent, 0.0)
        levels = np.rint(sent * (1 / (self.finest * form))).clip(-32767, 32767).astype(np.int16)
        if self.layer.centred:  # 0, -1, 1, -2, 2 ... as 0, 1, 2, 3, 4 ...
            return (levels << 1 ^ levels >> 15).view(np.uint16)
        return levels.clip(0).view(np.uint16)


Form = str | int
"""How the numbers of a layer are written: "f32", "f16", or in so many of its finest steps each."""
_FORMS: tuple[Form, ...] = ("f32", "f16", 1, 2, 4, 8, 16, 32, 64)
_COARSEST = _FORMS.index(8)
"""The first of several layers gives up no more than this; the others go on to the last form."""


def _fitting(layers: Sequence[_Cells], room: int) -> list[Form]:
    """The most exact forms that fit together: the first layer ahead of the others, by three forms at most."""
    first = rest = 0
    last = _COARSEST if len(layers) > 1 else len(_FORMS) - 1
    while True:
        forms: list[Form] = [_FORMS[first], *[_FORMS[rest]] * (len(layers) - 1)]
        if all(map(_Cells.can, layers, forms)) and _fit(layers, forms, room):
            return forms
        if len(layers) > 1 and rest < len(_FORMS) - 1 and (rest - first < 3 or first == last):
            rest += 1
        elif first < last:
            first += 1
            rest = max(first, rest - 1)
        else:
            return forms


def _fit(layers: Sequence[_Cells], forms: Sequence[Form], room: int) -> bool:
    return all(sum(map(weigh, layers, forms)) <= room for weigh in (_Cells.least, _Cells.size))


def _parts(side: int) -> int:
    """How many steps there are from 0 to 1: so many that an even look at `side` tokens is still 15 steps, a round number."""
    return next(n for n in (1000, 2000, 5000, 10000, 20000) if n >= 15 * min(side, LARGEST_SIDE))


def as_matrix(values: ArrayLike) -> NDArray[np.float64]:
    """(query, key) floats, at most LARGEST_SIDE each way; anything else is a ValueError with both numbers."""
    matrix = np.asarray(values, dtype=np.float64)
    if matrix.ndim != 2:
        raise ValueError(f"expected one head, axes (query, key); got {matrix.ndim} axes of shape {matrix.shape}")
    if max(matrix.shape, default=0) > LARGEST_SIDE:
        raise ValueError(
            f"{max(matrix.shape)} tokens on one side; a picture holds {LARGEST_SIDE}: show a window of them"
        )
    return matrix


def as_allowed(allowed: ArrayLike | None, shape: tuple[int, ...]) -> NDArray[np.bool_] | None:
    """`allowed` broadcast to `shape`, or None."""
    return None if allowed is None else np.broadcast_to(np.asarray(allowed, dtype=bool), shape)


def labels(names: Sequence[str], expected: int, axis: str) -> list[str]:
    """The label list as plain strings, one a position; lone surrogates become U+FFFD.

    Raises ValueError naming both numbers when there are more or fewer labels than positions.
    """
    if len(names) != expected:
        raise ValueError(f"{len(names)} {axis} labels for {expected} {axis} positions")
    return [_LONE.sub("\ufffd", str(name)) for name in names]
