"""Interventions as frozen data: applied before recording, hashable, printable, fit for a URL.

Each edit has `where`, the path (or path pattern, or several with `|` between them) of the value it replaces, and is called
with that value, batch axis included. Heads, queries and keys count from 0; a negative index counts from the end.
`core.edits.serialize` writes edits for a link, `core.edits.describe` says them in words.

>>> ZeroHead("layer.3.self_attn.heads", head=5)
ZeroHead(where='layer.3.self_attn.heads', head=5)
"""

from core.edits.cells import (
    DropToken,
    Forbid,
    ForceCell,
    NoScale,
    SetAllowed,
    SetPattern,
    Temperature,
    Uniform,
)
from core.edits.heads import MeanHead, PatchHead, ScaleHead, ZeroHead
from core.edits.values import AddVector, Function, NoPositions, Patch, ReplaceToken, Scale, SwapPositions

__all__ = [
    "AddVector",
    "DropToken",
    "Forbid",
    "ForceCell",
    "Function",
    "MeanHead",
    "NoPositions",
    "NoScale",
    "Patch",
    "PatchHead",
    "ReplaceToken",
    "Scale",
    "ScaleHead",
    "SetAllowed",
    "SetPattern",
    "SwapPositions",
    "Temperature",
    "Uniform",
    "ZeroHead",
]
