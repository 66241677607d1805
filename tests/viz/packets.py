"""Packets of instruments as a browser reads them."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
from streamlit.testing.v1 import AppTest

from viz.instruments.kit import component
from viz.instruments.kit.payload import identity
from viz.instruments.kit.rice import BLOCK, ESCAPE
from viz.instruments.mask_editor.mask_editor import edited_mask

_seen: dict[str, bytes] = {}

"""Steady parts of all packets: a later packet of a visit names them without bringing them."""

KB = 1024
SCRIPT = """
import numpy as np, streamlit as st
from viz.instruments import grid, head_view, heatmap, mask_editor, words_view
from viz.instruments.strip.strip import strip
n, causal = {n}, {causal}
words = [f"word{{i % 97}}" for i in range(n)]
w = np.random.default_rng(0).dirichlet(np.full(n, .3), size=n)
may = np.tri(n, dtype=bool) if causal else None
{call}
"""


def opened(data: bytes) -> tuple[dict[str, Any], bytes]:
    """Header and body of a packet, alone or after what boots the page, with what is steady back in the header."""
    boot = int.from_bytes(data[:4], "little")
    if not boot or data[4:6] == b"//":
        data = data[4 + boot :]
    size = int.from_bytes(data[:4], "little")
    header, body = json.loads(data[4 : 4 + size]), data[4 + size :]
    steady = header.pop("steady", None)
    if steady in header["parts"]:
        at, length = header["parts"][steady]
        _seen[steady] = body[at : at + length]
    return (json.loads(_seen[steady]) if steady else {}) | header, body


def packets_of(test: Any) -> list[bytes]:
    """The packets of a page in the order in which they stand on it; one may need a steady part that was sent earlier, with one that stands below."""
    sent = [element.proto.bytes for element in test.get("bidi_component") if element.proto.bytes]
    for data in sent:
        with contextlib.suppress(KeyError):
            opened(data)
    return sent


def unrun(data: bytes, size: int) -> np.ndarray:
    """Run lengths back to booleans."""
    text = base64.b64encode(data).decode()
    return edited_mask({"base": "b", "runs": text}, np.zeros((1, size), dtype=bool), "b")[0]


def unstepped(data: bytes, total: int) -> np.ndarray:
    """Whole numbers from the bits of steps.py, one by one."""
    blocks = -(-total // BLOCK)
    bits = "".join(f"{byte:08b}" for byte in data[blocks:])
    out, at = [], 0
    for i in range(total):
        k, one = data[i // BLOCK], bits.find("1", at, at + ESCAPE)
        if one < 0:
            out.append(int(bits[at + ESCAPE : at + ESCAPE + 16], 2))
            at += ESCAPE + 16
        else:
            out.append((one - at << k) + int(bits[one + 1 : one + 1 + k] or "0", 2))
            at = one + 1 + k
    return np.array(out, dtype=np.int64)


def carried(*packets: bytes) -> dict[str, bytes]:
    """The parts that these packets bring to the page."""
    found = {}
    for header, body in map(opened, packets):
        found |= {part: body[first : first + length] for part, (first, length, *_) in header["parts"].items()}
    return found


def unpacked(data: bytes, prefix: str = "", page: Sequence[bytes] = ()) -> np.ndarray:
    """A matrix of a packet as the browser rebuilds it, with parts that the other packets of the `page` brought; forbidden cells are 0."""
    header, _ = opened(data)
    held = carried(*page, data)

    def part(name: str) -> bytes:
        return held[header[prefix + name]]

    stack = None if f"{prefix}values" in header else header.get("stack")
    if stack:
        header, prefix = (
            {name[6:]: value for name, value in header.items() if name.startswith("stack.")}
            | stack
            | {"at": header["at"]},
            "",
        )
    kind, step, shape = (header[prefix + name] for name in ("kind", "step", "shape"))
    cells, each = int(np.prod(shape[-2:])), int(np.prod(shape[:-2]))
    may = unrun(part("allowed"), cells) if prefix + "allowed" in header else np.ones(cells, dtype=bool)
    if kind == "steps":
        levels = unstepped(part("values"), int(may.sum()) * each)
        sent = (
            np.where(levels % 2, -(levels + 1) / 2, levels / 2) * step
            if header.get(prefix + "signed")
            else levels * step
        )
        if prefix + "bad" in header:
            sent[~unrun(part("bad"), sent.size)] = np.nan
    else:
        sent = np.frombuffer(part("values"), dtype={"f32": "<f4", "f16": "<f2"}[kind]).astype(np.float64)
    matrix = np.zeros((each, cells))
    matrix[:, may] = sent.reshape(each, -1)
    matrix = matrix.reshape(shape)
    return matrix[tuple(np.ravel(header["at"]))] if stack else matrix


def sent(call: str, n: int = 8, causal: bool = False) -> Any:
    """Three messages: the first of a visit, one of a head that is new when the code is there, and the same head again."""
    at = AppTest.from_string(SCRIPT.format(n=n, causal=causal, call=call)).run(timeout=30)
    assert not at.exception
    first = at.get("bidi_component")[0].proto
    size = first.ByteSize()
    header, _ = opened(first.bytes)
    at.session_state[component._SENT] = {identity(component.BOOT), header["kit"], header["code"]}
    new = at.run(timeout=30).get("bidi_component")[0].proto
    again = AppTest.run(at, timeout=30).get("bidi_component")[0].proto.ByteSize()
    return SimpleNamespace(first=size, proto=new, size=new.ByteSize(), again=again)
