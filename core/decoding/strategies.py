"""Strategies of choosing the next token, as frozen data: they can be hashed, written in a link, and replayed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from core.decoding.filters import Filter, MinP, RepetitionPenalty, Temperature, TopK, TopP
from core.errors import InputError

WIDEST = 64
LARGEST_SEED = 2**63 - 1
PENALTIES = 0.01, 100.0


@dataclass(frozen=True)
class Greedy:
    """The strategy of always taking the most probable token: y_t = argmax P(. | y_<t, x) (Ghojogh and Ghodsi 2020, section 3.3.3)."""

    @property
    def filters(self) -> tuple[Filter, ...]:
        return ()

    @property
    def draws(self) -> bool:
        return False


@dataclass(frozen=True)
class Sample:
    """The strategy of sampling the next token from softmax(logits / temperature) after the filters.

    `top_k` keeps the k most probable (0 or None: all), then `top_p` the fewest that together have at least
    that probability (1: all, 0: only the first) (Holtzman et al. 2020), then `min_p` those at least that many times
    as probable as the first (0: all) (Nguyen et al. 2024). Before all this `repetition_penalty` lowers the scores of
    tokens that the text already has (1: nothing) (Keskar et al. 2019): what is being written and its given
    beginning, not the source of a translator. Temperature 0 takes the largest of the penalised scores, without a
    penalty it is greedy. Step t of a decoding draws with a generator seeded by (seed, t), so a replay gives the same
    tokens.

    >>> Sample(temperature=0.8, top_k=40, min_p=0.1, repetition_penalty=1.2).filters
    (RepetitionPenalty(penalty=1.2), Temperature(value=0.8), TopK(k=40), MinP(p=0.1))
    >>> Sample(temperature=-1)
    Traceback (most recent call last):
    core.errors.InputError: The temperature is -1. It is a number from 0 (always the most probable) upwards. Choose 0 to 2.
    """

    temperature: float = 1.0
    top_k: int | None = 0
    top_p: float = 1.0
    seed: int = 0
    min_p: float = 0.0
    repetition_penalty: float = 1.0

    def __post_init__(self) -> None:
        if not _is_number(self.temperature) or self.temperature < 0:
            raise InputError(
                "The temperature is {temperature}.",
                "It is a number from 0 (always the most probable) upwards.",
                "Choose 0 to 2.",
                temperature=self.temperature,
            )
        if self.top_k is not None and (not _is_whole(self.top_k) or self.top_k < 0):
            raise InputError(
                "top-k is {top_k}.",
                "It is a whole number of tokens to keep, 0 for all.",
                "Choose 0, or 1 and more.",
                top_k=self.top_k,
            )
        if not _is_number(self.top_p) or not 0 <= self.top_p <= 1:
            raise InputError(
                "top-p is {top_p}.",
                "It is a probability: the tokens kept have at least that much together.",
                "Choose 0 to 1; 1 keeps all.",
                top_p=self.top_p,
            )
        if not _is_whole(self.seed) or not 0 <= self.seed <= LARGEST_SEED:
            raise InputError(
                "The seed is {seed}.",
                "It is a whole number from 0 to {largest_seed:,}.",
                "Choose another number.",
                seed=self.seed,
                largest_seed=LARGEST_SEED,
            )
        if not _is_number(self.min_p) or not 0 <= self.min_p <= 1:
            raise InputError(
                "min-p is {min_p}.",
                "It is a share: the tokens kept have at least that part of the largest probability.",
                "Choose 0 to 1; 0 keeps all.",
                min_p=self.min_p,
            )
        low, high = PENALTIES
        if not _is_number(self.repetition_penalty) or not low <= self.repetition_penalty <= high:
            raise InputError(
                "The repetition penalty is {repetition_penalty}.",
                "It is a number from {low:g} to {high:g}; 1 changes nothing, above 1 repeating becomes rarer.",
                "Choose 1 to 1.5.",
                repetition_penalty=self.repetition_penalty,
                low=low,
                high=high,
            )

    @property
    def draws(self) -> bool:
        return self.temperature > 0

    @property
    def filters(self) -> tuple[Filter, ...]:
        """Return the filters of the logits, in order, without those that change nothing."""
        penalty = (RepetitionPenalty(float(self.repetition_penalty)),) if self.repetition_penalty != 1 else ()
        if not self.draws:
            return penalty
        return (
            *penalty,
            *([Temperature(float(self.temperature))] if self.temperature != 1 else []),
            *([TopK(self.top_k)] if self.top_k else []),
            *([TopP(float(self.top_p))] if self.top_p < 1 else []),
            *([MinP(float(self.min_p))] if self.min_p > 0 else []),
        )


@dataclass(frozen=True)
class Beam:
    """The strategy of keeping the `width` best beginnings at once; the best text has the largest sum of log p / length ** length_penalty.

    The length counts END; 0 prefers short texts, 1 is the mean a token. With `early_stopping` the search ends when
    `width` texts are finished, without it when no open one can still pass the worst of them (estimated, as usual, at the present
    length).

    Diverse beam search (Vijayakumar et al. 2018, with Hamming diversity): the width is divided into `groups`
    that search one after the other within each step, each a beam of its own. What the earlier groups have just
    written costs a later one: `diversity` for each of their texts that took the same token. The cost is carried
    along with the text, as fairseq and transformers do, so that a score is (sum of log p - costs) / length **
    length_penalty. With one group, or diversity 0, nothing is taken off.

    >>> Beam(width=6, groups=4)
    Traceback (most recent call last):
    core.errors.InputError: A width of 6 is not divided by 4 groups. All groups have the same width. Choose 1, 2, 3 or 6 groups.
    """

    width: int = 4
    length_penalty: float = 1.0
    early_stopping: bool = True
    groups: int = 1
    diversity: float = 0.0

    def __post_init__(self) -> None:
        if not _is_whole(self.width) or not 1 <= self.width <= WIDEST:
            raise InputError(
                "The width of the beam is {width}.",
                "A beam carries 1 to {widest} texts side by side.",
                "Choose 4.",
                width=self.width,
                widest=WIDEST,
            )
        if not _is_number(self.length_penalty):
            raise InputError(
                "The length penalty is {length_penalty}.",
                "It is a number.",
                "Choose 0 to 2.",
                length_penalty=self.length_penalty,
            )
        if not isinstance(self.early_stopping, bool):
            raise InputError(
                "Early stopping is {early_stopping}.",
                "It is yes or no.",
                "Choose True or False.",
                early_stopping=self.early_stopping,
            )
        if not _is_whole(self.groups) or self.groups < 1 or self.width % self.groups:
            *some, most = (n for n in range(1, self.width + 1) if not self.width % n)
            raise InputError(
                "A width of {width} is not divided by {groups} groups.",
                "All groups have the same width.",
                "Choose {names} or {most} groups." if some else "Choose 1 group.",
                width=self.width,
                groups=self.groups,
                names=", ".join(map(str, some)),
                most=most,
            )
        if not _is_number(self.diversity) or self.diversity < 0:
            raise InputError(
                "The diversity is {diversity}.",
                "It is what a token costs that an earlier group has just written, 0 or more.",
                "Choose 0 to 1.",
                diversity=self.diversity,
            )


Strategy = Greedy | Sample | Beam


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
