"""Two texts that begin alike: where they part, what each token had, and which of them the model finds more probable."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from core.decoding.step import Step


@dataclass(frozen=True)
class Written:
    """One token and ln p of it behind those before it."""

    id: int
    token: str
    logprob: float

    @property
    def p(self) -> float:
        return math.exp(self.logprob)


@dataclass(frozen=True)
class Side:
    """One of the two: `own` are its tokens behind the common ones. All sums are over the whole text.

    logprob = sum of ln p; bits = -logprob / (length ln 2), the mean surprise; score = (logprob - cost) / length **
    length_penalty, None without a penalty. `length` counts END.
    """

    own: tuple[Written, ...]
    logprob: float
    length: int
    bits: float
    cost: float = 0.0
    score: float | None = None


@dataclass(frozen=True)
class Comparison:
    """`common` tokens stand in both; a and b are what each makes of them."""

    common: tuple[Written, ...]
    a: Side
    b: Side

    @property
    def log_ratio(self) -> float:
        """Return ln (P(a) / P(b)): above 0 the first is more probable."""
        return self.a.logprob - self.b.logprob


def compare(
    a: Sequence[Step],
    b: Sequence[Step],
    length_penalty: float | None = None,
    costs: tuple[float, float] = (0.0, 0.0),
) -> Comparison:
    """Compare two texts by their steps (of a beam: those of `along`), both behind the same prompt.

    `length_penalty` gives them the score of a beam, with what diversity cost each of them taken off.

    >>> from core.decoding import Beam, along, counterexample
    >>> from core.decoding.decode import write
    >>> from core.decoding.prompt import Prompt
    >>> prompt = Prompt((), counterexample.Letters(), room=3)
    >>> steps = list(write(counterexample.OnPaper(), prompt, Beam(width=2), 2, {}))
    >>> found = compare(along(steps, 3, prompt), along(steps, 4, prompt), length_penalty=1.0)  # bb and aa
    >>> [one.token for one in found.a.own], round(math.exp(found.log_ratio), 6), round(found.a.score, 3)
    (['b', 'b'], 1.8, -0.511)
    """
    shared = len(list(takewhile(lambda pair: pair[0].id == pair[1].id, zip(a, b, strict=False))))
    one, other = (
        _side(steps, shared, length_penalty, cost) for steps, cost in zip((a, b), costs, strict=True)
    )
    return Comparison(tuple(map(_token_of, a[:shared])), one, other)


def _side(steps: Sequence[Step], shared: int, length_penalty: float | None, cost: float) -> Side:
    length, logprob = len(steps), math.fsum(step.logprob for step in steps)
    score = None if length_penalty is None or not length else (logprob - cost) / length**length_penalty
    bits = -logprob / (length * math.log(2)) if length else 0.0
    return Side(tuple(map(_token_of, steps[shared:])), logprob, length, bits, cost, score)


def _token_of(step: Step) -> Written:
    return Written(step.id, step.token, step.logprob)
