"""Deletion of words or patches in the order of an importance: the sooner the output's number falls, the more the output rests on what comes first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from core.analysis.attribution.ablation_sweep import ModelInput
from core.analysis.attribution.target_token import OutputTarget
from core.analysis.attribution.token_importance import key_mask
from core.data.patches import PatchReader
from core.edits import ReplaceToken
from core.maths import sigmoid
from core.model import Model
from core.trace import Edit

if TYPE_CHECKING:
    from jaxtyping import Float


Array = np.ndarray
BLANK = "blank"
"""The token in place of a patch that is painted over."""


def patch_occlusion(model: Model, place: int) -> ReplaceToken:
    """Return the edit that replaces a patch by a black one (Zeiler and Fergus 2014, occlusion)."""
    return ReplaceToken("embed.token", place, BLANK, model.network.blank())


def key_erasure(model: Model, kind: str, key: int) -> Edit:
    """Return the edit that removes one key: a patch becomes black, a word is masked for all queries."""
    pictures = isinstance(model.reader, PatchReader) and key >= model.reader.n_special
    return patch_occlusion(model, key) if pictures else key_mask(model, kind, key)


def deletion_curve(
    model: Model,
    item: ModelInput,
    output: OutputTarget,
    kind: str,
    values: Float[Array, " key"],
    counts: Sequence[int],
) -> Float[Array, " count"]:
    """Measure the probability of the output without the first 0, 1, .. keys, those with the largest values first.

    `counts` says how many. Of a picture what is no patch is left alone, as the class token: it is no part of it. With a second word or class to
    compare with, the probability is that of the one among the two; of a score it is the score itself. The lower, the more faithful the order (deletion,
    Petsiuk et al. 2018; comprehensiveness, DeYoung et al. 2020).
    """
    order = [int(key) for key in np.argsort(-values, kind="stable")]
    if isinstance(model.reader, PatchReader):
        order = [key for key in order if key >= model.reader.n_special]
    curve = []
    for count in counts:
        edits = tuple(key_erasure(model, kind, key) for key in order[:count])
        value = output.value(item.run(model, keep=(), edits=edits).scores)
        curve.append(
            value
            if output.activation == "none"
            else float(sigmoid(np.array(value)))
            if output.is_score
            else np.exp(value)
        )
    return np.array(curve)


def deletion_counts(n: int, most: int = 9) -> list[int]:
    """Return how many of n keys are deleted at each step: 0, 1 and on to all, closer at the beginning.

    >>> deletion_counts(5), deletion_counts(49)
    ([0, 1, 2, 3, 4, 5], [0, 1, 2, 4, 6, 9, 13, 21, 32, 49])
    """
    if n <= most:
        return list(range(n + 1))
    return [0, *np.unique(np.rint(np.geomspace(1, n, most + 1)).astype(int)).tolist()]


def area_under_curve(counts: Sequence[int], values: Float[Array, " count"]) -> float:
    """Return the mean of a curve over the share that is deleted, from nothing to all: the area below it.

    >>> area_under_curve([0, 1, 2], np.array([1.0, 0.5, 0.0]))
    0.5
    """
    return float(np.trapezoid(values, counts) / counts[-1])
