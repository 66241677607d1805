"""Claims of the exhibit on training and inference about its run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice

import numpy as np

from core.serving.engine import default
from viz.course.transformer.training_and_inference import greedy
from viz.course.transformer.training_and_inference.learn import LITTLE
from viz.course.transformer.training_and_inference.parallel_decoder import AtOnce, by_torch
from viz.course.transformer.training_and_inference.params import MODEL, Params
from viz.course.transformer.training_and_inference.steps import words_of
from viz.course.transformer.training_and_inference.teacher_forcing_steps import teach

Promises = Mapping[str, Callable[[Params, AtOnce], bool]]


def lead(values: np.ndarray) -> float:
    """Return how far the largest value is above the next one."""
    ordered = np.sort(values)
    return float(ordered[-1] - ordered[-2])


def words(data: AtOnce) -> np.ndarray:
    """Return the losses of the positions that should predict a word."""
    return data.losses[words_of(data.target)]


def learns(params: Params, _: AtOnce) -> bool:
    """Return whether one step lowers the loss of the pair, and where something is to be learned one position clearly most."""
    model = default().open(MODEL)
    before, after = islice(teach(model, params.text, params.spanish, params.rule, params.rate), 2)
    return after.loss < before.loss and (before.loss < LITTLE or lead(before.losses - after.losses) > 0.01)


def greedy_misses(_: Params, __: AtOnce) -> bool:
    """Return whether greedy begins with the more probable word and ends with the less probable sentence."""
    (first, best), every = greedy.on_paper()
    return (
        first.tokens[0] != best.tokens[0]
        and first.p[0] > best.p[0]
        and best.total > first.total
        and best.total == max(way.total for way in every)
    )


SHIFT: Promises = {
    "each position reads the word before the one that it should predict": lambda params, data: (
        data.read[0] == "START" and data.read[1:] == data.target[:-1]
    ),
    "without the shift the loss is larger by one nat and more": lambda params, data: bool(
        data.unshifted.mean() > data.losses.mean() + 1
    ),
}
ALL_AT_ONCE: Promises = {
    "one word has the largest loss, by 0.01 nats and more": lambda params, data: lead(words(data)) > 0.01,
    "PyTorch's cross-entropy is the mean of the bars": lambda params, data: (
        abs(by_torch(data) - float(data.losses.mean())) < 1e-4
    ),
}
STEP_BY_STEP: Promises = {
    "the logits of training and of inference are the same up to rounding": lambda params, data: bool(
        data.differences.max() < 1e-3
    ),
}
ONE_STEP: Promises = {"one step lowers the loss of the pair, at one position clearly most": learns}
LAST_LAYER: Promises = {
    "one token has the largest probability at the first position, by a tenth and more": lambda params, data: (
        lead(
            np.exp(data.logits[0] - data.logits[0].max())
            / np.exp(data.logits[0] - data.logits[0].max()).sum()
        )
        >= 0.1
    ),
}
NOT_ALWAYS: Promises = {
    "greedy begins with the more probable word and misses the best sentence": greedy_misses
}
