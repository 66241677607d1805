"""Conditions that make the sentences of the exhibit on sentence pairs true, step by step."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from core.run import Run
from core.serving.engine import default
from viz.course.bert.sentence_pairs import next_pairs, next_sentence
from viz.course.bert.sentence_pairs.game import chance_of, truth_of
from viz.course.bert.sentence_pairs.params import EXAMPLES, HALF, MODEL, Params
from viz.course.bert.sentence_pairs.reading import answer_costs, order_of_all

orders, costs = cache(order_of_all), cache(answer_costs)


@cache
def _all() -> np.ndarray:
    pairs = [(row.first, row.second) for row in next_pairs.labelled_pairs()]
    return next_sentence.follows(default().open(MODEL), pairs)


def _shares(run: Run) -> np.ndarray:
    weights, group = run.attention("self").weights, next_sentence.groups(run)
    return next_sentence.blocks(weights, group)


def _sums(params: Params) -> bool:
    rows = [(params.a, params.b)]
    found = next_sentence.loss(default().open(MODEL), rows, [params.follows], params.draw)
    return math.isclose(found.total, found.masked + found.next) and found.masked > found.next


ONE = {
    "bert-mini classifies the pair correctly": lambda params, run: (
        truth_of(params) == (chance_of(params.a, params.b) >= HALF)
    ),
    "the same B behind the other A is less probable by 20 points": lambda params, run: (
        chance_of(*EXAMPLES[0][:2]) > chance_of(*EXAMPLES[1][:2]) + 0.2
    ),
}
SAMPLING = {
    "fifty more draws stay inside the band": lambda params, run: (
        next_pairs.count(next_pairs.draws(params.draw, params.draws)).inside
        and next_pairs.count(next_pairs.draws(params.draw, params.draws + 50)).inside
    )
}
ALL_PAIRS = {
    "more pairs are right than with one answer for all, by two standard deviations": lambda params, run: (
        next_pairs.right(_all(), next_pairs.labelled_pairs(), HALF) - len(_all()) / 2 > math.sqrt(len(_all()))
    ),
    "it outputs “follows” too often": lambda params, run: int((_all() >= HALF).sum()) > 0.7 * len(_all()),
    "another threshold is better": lambda params, run: (
        max(next_pairs.right(_all(), next_pairs.labelled_pairs(), cut / 100) for cut in range(30, 81))
        > next_pairs.right(_all(), next_pairs.labelled_pairs(), HALF)
    ),
}
ATTENTION = {
    "words of A attend more to A than to B": lambda params, run: (
        (mean := _shares(run).mean((0, 1)))[1, 1] > 2 * mean[1, 2]
    ),
    "a head gives nearly everything to [SEP]": lambda params, run: _shares(run)[..., 1, 3].max() > 0.95,
}
LOSS = {
    "masked words cost more than the answer, the loss is the sum": lambda params, run: _sums(params),
    "over 200 random pairs the answers cost less than a coin's": lambda params, run: costs()[0] < math.log(2),
}
SWAPPED = {
    "of all pairs that follow, as many prefer the wrong order": lambda params, run: (
        abs((found := orders())[0] - found[1] / 2) <= 1.5 * math.sqrt(found[1]) / 2
    )
}
