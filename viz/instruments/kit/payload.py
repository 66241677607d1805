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
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viz.instruments.kit.forms import LARGEST_SIDE, Cells, Layer, fitting, runs

EXACT_CELLS = 16_000_000
"""More numbers than these are not sent exactly, even where they are saved: a file says then how exact it is."""
OVERHEAD = 2000
"""Bytes that each message costs besides labels and numbers: the loader, names of parts, Streamlit's own."""
_FIELDS = 420
"""Bytes of the header that each further matrix takes."""
Places = Sequence[int] | Sequence[Sequence[int]]
_LONE = re.compile("[\ud800-\udfff]")


def budget(n: int) -> int:
    """Return the bytes that one head of `n` by `n` tokens may cost.

    Example:
        >>> budget(24), budget(128), budget(512)
        (8192, 25600, 358400)
    """
    if n <= 64:
        return 8 * 1024
    if n <= 128:
        return max(8 * 1024, int(25 * 1024 * (n / 128) ** 2))
    return int(350 * 1024 * (n / 512) ** 2)


@dataclass
class Packet:
    """A header and the parts it names; `to_bytes()` is what the browser gets.

    Example:
        >>> packet = Packet({"kind": "demo"})
        >>> packet.add("mask", runs(np.ones(9, dtype=bool)))
        >>> packet.to_bytes()[4:].decode()
        '{"kind":"demo","mask":"ee1d3d171c43","needs":["ee1d3d171c43"],"parts":{"ee1d3d171c43":[0,1]}}\\t'
        >>> packet.to_bytes(cached=packet.parts)[-11:]
        b'"parts":{}}'
    """

    header: dict[str, Any] = field(default_factory=dict)
    parts: dict[str, bytes] = field(default_factory=dict)
    steady: Collection[str] = ()
    """Names of the header whose values many packets share."""
    deflated: set[str] = field(default_factory=set)
    """Ids of the parts that are inflated in the page (zlib)."""
    exacts: list[Exact] = field(default_factory=list)
    """Functions that put the exact numbers into a packet in place of the rounded ones; until then the header says `exact: false`."""

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

    def with_exact_numbers(self, most: int = EXACT_CELLS) -> Packet:
        """Return the packet with every number unrounded, for a file; the packet itself where these would be more than `most`.

        Example:
            >>> packet = Packet()
            >>> packet.add_matrix(np.random.default_rng(0).random((60, 60)))
            >>> packet.header["kind"], packet.header["exact"], packet.with_exact_numbers().header["kind"], packet.with_exact_numbers(10).header["kind"]
            ('f16', False, 'f32', 'f16')
        """
        if self.header.get("exact", True) or sum(exact.cells for exact in self.exacts) > most:
            return self
        found = replace(self, header=self.header | {"exact": True}, parts=dict(self.parts), exacts=[])
        for exact in self.exacts:
            exact.put(found)
        return found

    def note_rounding(self, cells: int, put: Callable[[Packet], None]) -> None:
        """Note that `cells` numbers of this packet are rounded; `put(packet)` replaces them where they are to be saved."""
        self.header["exact"] = False
        self.exacts.append(Exact(cells, put))

    def add_float32(self, layers: Mapping[str, Layer], allowed: ArrayLike | None) -> None:
        """Add matrices over the same cells unrounded, whatever they cost; the scales in their headers stay."""
        for prefix, layer in layers.items():
            grid = as_matrix(layer.values)
            may = as_allowed(allowed, grid.shape)
            self.header |= {f"{prefix}shape": list(grid.shape), f"{prefix}kind": "f32", f"{prefix}step": 0.0}
            self.add(f"{prefix}values", (grid if may is None else grid[may]).astype("<f4").tobytes())
            if may is not None and not may.all():
                self.add(f"{prefix}allowed", runs(may))

    def add_matrices(
        self, layers: Mapping[str, Layer], allowed: ArrayLike | None = None, *, spare: int = 0
    ) -> None:
        """Add matrices over the same cells, {prefix: layer}, as exact as one budget lets them be; the first comes first."""
        if not layers:
            return
        grids = {prefix: as_matrix(layer.values) for prefix, layer in layers.items()}
        shape = next(iter(grids.values())).shape
        for grid in grids.values():
            if grid.shape != shape:
                raise ValueError(
                    f"one matrix has {grid.shape} (query, key) cells, another {shape}: give both the same"
                )
        may = as_allowed(allowed, shape)
        runs_of_may = runs(may) if may is not None and not may.all() else None
        room = budget(max(shape)) - spare - len(runs_of_may or b"") - _FIELDS * (len(layers) - 1)
        cells = [
            Cells(grid[may] if may is not None else grid.ravel(), layers[prefix], max(shape))
            for prefix, grid in grids.items()
        ]
        forms = fitting(cells, room)
        if any(form != "f32" for form in forms):
            self.note_rounding(
                len(cells) * shape[0] * shape[1], lambda packet: packet.add_float32(layers, allowed)
            )
        for prefix, sent, form in zip(grids, cells, forms, strict=True):
            fields, data, bad = sent.encode(form)
            self.header |= {
                f"{prefix}{name}": value for name, value in ({"shape": list(shape)} | fields).items()
            }
            self.add(f"{prefix}values", data)
            if bad:
                self.add(f"{prefix}bad", bad)
            if runs_of_may is not None:
                self.add(f"{prefix}allowed", runs_of_may)

    def all_parts(self) -> dict[str, bytes]:
        """Return all parts, with the steady fields of the header as one more."""
        if not self.steady:
            return self.parts
        steady = _json({name: self.header[name] for name in self.steady})
        return self.parts | {identity(steady): steady}

    def to_bytes(self, cached: Collection[str] = ()) -> bytes:
        """Return the length of the header, the header, and the parts that the page has not `cached`: `needs` has all their ids,
        `parts` {id: [offset, length]}, and a third number 1 for those that are deflated."""
        whole, places, body = self.all_parts(), {}, bytearray()
        for part, data in whole.items():
            if part not in cached:
                places[part] = [len(body), len(data), 1] if part in self.deflated else [len(body), len(data)]
                body += data
        lively = {name: value for name, value in self.header.items() if name not in self.steady}
        steady = {"steady": next(reversed(whole))} if self.steady else {}
        header = _json(lively | steady | {"needs": list(whole), "parts": places})
        return len(header).to_bytes(4, "little") + header + bytes(body)


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def identity(data: bytes) -> str:
    """Return the name of a part: a hash of its bytes."""
    return blake2b(data, digest_size=6).hexdigest()


