"""Words or patches erased in the order of a reading: the sooner the asked number falls, the more the output rests on what the reading puts first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.analysis.attribution.ablation_sweep import Item
from core.analysis.attribution.target_token import Asked
from core.analysis.attribution.token_importance import hidden_from
from core.data.patches import PatchReader
from core.edits import ReplaceToken
from core.maths import sigmoid
from core.model import Model
from core.trace import Edit

Array = np.ndarray
BLANK = "blank"
"""The token in place of a patch that is painted over."""


def painted_over(model: Model, place: int) -> ReplaceToken:
    """A patch without a line on it, black as the ground of a doodle, in the place of another (Zeiler and Fergus 2014, occlusion)."""
    return ReplaceToken("embed.token", place, BLANK, model.network.blank())


def erased(model: Model, kind: str, key: int) -> Edit:
    """One key gone: a patch is painted over, a word may be looked at by none."""
    pictures = isinstance(model.reader, PatchReader) and key >= model.reader.first
    return painted_over(model, key) if pictures else hidden_from(model, kind, key)


def without_first(
    model: Model, item: Item, asked: Asked, kind: str, values: Array, counts: Sequence[int]
) -> Array:
    """The probability of what is asked without the first 0, 1, .. of the keys, those with the largest values first: (count,).

    `counts` says how many. Of a picture what is no patch is left alone, as the class token: it is no part of it. With a second word or class to
    compare with, the probability is that of the one among the two; of a score it is the score itself. The lower, the more faithful the order (deletion,
    Petsiuk et al. 2018; comprehensiveness, DeYoung et al. 2020).
    """
    order = [int(key) for key in np.argsort(-values, kind="stable")]
    if isinstance(model.reader, PatchReader):
        order = [key for key in order if key >= model.reader.first]
    found = []
    for count in counts:
        edits = tuple(erased(model, kind, key) for key in order[:count])
        value = asked.value(item.run(model, keep=(), edits=edits).scores)
        found.append(
            value
            if asked.activation == "none"
            else float(sigmoid(np.array(value)))
            if asked.is_score
            else np.exp(value)
        )
    return np.array(found)


def counts_of(n: int, most: int = 9) -> list[int]:
    """How many are erased at each step, of n: 0, 1 and on to all, closer at the beginning.

    >>> counts_of(5), counts_of(49)
    ([0, 1, 2, 3, 4, 5], [0, 1, 2, 4, 6, 9, 13, 21, 32, 49])
    """
    if n <= most:
        return list(range(n + 1))
    return [0, *np.unique(np.rint(np.geomspace(1, n, most + 1)).astype(int)).tolist()]


def mean_left(counts: Sequence[int], values: Array) -> float:
    """The mean of a curve over the share that is erased, from nothing to all: the area below it.

    >>> mean_left([0, 1, 2], np.array([1.0, 0.5, 0.0]))
    0.5
    """
    return float(np.trapezoid(values, counts) / counts[-1])
