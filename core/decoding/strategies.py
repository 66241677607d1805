"""How the next token is chosen, as frozen data: it can be hashed, written in a link, and replayed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from core.decoding.filters import Filter, Temperature, TopK, TopP
from core.errors import InputError

WIDEST = 64
LARGEST_SEED = 2**63 - 1


@dataclass(frozen=True)
class Greedy:
    """Always the most probable token: y_t = argmax P(. | y_<t, x) (Ghojogh and Ghodsi 2020, section 3.3.3)."""

    @property
    def filters(self) -> tuple[Filter, ...]:
        return ()

    @property
    def draws(self) -> bool:
        return False


@dataclass(frozen=True)
class Sample:
    """Draw the next token from what the filters leave of softmax(logits / temperature).

    `top_k` keeps the k most probable (0 or None: all), then `top_p` the fewest that together have at least
    that probability (1: all, 0: only the first) (Holtzman et al. 2020). Temperature 0 is greedy. Step t of
    a decoding draws with a generator seeded by (seed, t), so a replay gives the same tokens.

    >>> Sample(temperature=0.8, top_k=40).filters
    (Temperature(value=0.8), TopK(k=40))
    >>> Sample(temperature=-1)
    Traceback (most recent call last):
    core.errors.InputError: The temperature is -1. It is a number from 0 (always the most probable) upwards. Choose 0 to 2.
    """

    temperature: float = 1.0
    top_k: int | None = 0
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not _is_number(self.temperature) or self.temperature < 0:
            rule = "It is a number from 0 (always the most probable) upwards."
            raise InputError(f"The temperature is {self.temperature}.", rule, "Choose 0 to 2.")
        if self.top_k is not None and (not _is_whole(self.top_k) or self.top_k < 0):
            rule = "It is a whole number of tokens to keep, 0 for all."
            raise InputError(f"top-k is {self.top_k}.", rule, "Choose 0, or 1 and more.")
        if not _is_number(self.top_p) or not 0 <= self.top_p <= 1:
            rule = "It is a probability: the tokens kept have at least that much together."
            raise InputError(f"top-p is {self.top_p}.", rule, "Choose 0 to 1; 1 keeps all.")
        if not _is_whole(self.seed) or not 0 <= self.seed <= LARGEST_SEED:
            rule = f"It is a whole number from 0 to {LARGEST_SEED:,}."
            raise InputError(f"The seed is {self.seed}.", rule, "Choose another number.")

    @property
    def draws(self) -> bool:
        return self.temperature > 0

    @property
    def filters(self) -> tuple[Filter, ...]:
        """What happens to the logits, in order; filters that change nothing are left out."""
        if not self.draws:
            return ()
        return (
            *([Temperature(float(self.temperature))] if self.temperature != 1 else []),
            *([TopK(self.top_k)] if self.top_k else []),
            *([TopP(float(self.top_p))] if self.top_p < 1 else []),
        )


@dataclass(frozen=True)
class Beam:
    """Keep the `width` best beginnings side by side; the winner has the best sum of log p / length ** length_penalty.

    The length counts END; 0 prefers short texts, 1 is the mean a token. With `early_stopping` the search ends when
    `width` texts are finished, without it when no open one can pass the worst of them any more (guessed, as everybody
    does, at the present length).
    """

    width: int = 4
    length_penalty: float = 1.0
    early_stopping: bool = True

    def __post_init__(self) -> None:
        if not _is_whole(self.width) or not 1 <= self.width <= WIDEST:
            rule = f"A beam carries 1 to {WIDEST} texts side by side."
            raise InputError(f"The width of the beam is {self.width}.", rule, "Choose 4.")
        if not _is_number(self.length_penalty):
            raise InputError(f"The length penalty is {self.length_penalty}.", "It is a number.", "Choose 0 to 2.")


Strategy = Greedy | Sample | Beam


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
