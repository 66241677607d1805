"""Claims of the exhibit on positions, each a condition on its runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np

from viz.course.self_attention.position_criteria import fraction, integer, judge
from viz.course.self_attention.positions import position_ideas, read, without_positions
from viz.course.self_attention.positions.params import RIM, Params
from viz.course.self_attention.positions.steps import PAIRS, ROUNDING, SEEN
from viz.course.shared.positions import Formula

Promises = Mapping[str, Callable[[Params, read.Verdicts], bool]]


@cache
def far_apart(text: str) -> dict[str, np.ndarray]:
    """Return the distance of two copies of a word, layer by layer, in each run."""
    return read.twins(text).lines


@cache
def losses(model: str, text: str, draw: int) -> dict[str, float]:
    """Return the loss of a model as trained, with its positions shuffled, and without them."""
    return {way: each.surprise for way, each in read.measured(model, text, draw).ways.items()}


def twins_alike(params: Params, _: object) -> bool:
    """Return whether two copies of a word are the same without positions, and different with them or a mask."""
    lines = far_apart(params.text)
    others = [line[-1] for name, line in lines.items() if name != read.WITHOUT]
    return bool(lines[read.WITHOUT].max() < ROUNDING and min(others) > 0.05)


def both_fail(params: Params, _: object) -> bool:
    """Return whether the fraction has other steps in another sentence, and the count grows without end."""
    part, count = (judge(code.__name__, code, params.short, params.long) for code in (fraction, integer))
    return (part.consistent, part.bounded, count.consistent, count.bounded) == (False, True, True, False)


def one_keeps_all(_: Params, data: read.Verdicts) -> bool:
    """Return whether the sinusoids keep all criteria, and nothing else does."""
    return [verdict.name for verdict, kept in zip(data.verdicts, data.passes, strict=True) if kept.all()] == [
        "sinusoid"
    ]


def clocks(_: Params, __: object) -> bool:
    """Return whether each clock is ten times slower than the one before, and no two positions look alike."""
    turn = position_ideas.hands(Formula(2 * PAIRS), 1)
    vectors = Formula(2 * PAIRS).table(RIM)
    near = np.linalg.norm(vectors[:, None] - vectors[None], axis=-1) + 9 * np.eye(RIM)
    return np.allclose(turn[:-1] / turn[1:], 10) and near.min() > 0.1


def kept_in_order(params: Params, _: object) -> bool:
    """Return whether a table that was started from sinusoids has kept their order, and the sinusoids have one."""
    table = read.learned(params.table)
    assert table is not None
    waves = position_ideas.neighbours(Formula(table.shape[1]).table(SEEN))
    return waves == 1 and (params.table != "bert-mini" or position_ideas.neighbours(table[:SEEN]) >= 0.9)


def harmed(params: Params, _: object) -> bool:
    """Return whether the model is worse without its positions, and one of the two changes harms clearly more."""
    loss = losses(params.model, params.trained, params.draw)
    removed, shuffled = loss[without_positions.REMOVED], loss[without_positions.SHUFFLED]
    return removed - loss[without_positions.AS_TRAINED] > 0.1 and abs(removed - shuffled) > 0.1


GUESS: Promises = {
    "two copies are one vector without positions; with them, or a mask, they differ": twins_alike
}
TWO_IDEAS: Promises = {"the fraction has another step in each sentence, the count no bound": both_fail}
CRITERIA: Promises = {"the sinusoids keep all criteria, nothing else does": one_keeps_all}
WAVE: Promises = {"each clock is ten times slower, and all together tell every position": clocks}
TABLE: Promises = {"bert-mini's table has kept the order of sinusoids for nine in ten": kept_in_order}
ABLATION: Promises = {
    "without positions the model is worse by 0.1 nats and more, and shuffled it is as clearly another loss": harmed
}
