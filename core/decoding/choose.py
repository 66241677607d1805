"""The choice of one token among the candidates, by a rule or at random, after the filters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from core.decoding.filters import Array, Filter
from core.errors import InputError
from core.maths import log_softmax, softmax

LISTED = 20
"""Candidates that a step lists; the chosen one is always among them."""


@dataclass(frozen=True)
class Candidate:
    """A token that could have come next.

    `before` is its probability as the model gives it, softmax(logits); `after` what it has when temperature and
    filters are done, 0 where one of them cut it; `cut_by` names that filter. `logit` is the model's score, `scores`
    what each of the strategy's filters in turn made of it, `measures` the number that each judged it by.
    """

    id: int
    token: str
    logit: float
    before: float
    after: float
    cut_by: str | None = None
    scores: tuple[float, ...] = ()
    measures: tuple[float, ...] = ()


@dataclass(frozen=True)
class FilterEffect:
    """The effect of one filter, named by `by`: how many tokens it ruled out, and their probability as the model gave it."""

    by: str
    tokens: int
    probability: float


@dataclass(frozen=True)
class SampledNumber:
    """The random number of a draw: `u` fell into [low, high), the chosen token's interval when the probabilities of the remaining tokens fill 0 to 1."""

    u: float
    low: float
    high: float


@dataclass(frozen=True)
class Choice:
    """The choice of one token: its id, the rule that chose it, and the candidates."""

    id: int
    chosen_by: str
    draw: SampledNumber | None
    candidates: tuple[Candidate, ...]
    n_kept: int
    cuts: tuple[FilterEffect, ...]
    logprob: float
    entropy: float
    log_total: float
    log_kept: float | None
    filters: tuple[Filter, ...]

    @property
    def surprise(self) -> float:
        """Return the surprisal of the token, -log2 p, in bits."""
        return -self.logprob / float(np.log(2))


def choose(
    logits: Array,
    name: Callable[[int], str],
    *,
    filters: tuple[Filter, ...] = (),
    ids: Sequence[int] = (),
    seed: tuple[int, int] | None = None,
    forced: int | None = None,
    by: str = "argmax",
) -> Choice:
    """Choose one token of the logits (vocab,): the forced one, one sampled with `seed`, or the largest after the filters.

    Of equals the one with the smallest id is taken. Raises InputError when a logit is not a number.

    >>> choice = choose(np.log([0.2, 0.5, 0.3]), "abc".__getitem__)
    >>> choice.id, choice.candidates[0].token, round(choice.surprise, 4)
    (1, 'b', 1.0)
    """
    before = log_softmax(check_finite(logits))
    left, cut_by, stages = logits, np.full(logits.shape, -1), [logits]
    for number, step in enumerate(filters):
        left = step(left, ids)
        stages.append(left)
        cut_by[np.isneginf(left) & ~np.isneginf(logits) & (cut_by < 0)] = number
    p = np.exp(before)
    after = softmax(left) if filters else p
    draw = None
    if forced is not None:
        taken, by = forced, "forced"
    elif seed is not None:
        taken, draw = _sample(after, seed)
        by = "draw"
    else:
        taken = int(left.argmax())
    listed = _listed(before, taken)
    measured = [step.measure(stage, ids, listed) for step, stage in zip(filters, stages, strict=False)]
    cuts = tuple(
        FilterEffect(step.name, int((cut_by == n).sum()), float(p[cut_by == n].sum()))
        for n, step in enumerate(filters)
    )
    return Choice(
        id=taken,
        chosen_by=by,
        draw=draw,
        candidates=tuple(
            Candidate(
                i,
                name(i),
                float(logits[i]),
                float(p[i]),
                float(after[i]),
                cut_by=filters[c].name if (c := cut_by[i]) >= 0 else None,
                scores=tuple(float(stage[i]) for stage in stages[1:]),
                measures=tuple(float(measure[place]) for measure in measured),
            )
            for place, i in enumerate(listed)
        ),
        n_kept=int((cut_by < 0).sum()),
        cuts=tuple(cut for cut in cuts if cut.tokens),
        logprob=float(before[taken]),
        entropy=float(-(p * np.where(p > 0, before, 0.0)).sum()),
        log_total=float(logits[taken] - before[taken])
        if np.isfinite(logits[taken])
        else float(logits.max() - before.max()),
        log_kept=float(left.max() - log_softmax(left).max()) if filters else None,
        filters=filters,
    )


def check_finite(logits: Array) -> Array:
    """Return the logits (.., vocab) unchanged. Raises InputError when one is NaN or a row has no finite one."""
    if np.isnan(logits).any() or not np.isfinite(logits.max(-1)).all():
        raise InputError(
            "The model's scores are not finite.",
            "The next token is chosen by finite numbers.",
            "Take back the last change of the model.",
        )
    return logits


def largest_indices(scores: Array, n: int) -> list[int]:
    """Return the indices of the n largest scores, descending; of equal ones the first.

    >>> largest_indices(np.array([1.0, 3.0, 3.0, 2.0]), 3)
    [1, 2, 3]
    """
    n = min(n, scores.size)
    top = np.flatnonzero(scores >= np.partition(scores, -n)[-n])
    return [int(place) for place in top[np.lexsort((top, -scores[top]))][:n]]


def _sample(after: Array, seed: tuple[int, int]) -> tuple[int, SampledNumber]:
    """Sample a token with the seed: return its id and the random number. The intervals are laid from 0 to 1 with the most probable token first."""
    kept = np.flatnonzero(after > 0)
    order = kept[np.argsort(-after[kept], kind="stable")]
    edges = np.cumsum(after[order])
    edges = edges / edges[-1]
    u = float(np.random.default_rng(seed).random())
    place = int(np.searchsorted(edges, u, side="right"))
    return int(order[place]), SampledNumber(u, float(edges[place - 1]) if place else 0.0, float(edges[place]))


def _listed(scores: Array, token: int) -> list[int]:
    """Return the ids of the largest scores; `token` is appended if it is not among them."""
    order = largest_indices(scores, LISTED)
    return order if token in order else [*order, token]
