"""What a visitor takes away, as bytes: link, QR code, data. Pure: no Streamlit."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np
import segno


def link(base: str | None, query: str) -> str:
    """The address of this view.

    >>> link("http://127.0.0.1:8501/masks", "layer=3")
    'http://127.0.0.1:8501/masks?layer=3'
    """
    address = base or "http://127.0.0.1:8501/"
    return f"{address}?{query}" if query else address


def qr(text: str) -> bytes | None:
    """The text as a QR code (PNG), or None when it is too long for one (about 2,900 bytes)."""
    try:
        code = segno.make(text, error="l", micro=False)
    except segno.DataOverflowError:
        return None
    out = io.BytesIO()
    code.save(out, kind="png", scale=6, border=3)
    return out.getvalue()


def npz(arrays: Mapping[str, np.ndarray]) -> bytes:
    """The arrays as a compressed NumPy archive; read it back with numpy.load."""
    out = io.BytesIO()
    ready: dict[str, Any] = {name.replace("/", "."): np.asarray(value) for name, value in arrays.items()}
    np.savez_compressed(out, **ready)
    return out.getvalue()


def csv(arrays: Mapping[str, np.ndarray]) -> str:
    r"""All arrays of numbers in one long table: the array's name, one column an index, the value; yes and no are 1 and 0.

    Arrays of words are left to the archive: one word would make the column text.

    >>> csv({"w": np.array([[0.25, 0.75]], dtype=np.float32), "keys": np.array(["a", "b"])})
    'array,i0,i1,value\r\nw,0,0,0.25\r\nw,0,1,0.75\r\n'
    """
    numbers = {
        name: np.asarray(value) for name, value in arrays.items() if np.asarray(value).dtype.kind in "biuf"
    }
    ready = {name: value.astype(int) if value.dtype == bool else value for name, value in numbers.items()}
    depth = max((value.ndim for value in ready.values()), default=0)
    rows = [",".join(["array", *(f"i{axis}" for axis in range(depth)), "value"])]
    for name, value in ready.items():
        for index in np.ndindex(value.shape):
            place = [str(i) for i in index] + [""] * (depth - value.ndim)
            rows.append(",".join([_cell(name), *place, _cell(value[index])]))
    return "\r\n".join(rows) + "\r\n"


def _cell(value: object) -> str:
    """One field, quoted where needed; text that a spreadsheet would take for a formula is kept as text."""
    text = repr(float(value)) if isinstance(value, np.floating) else str(value)
    if isinstance(value, str) and text[:1] in ("=", "+", "-", "@", "\t", "\r"):
        text = "'" + text
    if isinstance(value, np.floating):
        text = np.format_float_positional(value, trim="-") if np.isfinite(value) else str(value)
    return '"' + text.replace('"', '""') + '"' if any(sign in text for sign in ',"\n\r') else text
