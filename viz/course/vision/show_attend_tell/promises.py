"""The claims of the exhibit on captions, each a condition on the run that a page shows."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from core.data.scenes.language import groups
from viz.course.vision.show_attend_tell import features, judging, maths
from viz.course.vision.show_attend_tell.maths import Description
from viz.course.vision.show_attend_tell.params import Params

MOST, MANY = 0.5, 0.8


@lru_cache(maxsize=2)
def _hard(text: str) -> Counter[str]:
    return maths.hard(text)


def hard_differs(params: Params, data: Description) -> bool:
    """Return whether the samples of hard attention give the soft caption sometimes, and at least two others."""
    found = _hard(params.text)
    return 0 < found[data.sentence] < maths.N_DRAWS and len(found) >= 3


def sampling_follows_the_spread(params: Params, data: Description) -> bool:
    """Return whether the samples of hard attention include the soft caption."""
    found = _hard(params.text)
    return found[data.sentence] > 0 and sum(found.values()) == maths.N_DRAWS


def most_are_right(params: Params, _: object) -> bool:
    """Return whether at least MANY of the scenes get the caption of the grammar, and some do not."""
    right, rows = maths.count_right(params.judge)
    return MANY <= right / len(rows) < 1


GUESS = {
    "the caption is that of the grammar": lambda params, data: data.sentence == data.truth,
    "the word asked about has most of its weight on one group of things": lambda params, data: (
        max(data.on(data.telling, group) for group in groups(data.scene)) >= MOST
    ),
}
WORDS = {
    "each noun has most of its weight on what it names": lambda params, data: (
        bool(data.nouns) and all(data.on(place, group) >= MANY for place, group in data.nouns.items())
    ),
    "the weights of each word sum to 1": lambda params, data: bool(
        (abs(data.weights.sum(1) - 1) < 1e-4).all()
    ),
}
GATES = {
    "the gates of naming words and of words of grammar overlap": lambda params, data: (
        min(each.max() for each in data.gates_by_kind) > max(each.min() for each in data.gates_by_kind)
    ),
    "no weight is the gate: the largest weights and the gates differ": lambda params, data: bool(
        (abs(data.weights.max(1) - data.gates) > 0.05).any()
    ),
}
HARD = {
    "the opening scene gets several captions by hard attention": lambda params, data: (
        bool(params.own) or hard_differs(params, data)
    ),
    "the soft caption is among those of hard attention": sampling_follows_the_spread,
}
JUDGEMENTS = {"most captions of new scenes are right, not all": most_are_right}
PRINTED = {
    "the slides print captions as right and as mistakes": lambda params, data: (
        len(judging.CAPTIONS) == 2 and all(len(judging.PRINTED[name]) == 6 for name in judging.CAPTIONS)
    ),
}
FEATURES = {
    "some filters respond in this scene, others do not": lambda params, data: (
        features.SCENES
        <= len(features.features(params.text).responding)
        < len(features.features(params.text).low)
    ),
}
