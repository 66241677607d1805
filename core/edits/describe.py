"""Descriptions of edits: for each one plain sentence without a full stop."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from core import edits
from core.trace import Edit

SIDES = ("cross_attn", "encoder", "decoder")
Translate = Callable[..., str]
"""A function of a message and the values of its places; `_` below, so that the messages are found like those of pages."""


def in_english(message: str, **values: object) -> str:
    """Return a message with its places filled in."""
    return message.format(**values) if values else message


def describe(
    edit: Edit,
    words: Sequence[str] = (),
    keys: Sequence[str] | None = None,
    _: Translate = in_english,
) -> str:
    """Return a sentence about the edit; `words` name the rows of its value, `keys` the columns where they are others; `_` translates.

    >>> describe(edits.ZeroHead("layer.1.self_attn.heads", 3))
    'Layer 1, head 3 zero-ablated'
    >>> describe(edits.Forbid("layer.1.self_attn.allowed", query=2, key=0), ["the", "old", "cat"])
    'Layer 1: “the” masked for “cat”'
    """
    keys = words if keys is None else keys

    def row(index: int | None) -> str:
        if index is None:
            return _("any row")
        return _quoted(words, index, _) or _("row {n}", n=index)

    def column(index: int | None) -> str:
        if index is None:
            return _("any column")
        return _quoted(keys, index, _) or _("column {n}", n=index)

    return _formatted(edit, _where(edit, _), row, column, _)


def _side(edit: Edit) -> str:
    """Return which of `SIDES` an edit is on; "" for a model of one stack, or an edit of several."""
    return "" if "|" in edit.where else next((side for side in SIDES if side in edit.where), "")


def _where(edit: Edit, _: Translate) -> str:
    """Return a readable name of an edit's target: 'Layer 3, head 5', 'All layers', 'All encoder layers'."""
    layer = re.search(r"layer\.(\d+)\.", edit.where)
    n = int(layer[1]) if layer and "|" not in edit.where else None
    match _side(edit):
        case "cross_attn":
            place = _("All cross-attention layers") if n is None else _("Cross-attention layer {n}", n=n)
        case "encoder":
            place = _("All encoder layers") if n is None else _("Encoder layer {n}", n=n)
        case "decoder":
            place = _("All decoder layers") if n is None else _("Decoder layer {n}", n=n)
        case _:
            place = _("All layers") if n is None else _("Layer {n}", n=n)
    head = getattr(edit, "head", None)
    return place if head is None else _("{place}, head {head}", place=place, head=head)


def _quoted(words: Sequence[str], index: int, _: Translate) -> str:
    return (
        _("“{word}”", word=words[index].strip() or words[index]) if -len(words) <= index < len(words) else ""
    )


def _formatted(edit, where: str, row, column, _: Translate) -> str:
    match edit:
        case edits.ZeroHead():
            return _("{where} zero-ablated", where=where)
        case edits.ScaleHead():
            return _("{where} counts {times}", where=where, times=_times(edit.factor, _))
        case edits.MeanHead():
            over = _(edit.over) if edit.over else _("other texts") if edit.vector else _("this text")
            return _("{where} mean-ablated: its mean over {texts} stands in", where=where, texts=over)
        case edits.PatchHead():
            source = _recipe(edit.recipe, _)
            return _("{where} has the output that it had for {source}", where=where, source=source)
        case edits.Patch():
            return _(
                "The value at {path} is that of {source}", path=edit.where, source=_recipe(edit.recipe, _)
            )
        case edits.Scale():
            return _("The value at {path} counts {times}", path=edit.where, times=_times(edit.factor, _))
        case edits.AddVector():
            place = "" if edit.position is None else f", {row(edit.position)}"
            return _("A vector is added at {path}", path=edit.where) + place
        case edits.SetAllowed():
            return _("{where}: another mask", where=where)
        case edits.Forbid(query=None, key=None):
            return _("{where}: everything masked", where=where)
        case edits.Forbid(query=None):
            return _("{where}: {key} masked for all", where=where, key=column(edit.key))
        case edits.Forbid(key=None):
            return _("{where}: everything masked for {query}", where=where, query=row(edit.query))
        case edits.Forbid():
            return _(
                "{where}: {key} masked for {query}",
                where=where,
                key=column(edit.key),
                query=row(edit.query),
            )
        case edits.ForceCell():
            return _(
                "{where}: {query} looks at {key} alone",
                where=where,
                query=row(edit.query),
                key=column(edit.key),
            )
        case edits.DropToken():
            return _("Dropped: {key} is masked everywhere", key=column(edit.key))
        case edits.SetPattern():
            return _("{where}: the row of {query} is set by hand", where=where, query=row(edit.query))
        case edits.Uniform():
            return _("{where}: uniform attention to all unmasked keys", where=where)
        case edits.Temperature():
            return _("{where}: softmax temperature {degrees:g}", where=where, degrees=edit.temperature)
        case edits.NoScale():
            return _("{where}: scores without 1/√{width}", where=where, width=edit.d_head)
        case edits.NoPositions():
            stack = _side(edit)
            if stack == "encoder":
                return _("No positions in the encoder")
            return _("No positions in the decoder") if stack == "decoder" else _("No positions")
        case edits.SwapPositions():
            return _(
                "The positions of {one} and {other} are swapped",
                one=row(edit.first),
                other=row(edit.second),
            )
        case edits.ReplaceToken():
            word = edit.token.strip() or edit.token
            return _("{place} is replaced by “{word}”", place=row(edit.position), word=word)
    return f"{type(edit).__name__} at {edit.where}"


def _times(factor: float, _: Translate) -> str:
    if factor == 0.5:
        return _("half")
    return _("double") if factor == 2 else _("{factor:g} times", factor=factor)


def _recipe(recipe: tuple[object, ...], _: Translate) -> str:
    if len(recipe) == 1 and isinstance(recipe[0], str):
        return _("“{word}”", word=recipe[0])
    return _("another run")
