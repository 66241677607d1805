"""Measures of attention over the patches of a picture, in place of those of words.

Patches are known by their names, row and column from 1 on (`core.data.patches`); the class token has none, nor has DeiT's distillation token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np

from core.analysis.attention.measures import normalised_entropy
from core.data.patches import SPECIAL_TOKENS
from core.run import Attention, Run

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


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
CELL_MEASURES = (CLASS, ITSELF, NEAR, ROW, COLUMN, INK, GROUND)
"""Measures that are weight on some cells."""
INK_THRESHOLD = -0.9
"""A patch has a line on it where a number in it is above this; black is -1."""


def patch_coordinates(names: Sequence[str]) -> Float[Array, "pos 2"]:
    """Return row and column of each name; NaN for the class token.

    >>> patch_coordinates(("class", "1,2", "3,1 hidden")).tolist()
    [[nan, nan], [1.0, 2.0], [3.0, 1.0]]
    """
    parts = [name.removesuffix(" hidden").split(",") for name in names]
    return np.array([[float(p) for p in part] if len(part) == 2 else [np.nan, np.nan] for part in parts])


def are_patches(names: Sequence[str]) -> bool:
    """Return whether these are the names of patches, beginning with the class token.

    >>> are_patches(("class", "1,1")), are_patches(("The", "cat"))
    (True, False)
    """
    return bool(names) and names[0].removesuffix(" hidden") == "class"


def patches_with_ink(run: Run) -> Bool[Array, " pos"]:
    """Return which visible patches of a run have a line on them."""
    values = run.side.values
    assert values is not None
    first = run.model.config.first
    seen = np.array([first <= index < len(values) for index in run.side.ids])
    return (values > INK_THRESHOLD).any(-1) & seen


def patch_distances(names: Sequence[str]) -> Float[Array, "query key"]:
    """Return the distance of each pair of patches, in patches from centre to centre; NaN from or to the class token."""
    at = patch_coordinates(names)
    return np.linalg.norm(at[:, None] - at[None], axis=-1)


def measured_cells(names: Sequence[str], ink: Bool[Array, " key"]) -> dict[str, Bool[Array, "query key"]]:
    """Return the cells that each measure counts; rows in which it counts none are left out of its mean.

    Ground is what is seen without a line on it. A patch's neighbours are the eight around it; its row and its column are those without itself.
    """
    at, n = patch_coordinates(names), len(names)
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


def measure_rows(
    attention: Attention, name: str, ink: Bool[Array, " key"]
) -> Float[Array, "layer head query"]:
    """Compute a measure of every head for each row, NaN for rows that it leaves out.

    `FAR` is the mean distance in patches, weighted by attention, over the picture's diagonal: rows of patches, weight on the
    class token left out (Dosovitskiy et al. 2021, 4.5 and figure 7; they measure it in pixels).
    """
    w = attention.weights
    if name == FAR:
        far = patch_distances(attention.keys)
        known = ~np.isnan(far)
        total = (w * known).sum(-1)
        mean = (w * np.nan_to_num(far)).sum(-1) / np.maximum(total, 1e-9)
        return np.where(known.any(-1), mean / np.nanmax(far), np.nan)
    counted = measured_cells(attention.keys, ink)[name]
    return np.where(counted.any(-1), (w * counted).sum(-1), np.nan)


def mean_patch_distance(weights: Float[Array, "*batch query key"]) -> Float[Array, "*batch"]:
    """Compute the mean distance of each head in patches, from patterns of a class token, or one more, and a square of patches.

    >>> round(float(mean_patch_distance(np.full((1, 1, 5, 5), 0.2))[0, 0]), 3)
    0.854
    """
    side = isqrt(weights.shape[-1] - 1)
    names = (
        *SPECIAL_TOKENS[: weights.shape[-1] - side**2],
        *(f"{row},{column}" for row in range(side) for column in range(side)),
    )
    far = patch_distances(names)
    known = ~np.isnan(far)
    mean = (weights * np.nan_to_num(far)).sum(-1) / np.maximum((weights * known).sum(-1), 1e-9)
    return mean[..., known.any(-1)].mean(-1)


def _mean_of_numbers(rows: Array) -> Array:
    """Return the mean over the last axis of what is not NaN; NaN where nothing is, as for the lines of a blank picture.

    >>> _mean_of_numbers(np.array([[[0.5, np.nan], [np.nan, np.nan], [1.0, 2.0]]])).tolist()
    [[0.5, nan, 1.5]]
    """
    numbers = ~np.isnan(rows)
    count = numbers.sum(-1)
    return np.where(count > 0, np.where(numbers, rows, 0).sum(-1) / np.maximum(count, 1), np.nan)


def measures(
    run: Run, attention: Attention
) -> tuple[Mapping[str, Float[Array, "layer head"]], Mapping[str, Float[Array, "layer head"]]]:
    """Compute every measure, and as controls what uniform attention would give to lines and ground."""
    ink = patches_with_ink(run)
    scores = {name: _mean_of_numbers(measure_rows(attention, name, ink)) for name in (*CELL_MEASURES, FAR)}
    uniform = attention.allowed / np.maximum(attention.allowed.sum(-1, keepdims=True), 1)
    counted = measured_cells(attention.keys, ink)
    controls = {
        name: np.broadcast_to((uniform * counted[name]).sum(-1).mean(-1), scores[name].shape)
        for name in (INK, GROUND)
    }
    return scores | {"spread": normalised_entropy(attention.weights, attention.allowed)}, controls