_lasting_identity = lru_cache(maxsize=64)(identity)
"""For code and stacks of heads: a hash of 256 KB with each of three packets was a tenth of a rerun's time."""


@dataclass(frozen=True)
class Exact:
    """Numbers that a packet holds rounded: how many, and what puts them in as they are."""

    cells: int
    put: Callable[[Packet], None]


def as_places(special: Places) -> list[list[int]]:
    """Return the positions of special tokens among the queries and among the keys; one list counts for both.

    Example:
        >>> as_places([0, 5]), as_places(((0,), ()))
        ([[0, 5], [0, 5]], [[0], []])
    """
    if any(isinstance(side, Sequence) for side in special):
        return [sorted(set(side)) for side in special]  # pyright: ignore[reportArgumentType]
    return [sorted(set(special))] * 2  # pyright: ignore[reportArgumentType]


def as_matrix(values: ArrayLike) -> NDArray[np.float64]:
    """Return (query, key) floats, at most LARGEST_SIDE each way. Raises ValueError with both numbers for anything else."""
    matrix = np.asarray(values, dtype=np.float64)
    if matrix.ndim != 2:
        raise ValueError(
            f"expected one head, axes (query, key); got {matrix.ndim} axes of shape {matrix.shape}"
        )
    if max(matrix.shape, default=0) > LARGEST_SIDE:
        raise ValueError(
            f"{max(matrix.shape)} tokens on one side; a picture holds {LARGEST_SIDE}: show a window of them"
        )
    return matrix


def as_allowed(allowed: ArrayLike | None, shape: tuple[int, ...]) -> NDArray[np.bool_] | None:
    """Broadcast `allowed` to `shape`; None stays None."""
    return None if allowed is None else np.broadcast_to(np.asarray(allowed, dtype=bool), shape)


def labels(names: Sequence[str], expected: int, axis: str) -> list[str]:
    """Return the labels as plain strings, one per position; lone surrogates become U+FFFD.

    Raises ValueError naming both numbers when there are more or fewer labels than positions.
    """
    if len(names) != expected:
        raise ValueError(f"{len(names)} {axis} labels for {expected} {axis} positions")
    return [_LONE.sub("\ufffd", str(name)) for name in names]
