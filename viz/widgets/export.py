"""Exports for visitors, as bytes: link, QR code, data. Pure: no Streamlit."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import segno


def link(base: str | None, query: str) -> str:
    """Return the address of this view.

    >>> link("http://127.0.0.1:8501/masks", "layer=3")
    'http://127.0.0.1:8501/masks?layer=3'
    """
    address = base or "http://127.0.0.1:8501/"
    return f"{address}?{query}" if query else address


def frame(link: str, title: str) -> str:
    """Return the HTML that shows this view in a page of another site.

    >>> frame("/masks?text=a&layer=3", 'Masks: "<b>"')
    '<iframe src="/masks?text=a&amp;layer=3&amp;embed=1" title="Masks: &quot;&lt;b&gt;&quot;" width="100%" height="600" style="border:0" loading="lazy"></iframe>'
    """
    address = f"{link}{'&' if '?' in link else '?'}embed=1"
    return f'<iframe src="{escape(address)}" title="{escape(title)}" width="100%" height="600" style="border:0" loading="lazy"></iframe>'


def qr(text: str) -> bytes | None:
    """Return the text as a QR code (PNG); None when it is too long for one (about 2,900 bytes)."""
    try:
        code = segno.make(text, error="l", micro=False)
    except segno.DataOverflowError:
        return None
    out = io.BytesIO()
    code.save(out, kind="png", scale=6, border=3)
    return out.getvalue()


@dataclass(frozen=True)
class Labelled:
    """An array whose axes have names, each with a label for every index, or None where the index says all."""

    values: np.ndarray
    axes: Mapping[str, Sequence[str] | None]


Arrays = Mapping[str, "np.ndarray | Labelled"]


def npz(arrays: Arrays) -> bytes:
    """Return the arrays as a compressed NumPy archive, for numpy.load. The labels of an axis are stored beside its array, as "array, axis"."""
    out = io.BytesIO()
    ready: dict[str, Any] = {}
    for name, value in arrays.items():
        shown, of = name.replace("/", "."), _labelled(value)
        ready[shown] = of.values
        ready |= {f"{shown}, {axis}": np.array(labels) for axis, labels in of.axes.items() if labels}
    np.savez_compressed(out, **ready)
    return out.getvalue()


def csv(arrays: Arrays) -> str:
    r"""Return all arrays of numbers in one long table: the array's name, one column an axis, the value; yes and no are 1 and 0.

    A column has the name of its axis (i0, i1, ... where it has none), and the labels of the places (else their index).
    Arrays of words are left to the archive: one word would make the column text.

    >>> csv({"bits": Labelled(np.array([0.5, 0.25]), {"head": ["L0.H0", "L0.H1"]})})
    'array,head,value\r\nbits,L0.H0,0.5\r\nbits,L0.H1,0.25\r\n'

    >>> csv({"w": np.array([[0.25, 0.75]], dtype=np.float32), "keys": np.array(["a", "b"])})
    'array,i0,i1,value\r\nw,0,0,0.25\r\nw,0,1,0.75\r\n'
    """
    numbers = {
        name: of for name, value in arrays.items() if (of := _labelled(value)).values.dtype.kind in "biuf"
    }
    columns = list(dict.fromkeys(axis for of in numbers.values() for axis in of.axes))
    rows = [",".join(["array", *map(_cell, columns), "value"])]
    for name, of in numbers.items():
        values = of.values.astype(int) if of.values.dtype == bool else of.values
        for index in np.ndindex(values.shape):
            place = {
                axis: labels[i] if labels else i
                for (axis, labels), i in zip(of.axes.items(), index, strict=True)
            }
            at = (_cell(place[column]) if column in place else "" for column in columns)
            rows.append(",".join([_cell(name), *at, _cell(values[index])]))
    return "\r\n".join(rows) + "\r\n"


def table_csv(frame: pd.DataFrame) -> str:
    r"""Return a table as CSV: a field is quoted where needed, missing numbers are empty, and text that a spreadsheet would take for a formula is kept as text.

    >>> table_csv(pd.DataFrame({"text": ["a, b", "=1+1"], "loss": [0.5, float("nan")]}))
    'text,loss\r\n"a, b",0.5\r\n\'=1+1,\r\n'
    """
    rows = [[*frame.columns], *frame.itertuples(index=False, name=None)]
    written = (",".join("" if value != value else _cell(value) for value in row) for row in rows)
    return "\r\n".join(written) + "\r\n"


def _labelled(value: np.ndarray | Labelled) -> Labelled:
    """Return the array with names for its axes: i0, i1, ... where it has none."""
    if isinstance(value, Labelled):
        return value
    array = np.asarray(value)
    return Labelled(array, {f"i{axis}": None for axis in range(array.ndim)})


def _cell(value: object) -> str:
    """Return one field, quoted where needed; text that a spreadsheet would take for a formula is kept as text."""
    text = repr(float(value)) if isinstance(value, np.floating) else str(value)
    if isinstance(value, str) and text[:1] in ("=", "+", "-", "@", "\t", "\r"):
        text = "'" + text
    if isinstance(value, np.floating):
        text = np.format_float_positional(value, trim="-") if np.isfinite(value) else str(value)
    return '"' + text.replace('"', '""') + '"' if any(sign in text for sign in ',"\n\r') else text
