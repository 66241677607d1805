"""Edits as text: a compact form that fits a link, and a sentence for people.

The form is `name:where:argument:...`, one edit after the other with `;` between. Texts are quoted as in a URL, an argument
that was left out is empty, numbers are written so that they come back exactly.

>>> to_text([edits.ZeroHead("layer.3.self_attn.heads", 5), edits.Forbid("layer.*.allowed", query=4, head=1)])
'zero:layer.3.self_attn.heads:5;forbid:layer.*.allowed:4::1'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any
from urllib.parse import quote, unquote

from torch import Tensor

from core import edits
from core.edits.describe import describe
from core.errors import InputError
from core.trace import Edit
from core.wording import mark

__all__ = ["NAMES", "Source", "describe", "from_text", "to_text"]

NAMES: dict[str, type[Any]] = {
    "zero": edits.ZeroHead,
    "scale": edits.ScaleHead,
    "mean": edits.MeanHead,
    "patch": edits.PatchHead,
    "times": edits.Scale,
    "value": edits.Patch,
    "add": edits.AddVector,
    "mask": edits.SetAllowed,
    "forbid": edits.Forbid,
    "force": edits.ForceCell,
    "drop": edits.DropToken,
    "row": edits.SetPattern,
    "even": edits.Uniform,
    "temperature": edits.Temperature,
    "unscaled": edits.NoScale,
    "placeless": edits.NoPositions,
    "swap": edits.SwapPositions,
    "word": edits.ReplaceToken,
}
"""The name of each edit in a link. `edits.Function` has none."""
Source = Callable[[str, str, int, str], Tensor]
"""Gives the numbers that a link does not hold: (name of the edit, where, head or position, what it says) -> tensor."""

_PATH = re.compile(r"[\w.*?|\[\]!-]+")
_MADE = {
    "patch": ("value", "head", "recipe"),
    "value": ("value", None, "recipe"),
    "word": ("vector", "position", "token"),
}
"""Of the edits that hold a tensor: its field, the field of the index, the field of what it says."""
MOST = 60
"""Letters of a wrong part that an error repeats."""


def to_text(changes: Sequence[Edit]) -> str:
    """Return the edits as compact text. Raises InputError for an edit that has no such form: a function, or a tensor without a recipe of one text.

    >>> to_text([edits.PatchHead("layer.0.self_attn.heads", 1, value=None, recipe=("The cat sat.",))])
    'patch:layer.0.self_attn.heads:1:The%20cat%20sat.'
    """
    return ";".join(map(_formatted, changes))


def from_text(text: str, source: Source | None = None) -> tuple[Any, ...]:
    """Return the edits of a compact text. Raises InputError that names the part which cannot be read.

    `source` gives the numbers of edits that name them only: patches, replaced words, means over other texts.

    >>> from_text("scale:layer.0.self_attn.heads:1:0.5")
    (ScaleHead(where='layer.0.self_attn.heads', head=1, factor=0.5),)
    """
    return tuple(_read(part, source) for part in text.split(";") if part)


def _name(edit: Edit) -> str:
    return next((name for name, kind in NAMES.items() if type(edit) is kind), "")


def _formatted(edit: Edit) -> str:
    name = _name(edit)
    if not name:
        raise InputError(
            "A {name} at '{where}' cannot be written in a link.",
            "A link holds edits that are data.",
            "Use it in a notebook, or one of the other edits.",
            name=type(edit).__name__,
            where=edit.where,
        )
    parts = [name]
    for each in fields(NAMES[name]):
        value = getattr(edit, each.name)
        if isinstance(edit, edits.MeanHead) and each.name == "vector" and edit.over:
            value = None  # what it is the mean of says the same in fewer letters
        if name not in _MADE or each.name != _MADE[name][0]:
            parts.append(_argument(edit, each.name, value))
    return ":".join(parts).rstrip(":")


def _argument(edit: Edit, name: str, value: Any) -> str:
    if value is None:
        return ""
    if name == "where":
        return value
    if name == "recipe":
        if len(value) != 1 or not isinstance(value[0], str):
            raise InputError(
                "The patch at '{where}' cannot be written in a link.",
                "A link holds recipes of one text.",
                "Give recipe=(text,).",
                where=edit.where,
            )
        return quote(value[0], safe="")
    if name == "rows":
        return ",".join("".join("1" if may else "0" for may in row) for row in value)
    if isinstance(value, tuple):
        return ",".join(map(repr, value))
    return quote(value, safe="") if isinstance(value, str) else repr(value)


class _Unread(ValueError):
    """A part of an argument cannot be read: the rule, a message, and its values."""

    def __init__(self, rule: str, **values: str) -> None:
        super().__init__(rule)
        self.values = values


def _read(part: str, source: Source | None) -> Any:
    name, *given = part.split(":")
    kind = NAMES.get(name)
    if kind is None:
        raise _wrong(part, mark("An edit begins with one of {names}."), names=", ".join(NAMES))
    made = _MADE.get(name)
    names = [each.name for each in fields(kind) if made is None or each.name != made[0]]
    if len(given) > len(names):
        raise _wrong(part, mark("'{name}' has {names}."), name=name, names=", ".join(names))
    try:
        values = {field: _value(field, text) for field, text in zip(names, given, strict=False) if text}
    except _Unread as error:
        raise _wrong(part, *error.args, **error.values) from None
    missing = [each for each in names if each not in values and _needed(kind, each)]
    if missing:
        raise _wrong(part, mark("'{name}' needs {names}."), name=name, names=", ".join(missing))
    return kind(**values, **_numbers(name, part, values, source))


def _needed(kind: type[Any], name: str) -> bool:
    """Return whether an argument is required; a recipe is, since it names the origin of the numbers."""
    return name == "recipe" or name not in kind.__dict__  # a default is an attribute of the class


def _numbers(name: str, part: str, values: dict[str, Any], source: Source | None) -> dict[str, Any]:
    """Return the field that a link does not hold, from `source`."""
    if name == "mean":
        if "over" not in values or "vector" in values:
            return {}
        field, index, what = "vector", values["head"], values["over"]
    elif name in _MADE:
        field, index_field, what_field = _MADE[name]
        index, what = values[index_field] if index_field else -1, values[what_field]
    else:
        return {}
    if source is None:
        raise _wrong(
            part, mark("'{name}' takes numbers from another run, and there is none here."), name=name
        )
    found = source(name, values["where"], index, what[0] if isinstance(what, tuple) else what)
    return {field: tuple(found.tolist()) if name == "mean" else found}


def _value(name: str, text: str) -> Any:
    if name == "where":
        if not _PATH.fullmatch(text):
            raise _Unread(mark("{text!r} is no path."), text=text[:MOST])
        return text
    if name in ("token", "over"):
        return unquote(text)
    if name == "recipe":
        return (unquote(text),)
    if name == "rows":
        if set(text) - set("01,"):
            raise _Unread(mark("a mask is rows of 0 and 1 with commas between."))
        return tuple(tuple(sign == "1" for sign in row) for row in text.split(","))
    if name in ("weights", "vector"):
        return tuple(_real(number) for number in text.split(","))
    return _real(text) if name in ("factor", "temperature") else _integer(name, text)


def _real(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise _Unread(mark("{text!r} is no number."), text=text[:MOST]) from None
    if number - number != 0:
        raise _Unread(mark("{text!r} is not finite."), text=text[:MOST])
    return number


def _integer(name: str, text: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,9}", text):
        raise _Unread(mark("{name} is a whole number, not {text!r}."), name=name, text=text[:MOST])
    return int(text)


def _wrong(part: str, rule: str, **values: Any) -> InputError:
    shown = part if len(part) <= MOST else part[:MOST] + "…"
    return InputError(
        "The change '{shown}' cannot be read.",
        rule,
        "Take this part out of the link, or choose the change on the page.",
        shown=shown,
        **values,
    )
