"""Sets of small grey drawings with their classes, as in doodles28, and random variations of them for training."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from core.data import doodles
from core.errors import InputError

TURN, SCALE, SHIFT = 0.26, 0.15, 0.14
"""The most that a drawing is turned (radians), made larger or smaller (share), and moved (of half its side)."""


@dataclass(frozen=True)
class Drawings:
    """Pictures (item, row, column), uint8, the index of each one's class (item,), and the names of the classes."""

    pixels: NDArray[np.uint8]
    labels: NDArray[np.uint8]
    classes: tuple[str, ...]

    def first_of_each(self, each: int) -> Drawings:
        """Return a set with the first `each` drawings of each class."""
        kept = np.concatenate([np.flatnonzero(self.labels == i)[:each] for i in range(len(self.classes))])
        return Drawings(self.pixels[kept], self.labels[kept], self.classes)


def read_drawings(path: Path, split: str) -> Drawings:
    """Read one split, "train" or "test", of an .npz file with the arrays classes, x_SPLIT and y_SPLIT.

    A file of test drawings alone may call them x and y, and leave out the classes where they are those of doodles28.
    Raises InputError where it is no such file.
    """
    try:
        with np.load(path, allow_pickle=False) as held:
            end = "" if split == "test" and "x_test" not in held else f"_{split}"
            names = held["classes"] if "classes" in held or end else doodles.NAMES
            found = Drawings(held[f"x{end}"], held[f"y{end}"], tuple(str(name) for name in names))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        found = None
    if found is None or not _is_whole(found):
        alone = ", or x and y alone" if split == "test" else ""
        raise InputError(
            f"{path.name} does not hold {split} drawings.",
            f"It has classes, x_{split} (item row column; 0 to 255) and y_{split} (the number of each class){alone}.",
            "Give the .npz of such a set, like doodles28.npz.",
        )
    return found


def has_split(path: Path, split: str) -> bool:
    """Return whether an .npz file that `read_drawings` accepts has this split, too."""
    with np.load(path, allow_pickle=False) as held:
        return f"x_{split}" in held


def _is_whole(drawings: Drawings) -> bool:
    pixels, labels, n = drawings.pixels, drawings.labels, len(drawings.classes)
    return (
        (pixels.ndim, labels.ndim, pixels.dtype) == (3, 1, np.uint8)
        and len(pixels) == len(labels) > 0
        and np.issubdtype(labels.dtype, np.integer)
        and 0 <= labels.min() <= labels.max() < n
    )


def example_drawings() -> Drawings:
    """Return the six example doodles, each once unchanged and three times varied by `augment`: a set that no model was trained on.

    >>> example_drawings().pixels.shape, example_drawings().classes[example_drawings().labels[7]]
    ((24, 28, 28), 'bicycle')
    """
    own, rng = np.stack([doodles.example(name) for name in doodles.NAMES]), np.random.default_rng(0)
    drawn = np.concatenate([own, *(augment(own, rng) for _ in range(3))])
    return Drawings(drawn, np.arange(len(drawn), dtype=np.uint8) % len(doodles.NAMES), doodles.NAMES)


def augment(pixels: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.uint8]:
    """Return each picture (item, row, column) randomly rotated, scaled, shifted and perhaps mirrored; the area outside a picture counts as black.

    >>> augment(np.zeros((2, 28, 28), dtype=np.uint8), np.random.default_rng(0)).shape
    (2, 28, 28)
    """
    n = len(pixels)
    angle = rng.uniform(-TURN, TURN, n)
    size = rng.uniform(1 - SCALE, 1 + SCALE, (n, 2))
    mirror = rng.choice([-1.0, 1.0], n)
    cos, sin = np.cos(angle), np.sin(angle)
    shift = rng.uniform(-SHIFT, SHIFT, (n, 2))
    map_x = np.stack((cos * size[:, 0] * mirror, -sin * size[:, 1], shift[:, 0]), axis=-1)
    map_y = np.stack((sin * size[:, 0] * mirror, cos * size[:, 1], shift[:, 1]), axis=-1)
    theta = torch.from_numpy(np.stack((map_x, map_y), axis=1)).float()
    given = torch.from_numpy(pixels[:, None].astype(np.float32))
    grid = F.affine_grid(theta, list(given.shape), align_corners=False)
    return F.grid_sample(given, grid, align_corners=False)[:, 0].round().clamp(0, 255).byte().numpy()
