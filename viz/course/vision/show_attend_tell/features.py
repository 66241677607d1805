"""The step on the convolutions: what their filters respond to, low-level and high-level, and where in the scene."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

import core.serving.engine
from core.data.scenes.language import GRID
from core.models.captioner import SIDE, STRIDE
from viz.charts import patches as pictures
from viz.course.exhibit import Folds
from viz.course.vision.show_attend_tell import maths
from viz.course.vision.show_attend_tell.maths import Description
from viz.course.vision.show_attend_tell.params import SLUG, Params
from viz.labels import percent
from viz.widgets import exhibit_parts, page_parts

Array = NDArray[Any]
MAPS = "encoder.maps"
SCENES = 6
"""Features of each kind that are drawn."""


@dataclass(frozen=True, eq=False)
class Features:
    """Filters of both layers and their responses in one scene.

    low (filter row column channel) and high (unit row column channel) are weights; maps (filter row column) are the responses of the
    first layer over the whole scene, units (cell unit) those of the second.
    """

    low: Array
    high: Array
    maps: Array
    units: Array

    @property
    def responding(self) -> Array:
        """Return the indices of the filters that respond anywhere, the strongest first."""
        most = self.maps.max(axis=(1, 2))
        return np.argsort(-most, kind="stable")[: int((most > 0).sum())]

    @property
    def strongest(self) -> Array:
        """Return the indices of the units of the second layer, the strongest response in this scene first."""
        return np.argsort(-self.units.max(axis=0), kind="stable")


@lru_cache(maxsize=16)
def features(text: str) -> Features:
    """Return the filters and what they respond to in a written scene. Raises InputError for what is no scene."""
    model = core.serving.engine.default().open(maths.MODEL)
    found = model.run(text, keep=(MAPS,)).trace[MAPS]
    eye = model.network.encoder
    with torch.inference_mode():
        first, second = eye.first.weight.float(), eye.second
        side = found.shape[-1]
        patterns = F.conv_transpose2d(
            second.weight.float().unflatten(1, (-1, side, side)), first, stride=STRIDE
        )
        units = F.relu(second(torch.from_numpy(np.array(found)).float().flatten(1)))
    whole = found.reshape(GRID, GRID, -1, side, side).transpose(2, 0, 3, 1, 4)
    return Features(
        first.permute(0, 2, 3, 1).numpy(),
        patterns.permute(0, 2, 3, 1).numpy(),
        whole.reshape(len(first), GRID * side, GRID * side),
        units.numpy(),
    )


SHARES = ("fewer than a third", "between one and two thirds", "more than two thirds")


def as_colours(weights: Array) -> Array:
    """Convert weights to colours from 0 to 1, grey for 0.

    >>> as_colours(np.array([[[0.0, -2.0, 1.0]]])).tolist()
    [[[0.5, 0.0, 0.75]]]
    """
    largest = float(np.abs(weights).max()) or 1.0
    return 0.5 + weights / (2 * largest)


def draw(params: Params, data: Description) -> Folds:
    """Draw filters of the first layer, their responses, and patterns of the second layer."""
    found = features(params.text)
    n, active = len(found.low), found.responding
    known = exhibit_parts.predict(
        f"{SLUG}.filters",
        f"The first layer has {n} filters. How many of them respond somewhere in this scene?",
        SHARES,
        SHARES[min(2, int(3 * len(active) / n))],
        f"{len(active)} of {n}. The others respond to colours or edges that this scene does not have.",
    )
    if known:
        low, high = active[:SCENES], found.strongest[:SCENES]
        _row([(f"filter {i}", as_colours(found.low[i])) for i in low], "low", "Filters of the first layer")
        _row(
            [
                (
                    exhibit_parts.by_mode(f"filter {i} responds", f"map {i}"),
                    np.repeat((found.maps[i] / found.maps[i].max())[..., None], 3, -1),
                )
                for i in low
            ],
            "maps",
            "Where in the scene these filters respond",
        )
        _row(
            [
                (exhibit_parts.by_mode(f"second layer, {i}", f"pattern {i}"), as_colours(found.high[i]))
                for i in high
            ],
            "high",
            "Patterns of the second layer",
        )
    else:
        _row([("the scene", data.pixels / 255)], "scene", "The scene")
    empty = np.setdiff1d(np.arange(GRID**2), [thing.cell() for thing in data.scene])
    edges = (found.maps > 0).any(axis=(1, 2)).mean()
    page_parts.summary(
        f"{len(active)} of {n} filters ({percent(edges)}) respond somewhere; the {len(empty)} empty cells are white. A filter reads "
        f"{found.low.shape[1]} × {found.low.shape[2]} pixels, a number of the second layer {SIDE} × {SIDE}."
        if known
        else "Guess first, then the filters are shown."
    )
    return Folds(
        lambda: pd.DataFrame(
            {"largest response": found.maps.max(axis=(1, 2)).round(4)},
            index=[f"filter {i}" for i in range(n)],
        ),
        lambda: {"filters": found.low, "maps": found.maps, "patterns": found.high, "units": found.units},
        {"text": params.text},
        known,
        latex=(r"m_k = \max(0,\, K_k * x + b_k), \qquad f = \max(0,\, W m + b)",),
    )


def _row(images: list[tuple[str, Array]], key: str, alt: str) -> None:
    page_parts.show(
        pictures.reads(images, height=exhibit_parts.by_mode(150, 165)),
        f"{SLUG}.features.{key}",
        f"{alt}: {', '.join(name for name, _ in images)}.",
    )
