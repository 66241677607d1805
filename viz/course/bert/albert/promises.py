"""Conditions that make the sentences of the exhibit on ALBERT true, step by step."""

from __future__ import annotations

from functools import cache

from viz.course.bert.albert import maths, pairs
from viz.course.bert.albert.maths import Table
from viz.course.bert.albert.order import in_order, preferred
from viz.course.bert.albert.params import NAMES, Params
from viz.course.bert.albert.steps import available_models

learned, counts = cache(pairs.learned), cache(preferred)


def _layers(params: Params) -> dict[str, int]:
    return {choice: maths.counted(choice, params.shape)[0] for choice in NAMES}


FACTORS = {
    "two factors have at most a fifth of the numbers": lambda params, _: (
        5 * params.table.both < params.table.unfactored
    ),
    "the crossing is nearly H": lambda params, _: params.table.even > 0.95 * params.H,
    "at H = 4,096 BERT's table grows with H, ALBERT's by less than a sixth": lambda params, _: (
        (wide := Table(params.V, params.E, 4096)).both < 7 / 6 * params.table.both
        and wide.unfactored > 5 * params.table.unfactored
    ),
}
SHARING = {
    "a shared feed-forward network leaves fewer parameters than shared attention": lambda params, _: (
        (found := _layers(params))["feed-forward"] < found["attention"] < found["none"]
    ),
    "all shared is one layer's parameters": lambda params, _: (
        _layers(params)["all"] == sum(maths.parts(params.shape).values())
    ),
    "a number written into layer 0 is in all layers": lambda params, _: (
        maths.written_into("all", n := maths.SHAPES[params.shape]["n_layers"]) == n
    ),
}


def _classifies_own_pair(params: Params) -> bool:
    return in_order(params.a, params.b) > 0.5 > in_order(params.b, params.a)


ORDER = {
    "a bag of words finds the next sentence and not the order": lambda params, _: (
        learned(pairs.NEXT).held_out > 0.75 and learned(pairs.ORDER).held_out == 0.5
    ),
    "the words of the two pairs are the same for order": lambda params, _: (
        (two := pairs.sample_pairs(pairs.ORDER, params.draw))[0].words == two[1].words
    ),
    "albert-mini classifies both orders of the own pair correctly": lambda params, _: (
        len(available_models()) < 2 or _classifies_own_pair(params)
    ),
    "albert-mini is near chance on the page's pairs": lambda params, _: (
        len(available_models()) < 2 or abs((found := counts())[0] / found[1] - 0.5) < 0.2
    ),
}
