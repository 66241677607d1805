"""Numbers on their way to the browser: as exact as the budget of a picture allows.

A payload is one `bytes` object: the length of a JSON header (4 bytes, little endian), the header, and
raw parts. A part is named by what it holds (a hash), the header says which part is what, and parts that
the page has already are not sent again: two views of one head cost one copy. Only cells that may be attended to are sent, in row-major
order; which cells those are travels as run lengths (a causal mask of 512 tokens needs 1.5 KB).
Values go as float32 if that fits the budget, else as float16, else as one byte each with the step
stated; the browser prints a value only as exactly as it knows it.

Budgets (bytes a head, square of n tokens): n <= 64: 8 KB, 128: 25 KB, 512: 350 KB.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

LARGEST_SIDE = 1024
OVERHEAD = 2300
"""Bytes that each message costs besides labels and numbers: the loader, names of parts, Streamlit's own."""
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
        '{"kind":"demo","mask":"4cd4a4418b45b24f","needs":["4cd4a4418b45b24f"],"parts":{"4cd4a4418b45b24f":[0,1]}}\\t'
        >>> packet.to_bytes(known=packet.parts)[-11:]
        b'"parts":{}}'
    """

    header: dict[str, Any] = field(default_factory=dict)
    parts: dict[str, bytes] = field(default_factory=dict)

    def add(self, name: str, data: bytes) -> None:
        """Add raw bytes; the header gets `name: id of the part`."""
        part = identity(data)
        self.header[name] = part
        self.parts[part] = data

    def add_matrix(
        self, values: ArrayLike, allowed: ArrayLike | None = None, *, centred: bool = False, spare: int = 0
    ) -> None:
        """Append a (query, key) matrix under the names shape, kind, low, step, bound, values, allowed, bad.

        values: (query, key) floats; `centred` maps one byte onto -bound..bound, otherwise onto 0..1.
        allowed: boolean, broadcastable to values; forbidden cells are not sent.
        spare: bytes of the budget that header and labels need.
        """
        matrix = as_matrix(values)
        may = as_allowed(allowed, matrix.shape)
        sent = matrix[may] if may is not None else matrix.ravel()
        finite = np.isfinite(sent)
        bound = float(np.abs(sent[finite]).max()) if finite.any() else 1.0
        kind = _kind(sent.size, max(matrix.shape), spare, halves=bound < _FLOAT16_SAFE)
        low, step = (-bound, bound / 127 if bound else 1.0) if centred else (0.0, 1 / 255)
        self.header |= {"shape": list(matrix.shape), "kind": kind, "low": low, "step": step, "bound": bound}
        if kind == "u8":
            levels = np.rint((np.where(finite, sent, 0.0) - low) / step).clip(0, 255)
            self.add("values", levels.astype(np.uint8).tobytes())
            if not finite.all():
                self.add("bad", runs(finite))
        else:
            self.add("values", sent.astype("<f4" if kind == "f32" else "<f2").tobytes())
        if may is not None and not may.all():
            self.add("allowed", runs(may))

    def to_bytes(self, known: Collection[str] = ()) -> bytes:
        """Length of the header, header, and the parts that are not `known`: `needs` has all their ids, `parts` {id: [offset, length]}."""
        places, body = {}, bytearray()
        for part, data in self.parts.items():
            if part not in known:
                places[part] = [len(body), len(data)]
                body += data
        header = json.dumps(self.header | {"needs": list(self.parts), "parts": places}, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        return len(header).to_bytes(4, "little") + header + bytes(body)


def identity(data: bytes) -> str:
    """The name of a part: a hash of what it holds."""
    return blake2b(data, digest_size=8).hexdigest()


def _kind(cells: int, side: int, spare: int, *, halves: bool) -> str:
    room = budget(side) - spare
    if cells * 4 <= room:
        return "f32"
    return "f16" if halves and cells * 2 <= room else "u8"


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
