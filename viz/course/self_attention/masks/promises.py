"""Claims of the exhibit on masks, each a condition on its runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np

from core.serving.engine import RunRequest, default
from viz.course.self_attention.masks import lines, maths, read
from viz.course.self_attention.masks.params import FBI, Params
from viz.course.self_attention.masks.read import Head, MaskedHead
from viz.course.shared import masks

Promises = Mapping[str, Callable[[Params, Head], bool]]
CHANCE = 0.03
"""Largest distance from chance of an accuracy measured on 4,000 lists."""


def by_chance(shares: np.ndarray | float, digits: int) -> bool:
    """Return whether accuracies are those of chance."""
    return bool(np.abs(np.asarray(shares) - 1 / digits).max() < CHANCE)


@cache
def learned(sees: str, digits: int, draw: int) -> maths.Learned:
    """Return the model trained with this part of the list visible."""
    return maths.learned(sees, digits, draw)


def looks_ahead(params: Params, _: object) -> bool:
    """Return whether a model that sees the next digit copies it, and one that does not guesses."""
    found = learned(params.sees, params.digits, params.draw)
    return by_chance(found.inside, params.digits) if params.sees == "past" else found.inside >= 0.95


def writes_by_chance(params: Params, _: object) -> bool:
    """Return whether the model is no better than chance where it has to write."""
    found = learned(params.sees, params.digits, params.draw)
    return by_chance(found.writing, params.digits)


def forms(params: Params, data: Head) -> tuple[read.HeadMatrices, maths.Form, maths.Form]:
    """Return what is read of the sentence, its sums line by line, and the same by a mask."""
    found = read.reading(params.text, data, unmasked=params.lifted)
    n = len(found.words)
    may = np.ones((n, n), bool) if params.lifted else np.tri(n, dtype=bool)
    return (
        found,
        maths.prefix_form(found.scores, found.values),
        maths.mask_form(found.scores, found.values, may),
    )


def only_last_line_changes(params: Params, data: Head) -> bool:
    """Check that another last word changes the last line only, or every line where the mask is removed."""
    found = forms(params, data)[0]
    return int((found.changes > 0).sum()) == (len(found.words) if params.lifted else 1)


def as_one_product(params: Params, data: Head) -> bool:
    """Return whether the mask gives the numbers of the sums, to the last bit; without it other ones."""
    _, line_by_line, by_mask = forms(params, data)
    largest = max(float(gap.max()) for gap in maths.gaps(line_by_line, by_mask))
    return largest > 0.05 if params.lifted else largest == 0


def terms(params: Params, data: Head) -> bool:
    """Return whether line i has i terms above 0, and the first a weight of 1."""
    weights = forms(params, data)[1].weights
    return weights[0, 0] == 1 and ((weights > 0).sum(1) == np.arange(1, len(weights) + 1)).all()


def remembered(params: Params, data: Head) -> np.ndarray:
    """Return the weights of the head by words, for the sentence of the documents."""
    run = default().run(RunRequest(read.MODEL, params.example, keep=("*.pattern", "*.allowed")))
    return run.attention("causal", by="word").weights[data.layer, data.head]


def remembers(params: Params, data: Head) -> bool:
    """Return whether three words and more have most of their weight on one earlier word."""
    earlier = np.tril(remembered(params, data), -1).max(1)
    return int((earlier > 0.5).sum()) >= 3


def leaks(params: Params, data: Head) -> tuple[float, float, float]:
    """Return the largest weight on masked words: M before the division, after it, and with minus infinity."""
    found, p = read.reading(params.text, data), int(read.config().d_head)
    may = lines.allowed(params.edge, len(found.words))
    ways = ((params.m, True), (params.m, False), (-np.inf, True))
    before, after = (
        masks.filled(found.scores, may, fill, p=p, inside=inside).worst[1] for fill, inside in ways[:2]
    )
    exact = np.where(
        may, 0, np.nan_to_num(masks.filled(found.scores, may, -np.inf, p=p, inside=True).weights)
    )
    return before, after, float(exact.max())


def leaks_more(params: Params, data: Head) -> bool:
    """Return whether more leaks with M before the division; where a line has nothing allowed, all of it leaks."""
    before, after, _ = leaks(params, data)
    return before > max(0.1, 2 * after) if params.edge == "causal" else abs(before - 1) < 1e-9


def by_the_same_factor(params: Params, data: Head) -> bool:
    """Return whether the other weights of each row grow alike when its largest is masked."""
    found = read.matrices(MaskedHead(params.own, data.layer, data.head, masks.Recipe(params.kind)))
    taken = masks.mask_favourite(found.scores, found.allowed, len(found.tokens) - 1)
    return taken is not None and taken.factor > 1.1 and abs(taken.after / taken.before - taken.factor) < 1e-6


LEAK: Promises = {
    "who sees the next digit is right in 95% and more, who does not by chance": looks_ahead,
    "where it has to write it is right by chance": writes_by_chance,
}
PREFIX: Promises = {"line i has i terms, and the first a weight of 1": terms}
MASK: Promises = {
    "the mask gives the numbers of the sums, to the last bit": as_one_product,
    "another last word changes the last line only, without the mask all": only_last_line_changes,
}
REMEMBER: Promises = {
    "the sentence of the documents has ten lines": lambda params, data: (
        params.example != FBI or len(remembered(params, data)) == 10
    ),
    "three words and more have most of their weight on one earlier word": remembers,
}
EDGES: Promises = {
    "a number M before the division leaks a tenth and more, twice as much as after it": leaks_more,
    "with minus infinity nothing leaks": lambda params, data: leaks(params, data)[2] == 0,
}
EDITOR: Promises = {"a masked word's weight goes to the others by one factor": by_the_same_factor}
