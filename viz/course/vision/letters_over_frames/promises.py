"""Conditions that make the sentences of the exhibit on letters over frames true, step by step."""

from __future__ import annotations

from functools import cache

import numpy as np

from viz.course.vision.letters_over_frames import maths
from viz.course.vision.letters_over_frames.maths import Heard
from viz.course.vision.letters_over_frames.params import Params
from viz.course.vision.letters_over_frames.steps import asked_letter

in_noise, in_length = cache(maths.in_noise), cache(maths.in_length)
listened = cache(maths.listened)


def _ranks(values: np.ndarray) -> np.ndarray:
    return values.argsort().argsort()


def _diagonal(params: Params, data: Heard) -> bool:
    centres = data.centres
    rank = np.corrcoef(np.arange(len(centres)), _ranks(centres))[0, 1]
    return rank > 0.8 and data.later >= 2 / 3 * (len(centres) - 1)


def _own_word(params: Params, data: Heard) -> bool:
    row = asked_letter(data)
    shares = [data.share(row, word) for word in data.words]
    return data.share(row, data.words[1]) == max(shares) > 0.9


def _follows(params: Params, data: Heard) -> bool:
    other = listened(params.other)
    slope = maths.slope(data, other)
    return slope is not None and abs(slope / (other.length / data.length) - 1) < 0.1


def _quarter(params: Params, data: Heard) -> bool:
    shapes = list(maths.levels(params.text).values())
    return shapes[-1][0] * 2 ** (len(shapes) - 2) == shapes[0][0] and data.weights.shape[1] == shapes[-1][0]


GUESS = {
    "the first letter of the second word has most weight on that word": _own_word,
    "the sound is spelled correctly": lambda params, data: data.output == data.transcript,
}
DIAGONAL = {
    "letter and mean second have a rank correlation of at least 0.8, two thirds look later": _diagonal,
    "of the letters of words nine tenths have most of their word weight on their own word": (
        lambda params, data: maths.on_own_word(data) >= 0.9
    ),
}
STRETCH = {"the weights follow the speed, within a tenth": _follows}
PYRAMID = {"a quarter of the frames is left": _quarter}
NOISE = {
    "noise of the training costs nothing, noise as loud as speech most letters": lambda params, data: (
        max((found := in_noise(params.seed).rates)[:-1]) < 0.1 and found[-1] > 0.5
    )
}
LENGTH = {
    "up to six words nearly all letters are right, at twelve a third or more is wrong": lambda params, data: (
        max((found := in_length(params.seed).rates)[:3]) < 0.1 and found[-1] > 0.3
    )
}
