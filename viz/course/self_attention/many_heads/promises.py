"""Claims of the exhibit on many heads, each a condition on its run."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from core.maths import max_difference
from viz.course.self_attention.many_heads import maths
from viz.course.self_attention.many_heads.maths import Ways
from viz.course.self_attention.many_heads.params import Params

Promises = Mapping[str, Callable[[Params, Ways], bool]]


def stayed(data: Ways) -> int:
    """Return how many numbers of the queries have the same index before and after the split."""
    return int((data.way.q.ravel() == data.way.project.ravel()).sum())


def changes(data: Ways) -> np.ndarray:
    """Return the largest change of each head's output when head 1 is re-initialised."""
    return maths.changed(data.way, data.reinitialised)


def as_measured(params: Params, _: object) -> bool:
    """Return whether the closed form and least squares agree to 0.02, for each number of heads."""
    k = params.wanted
    return all(
        abs(maths.lost_share(k, m) - maths.measured_loss(k, m, params.draw)) < 0.02 for m in range(1, k + 1)
    )


READ: Promises = {
    "a query made from the head's own share of the word is off by a tenth and more": lambda params, data: (
        data.chunk >= 0.1
    ),
}
SPLIT: Promises = {
    "all numbers are still there": lambda params, data: bool(
        (np.sort(data.way.q.ravel()) == np.sort(data.way.project.ravel())).all()
    ),
    "the transpose moves some of them": lambda params, data: stayed(data) < data.way.q.size,
}
ATTEND: Promises = {
    "two heads attend differently, by a tenth and more": lambda params, data: bool(
        np.ptp(data.way.pattern[0], axis=0).max() >= 0.1
    ),
    "every row of every head sums to 1": lambda params, data: bool(
        np.abs(data.way.pattern.sum(-1) - 1).max() < 1e-9
    ),
}
MERGE: Promises = {
    "without the transpose some numbers have a wrong index, and the output is off": lambda params, data: (
        maths.in_place(params.sizes) < params.n * params.d and data.way.off >= 0.1
    ),
}
REDRAW: Promises = {
    "head 1 changes, the others not by a bit": lambda params, data: bool(
        changes(data)[0] >= 0.1 and changes(data)[1:].max() == 0
    ),
    "after W_O every word has changed": lambda params, data: bool(
        (np.abs(data.way.out - data.reinitialised.out).max(-1) > 0).all()
        and max_difference(data.way.out, data.reinitialised.out) > 0.1
    ),
}
SEVERAL: Promises = {
    "the closed form agrees with least squares to 0.02": as_measured,
    "one head loses the same wherever it attends, k heads lose nothing": lambda params, data: (
        max(maths.spreads(params.wanted, params.draw).values())
        - min(maths.spreads(params.wanted, params.draw).values())
        < 0.02
        and maths.lost_share(params.wanted, params.wanted) == 0
    ),
}
