"""A comparison of two texts with a common beginning: where they part, the probability of each token, and the more probable text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from core.decoding.step import Step


@dataclass(frozen=True)
class ScoredToken:
    """A token and its log-probability given those before it."""

    id: int
    token: str
    logprob: float

    @property
    def p(self) -> float:
        return math.exp(self.logprob)


@dataclass(frozen=True)
class ComparedText:
    """One of the two texts: `tokens` are those after the common ones. All sums are over the whole text.

    logprob = sum of ln p; bits = -logprob / (length ln 2), the mean surprise; score = (logprob - cost) / length **
    length_penalty, None without a penalty. `length` counts END.
    """

    tokens: tuple[ScoredToken, ...]
    logprob: float
    length: int
    bits: float
    cost: float = 0.0
    score: float | None = None


@dataclass(frozen=True)
class Comparison:
    """Two texts: the `common` tokens at the beginning of both, then a and b."""

    common: tuple[ScoredToken, ...]
    a: ComparedText
    b: ComparedText

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
    """Compare two texts by their steps (of a beam: those of `hypothesis_steps`), both after the same prompt.

    With `length_penalty` both get the score of a beam; `costs` are then subtracted from their log-probabilities, for diverse beam search.

    >>> from core.decoding import Beam, counterexample, hypothesis_steps
    >>> from core.decoding.decode import write
    >>> from core.decoding.prompt import Prompt
    >>> prompt = Prompt((), counterexample.Letters(), room=3)
    >>> steps = list(write(counterexample.LookupModel(), prompt, Beam(width=2), 2, {}))
    >>> found = compare(hypothesis_steps(steps, 3, prompt), hypothesis_steps(steps, 4, prompt), length_penalty=1.0)  # bb and aa
    >>> [one.token for one in found.a.tokens], round(math.exp(found.log_ratio), 6), round(found.a.score, 3)
    (['b', 'b'], 1.8, -0.511)
    """
    shared = len(list(takewhile(lambda pair: pair[0].id == pair[1].id, zip(a, b, strict=False))))
    one, other = (
        _side(steps, shared, length_penalty, cost) for steps, cost in zip((a, b), costs, strict=True)
    )
    return Comparison(tuple(map(_token_of, a[:shared])), one, other)


def _side(steps: Sequence[Step], shared: int, length_penalty: float | None, cost: float) -> ComparedText:
    length, logprob = len(steps), math.fsum(step.logprob for step in steps)
    score = None if length_penalty is None or not length else (logprob - cost) / length**length_penalty
    bits = -logprob / (length * math.log(2)) if length else 0.0
    return ComparedText(tuple(map(_token_of, steps[shared:])), logprob, length, bits, cost, score)


def _token_of(step: Step) -> ScoredToken:
    return ScoredToken(step.id, step.token, step.logprob)
