"""Claims of the exhibit on costs about its numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from viz.course.transformer.complexity import maths
from viz.course.transformer.complexity.maths import Data
from viz.course.transformer.complexity.params import Params

Promises = Mapping[str, Callable[[Params, Data], bool]]


def meet(params: Params, data: Data) -> bool:
    """Return whether attention multiplies less before the lines meet, more after, and the same there."""
    before, at, after = (
        maths.recurrence(n, params.p, count_all=params.whole).operations
        / maths.attention(n, params.p, count_all=params.whole).operations
        for n in (data.crossing // 2, data.crossing, 2 * data.crossing)
    )
    return before > 1 == at > after


def times_more(params: Params) -> float:
    """Return how many times longer the recorded LSTM takes at the shortest text than at the longest, beside attention."""
    rows = maths.recorded_timings().of_width(params.width)
    return (rows[0].lstm / rows[0].attention) / (rows[-1].lstm / rows[-1].attention)


COUNT: Promises = {
    "attention multiplies less before the lines meet, and more after": meet,
    "against a plain recurrent layer, everything counted, attention multiplies more": lambda params, data: (
        maths.attention(params.n, params.p, count_all=True).operations > 2 * params.n * params.p**2
    ),
}
TABLE: Promises = {
    "one sequential operation against n, a path of one against n - 1": lambda params, data: (
        (data.attention.steps, data.attention.path, data.recurrence.steps, data.recurrence.path)
        == (1, 1, params.n, params.n - 1)
    ),
}
PATH: Promises = {
    "after n - 1 steps that keep 90% a hundredth arrives": lambda params, data: (
        0.9**data.recurrence.path < 0.01
    ),
}
MEMORY: Promises = {
    "a text twice as long has four times as many scores, twice as many states": lambda params, data: (
        maths.score_bytes(2 * params.n) == 4 * maths.score_bytes(params.n)
        and maths.state_bytes(2 * params.n, params.p) == 2 * maths.state_bytes(params.n, params.p)
    ),
}
CLOCK: Promises = {
    "by the clock, too, attention loses ground with the length of the text": lambda params, data: (
        times_more(params) > 1.5
    ),
}
