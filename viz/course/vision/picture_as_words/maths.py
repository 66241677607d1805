"""A doodle through vit-doodles and mae-doodles: patches, what each head looks at, what is filled in where patches are hidden."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import core.serving.engine
from core.analysis.attention.aggregate import rollout
from core.data import doodles, patches
from core.maths import softmax
from viz.languages import mark

Array = NDArray[Any]
MODEL, FILLER = "vit-doodles", "mae-doodles"
SIDE = doodles.SIDE
PATCH = 4
"""Side of the patches that both models read."""
SIZES = tuple(size for size in range(2, SIDE) if SIDE % size == 0)
"""Sides of patches that cut a doodle evenly."""
MEAN, ROLLOUT = mark("mean of the heads"), mark("rollout")


@dataclass(frozen=True)
class Reading:
    """One run of the ViT: the chances of its classes, the weights (layer, head, query, key), the rollout (layer, query, key)."""

    pixels: Array
    classes: tuple[str, ...]
    chances: Array
    weights: Array
    rolled: Array

    @property
    def best(self) -> str:
        """Return the class with the highest score."""
        return self.classes[int(self.chances.argmax())]

    def on_ink(self, layer: int) -> float:
        """Return the share of the class token's attention, mean of a layer's heads, on the patches with a line in them."""
        return float(self.looks(layer, MEAN)[0, 1:][inked(self.pixels)].sum())

    def looks(self, layer: int, head: str) -> Array:
        """Return the weights (query, key) of a head of a layer by its number, of their mean, or of the rollout up to this layer."""
        if head == ROLLOUT:
            return self.rolled[layer]
        return self.weights[layer].mean(0) if head == MEAN else self.weights[layer, int(head)]


def read(text: str) -> Reading:
    """Run vit-doodles on a doodle's text."""
    model = core.serving.engine.default().open(MODEL)
    run = model.run(text, keep=("*.pattern", "classes"))
    weights = run.attention("self").weights
    scores = np.asarray(run.trace["classes"], dtype=np.float64)
    return Reading(
        doodles.from_text(text), tuple(model.config.classes), softmax(scores), weights, rollout(weights)
    )


def cut(pixels: Array, size: int) -> list[Array]:
    """Cut a picture into patches, row by row, each (size, size).

    >>> [part.tolist() for part in cut(np.array([[1, 2], [3, 4]], dtype=np.uint8), 1)]
    [[[1]], [[2]], [[3]], [[4]]]
    """
    flat = patches.to_patches(torch.from_numpy(np.array(pixels))[None], size)
    return [part.reshape(size, size).numpy() for part in flat]


def inked(pixels: Array) -> Array:
    """Return for each patch that the models read whether a line passes through it (patch,)."""
    return np.array([part.any() for part in cut(pixels, PATCH)])


def n_tokens(side: int, patch: int) -> int:
    """Count the patches of a square picture, and one for the class token.

    >>> n_tokens(224, 16), n_tokens(28, 4)
    (197, 50)
    """
    return (side // patch) ** 2 + 1


@dataclass(frozen=True)
class Filled:
    """One run of the masked autoencoder: hidden places, what is visible, what is made of it, and the mean squared errors.

    `visible` is NaN where a patch is hidden; `filled` has the drawing's own pixels where it is. Errors are of the hidden
    pixels, from 0, black, to 1, white: of the decoder, and of the mean of the visible patches at each hidden place.
    """

    hidden: tuple[int, ...]
    visible: Array
    filled: Array
    error: float
    of_mean: float


def filled(text: str, share: float, draw: int) -> Filled:
    """Run mae-doodles with a share of the patches hidden, sampled with the seed `draw`."""
    model = core.serving.engine.default().open(FILLER)
    config = model.config
    n, grid = config.n_ctx - 1, (config.side, config.side)
    hidden = patches.sample_hidden(n, share, draw)
    run = model.run(patches.with_hidden_mark(text, hidden), keep=("patches",))
    own = model.reader.encode(patches.with_hidden_mark(text, ())).values
    assert own is not None
    gone = np.isin(np.arange(1, n + 1), hidden)
    true, found = own[1:], np.clip(np.asarray(run.trace["patches"])[1:], -1, 1)
    mean = true[~gone].mean(0)
    made = np.where(gone[:, None], found, true)
    shown = np.where(gone[:, None], np.nan, true)
    return Filled(
        hidden,
        _joined(shown, grid),
        _joined(made, grid),
        float(np.square(found - true)[gone].mean() / 4) if hidden else 0.0,
        float(np.square(mean - true)[gone].mean() / 4) if hidden else 0.0,
    )


def _joined(rows: Array, grid: tuple[int, int]) -> Array:
    """Join patches to a picture (row column) with values from 0 to 1."""
    found = patches.from_patches(torch.from_numpy(np.ascontiguousarray(rows)), grid)[0].numpy()
    return (found + 1) / 2
