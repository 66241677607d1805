"""Where heads look in a picture: measures of patterns over patches, in place of those of words.

Patches are known by their names, row and column from 1 on (`core.data.patches`); the class token has none, nor has DeiT's distillation token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isqrt

import numpy as np

from core.analysis.attention.measures import spread
from core.data.patches import MARKS
from core.run import Attention, Run

Array = np.ndarray

CLASS, ITSELF, NEAR, ROW, COLUMN, INK, GROUND = (
    "class",
    "own_patch",
    "neighbours",
    "row",
    "column",
    "ink",
    "ground",
)
FAR = "far"
"""The mean distance as a share of the picture's diagonal: it names no head."""
COUNTED = (CLASS, ITSELF, NEAR, ROW, COLUMN, INK, GROUND)
"""Measures that are weight on some cells."""
DARK = -0.9
"""A patch has a line on it where a number in it is above this; black is -1."""


def places(names: Sequence[str]) -> Array:
    """(place, 2): row and column of each name, NaN for the class token.

    >>> places(("class", "1,2", "3,1 hidden")).tolist()
    [[nan, nan], [1.0, 2.0], [3.0, 1.0]]
    """
    parts = [name.removesuffix(" hidden").split(",") for name in names]
    return np.array([[float(p) for p in part] if len(part) == 2 else [np.nan, np.nan] for part in parts])


def on_patches(names: Sequence[str]) -> bool:
    """Whether these are patches, the class token before them.

    >>> on_patches(("class", "1,1")), on_patches(("The", "cat"))
    (True, False)
    """
    return bool(names) and names[0].removesuffix(" hidden") == "class"


def inked(run: Run) -> Array:
    """(place,): which patches that a run sees have a line on them."""
    values = run.side.values
    assert values is not None
    first = run.model.config.first
    seen = np.array([first <= index < len(values) for index in run.side.ids])
    return (values > DARK).any(-1) & seen


def apart(names: Sequence[str]) -> Array:
    """(query, key): how far patches are from each other, in patches from middle to middle; NaN from or to the class token."""
    at = places(names)
    return np.linalg.norm(at[:, None] - at[None], axis=-1)


def cells(names: Sequence[str], ink: Array) -> dict[str, Array]:
    """The cells (query, key) that each measure counts; rows in which it counts none are left out of its mean.

    Ground is what is seen without a line on it. A patch's neighbours are the eight around it; its row and its column are those without itself.
    """
    at, n = places(names), len(names)
    seen = np.array([not name.endswith("hidden") for name in names])
    patch, marked = ~np.isnan(at[:, 0]), np.array([name.removesuffix(" hidden") == "class" for name in names])
    both = patch[:, None] & patch[None]
    near = np.nan_to_num(np.abs(at[:, None] - at[None]).max(-1), nan=np.inf)
    own = np.eye(n, dtype=bool) & both
    return {
        CLASS: patch[:, None] & marked[None],
        ITSELF: own,
        NEAR: both & (near == 1),
        ROW: both & (at[:, None, 0] == at[None, :, 0]) & ~own,
        COLUMN: both & (at[:, None, 1] == at[None, :, 1]) & ~own,
        INK: np.broadcast_to(ink, (n, n)),
        GROUND: np.broadcast_to(patch & seen & ~ink, (n, n)),
    }


def each_row(attention: Attention, name: str, ink: Array) -> Array:
    """Return a measure of every head for each row: (layer, head, query), NaN for rows that it leaves out.

    `FAR` is the mean distance in patches, weighted by attention, over the picture's diagonal: rows of patches, weight on the
    class token left out (Dosovitskiy et al. 2021, 4.5 and figure 7; they measure it in pixels).
    """
    w = attention.weights
    if name == FAR:
        far = apart(attention.keys)
        known = ~np.isnan(far)
        total = (w * known).sum(-1)
        mean = (w * np.nan_to_num(far)).sum(-1) / np.maximum(total, 1e-9)
        return np.where(known.any(-1), mean / np.nanmax(far), np.nan)
    counted = cells(attention.keys, ink)[name]
    return np.where(counted.any(-1), (w * counted).sum(-1), np.nan)


def mean_distance(weights: Array) -> Array:
    """The mean distance in patches of each head, (layer, head), from patterns of a class token, or one more, and a square of patches.

    >>> round(float(mean_distance(np.full((1, 1, 5, 5), 0.2))[0, 0]), 3)
    0.854
    """
    side = isqrt(weights.shape[-1] - 1)
    names = (
        *MARKS[: weights.shape[-1] - side**2],
        *(f"{row},{column}" for row in range(side) for column in range(side)),
    )
    far = apart(names)
    known = ~np.isnan(far)
    mean = (weights * np.nan_to_num(far)).sum(-1) / np.maximum((weights * known).sum(-1), 1e-9)
    return mean[..., known.any(-1)].mean(-1)


def _mean_of_numbers(rows: Array) -> Array:
    """Return the mean over the last axis of what is not NaN; NaN where nothing is, as for the lines of a blank picture."""
    numbers = ~np.isnan(rows)
    count = numbers.sum(-1)
    return np.where(count > 0, np.where(numbers, rows, 0).sum(-1) / np.maximum(count, 1), np.nan)


def measures(run: Run, attention: Attention) -> tuple[Mapping[str, Array], Mapping[str, Array]]:
    """Every measure, (layer, head) each, and what uniform attention would give to lines and ground: the controls."""
    ink = inked(run)
    found = {name: _mean_of_numbers(each_row(attention, name, ink)) for name in (*COUNTED, FAR)}
    uniform = attention.allowed / np.maximum(attention.allowed.sum(-1, keepdims=True), 1)
    counted = cells(attention.keys, ink)
    controls = {
        name: np.broadcast_to((uniform * counted[name]).sum(-1).mean(-1), found[name].shape)
        for name in (INK, GROUND)
    }
    return found | {"spread": spread(attention.weights, attention.allowed)}, controls
