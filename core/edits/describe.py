"""Descriptions of edits: for each one plain sentence without a full stop."""

from __future__ import annotations

import re
from collections.abc import Sequence

from core import edits
from core.trace import Edit

SIDES = (("cross_attn", "cross-attention "), ("encoder", "encoder "), ("decoder", "decoder "))


def describe(edit: Edit, words: Sequence[str] = (), keys: Sequence[str] | None = None) -> str:
    """Return a sentence about the edit; `words` name the rows of its value, `keys` the columns where they are others.

    >>> describe(edits.ZeroHead("layer.1.self_attn.heads", 3))
    'Layer 1, head 3 zero-ablated'
    >>> describe(edits.Forbid("layer.1.self_attn.allowed", query=2, key=0), ["the", "old", "cat"])
    'Layer 1: “the” masked for “cat”'
    """
    keys = words if keys is None else keys
    return _formatted(
        edit, _Where(edit), lambda at: _word(words, at, "row"), lambda at: _word(keys, at, "column")
    )


class _Where:
    """A readable name of an edit's target: 'Layer 3, head 5', 'All layers', 'The encoder's layers'."""

    def __init__(self, edit: Edit) -> None:
        place = edit.where
        side = "" if "|" in place else next((word for sign, word in SIDES if sign in place), "")
        layer = re.search(r"layer\.(\d+)\.", place)
        self.place = f"{side}layer {layer[1]}" if layer and "|" not in place else f"all {side}layers"
        head = getattr(edit, "head", None)
        self.head = f"{self.place}, head {head}" if head is not None else self.place
        self.stack = side.strip()

    def __str__(self) -> str:
        return self.head[0].upper() + self.head[1:]


def _word(words: Sequence[str], index: int | None, noun: str) -> str:
    if index is None:
        return f"any {noun}"
    return (
        f"“{words[index].strip() or words[index]}”"
        if -len(words) <= index < len(words)
        else f"{noun} {index}"
    )


def _formatted(edit, where: _Where, row, column) -> str:
    match edit:
        case edits.ZeroHead():
            return f"{where} zero-ablated"
        case edits.ScaleHead():
            return f"{where} counts {_times(edit.factor)}"
        case edits.MeanHead():
            return f"{where} mean-ablated: its mean over {edit.over or ('other texts' if edit.vector else 'this text')} stands in"
        case edits.PatchHead():
            return f"{where} has the output that it had for {_recipe(edit.recipe)}"
        case edits.Patch():
            return f"The value at {edit.where} is that of {_recipe(edit.recipe)}"
        case edits.Scale():
            return f"The value at {edit.where} counts {_times(edit.factor)}"
        case edits.AddVector():
            return f"A vector is added at {edit.where}" + (
                f", {row(edit.position)}" if edit.position is not None else ""
            )
        case edits.SetAllowed():
            return f"{where}: another mask"
        case edits.Forbid(query=None, key=None):
            return f"{where}: everything masked"
        case edits.Forbid(query=None):
            return f"{where}: {column(edit.key)} masked for all"
        case edits.Forbid(key=None):
            return f"{where}: everything masked for {row(edit.query)}"
        case edits.Forbid():
            return f"{where}: {column(edit.key)} masked for {row(edit.query)}"
        case edits.ForceCell():
            return f"{where}: {row(edit.query)} looks at {column(edit.key)} alone"
        case edits.DropToken():
            return f"Dropped: {column(edit.key)} is masked everywhere"
        case edits.SetPattern():
            return f"{where}: the row of {row(edit.query)} is set by hand"
        case edits.Uniform():
            return f"{where}: uniform attention to all unmasked keys"
        case edits.Temperature():
            return f"{where}: softmax temperature {edit.temperature:g}"
        case edits.NoScale():
            return f"{where}: scores without 1/√{edit.d_head}"
        case edits.NoPositions():
            return f"No positions{' in the ' + where.stack if where.stack else ''}"
        case edits.SwapPositions():
            return f"The positions of {row(edit.first)} and {row(edit.second)} are swapped"
        case edits.ReplaceToken():
            return f"{row(edit.position)} is replaced by “{edit.token.strip() or edit.token}”"
    return f"{type(edit).__name__} at {edit.where}"


def _times(factor: float) -> str:
    return {0.5: "half", 2.0: "double"}.get(factor, f"{factor:g} times")


def _recipe(recipe: tuple[object, ...]) -> str:
    return f"“{recipe[0]}”" if len(recipe) == 1 and isinstance(recipe[0], str) else "another run"
