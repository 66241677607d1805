"""Pairs of texts for both objectives, sampled from our own stories, and a classifier that learns them from words alone.

next sentence     c = 1: B follows A        c = 0: B is of another story

sentence order    c = 1: A, B               c = 0: B, A                          (Lan et al. 2020, 3.1)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
import torch
from numpy.typing import NDArray

from core.errors import InputError
from core.text.words import words_in
from core.training.loop.moments import Moments
from viz.course.bert.stories import GAP, stories

Array = NDArray[np.float64]
NEXT, ORDER = TASKS = ("next sentence", "sentence order")
SIDE = 2
"""Sentences of each text of a pair; the last GAP sentences of each story are for measuring alone."""
OTHERS = 20
"""Wrong second texts that are sampled for each first text."""
STEPS, RANK, RATE, DECAY = 60, 64, 0.03, 0.1
LONGEST = 1000


@dataclass(frozen=True)
class Pair:
    """Two texts, and the label: 1 if the second follows, or if they are in their order."""

    first: str
    second: str
    label: int
    stories: tuple[str, str]
    """The stories that the two texts are from."""

    @property
    def words(self) -> Counter[str]:
        """Return the count of each word in the pair, both texts together: the input of the bag of words."""
        return Counter(words(self.first)) + Counter(words(self.second))


@lru_cache(2048)
def words(text: str) -> tuple[str, ...]:
    """Return the words of a text in lower case, without punctuation marks.

    >>> words("She said: no!")
    ('she', 'said', 'no')
    """
    return tuple(word.lower() for word in words_in(text) if word[0].isalnum())


@cache
def neighbours(held_out: bool) -> tuple[Pair, ...]:
    """Return every two neighbouring texts of SIDE sentences within a story: of its beginning, or of its held-out end."""
    found = []
    for name, story in stories().items():
        rows = story[len(story) - GAP :] if held_out else story[: len(story) - GAP]
        for at in range(len(rows) - 2 * SIDE + 1):
            middle = at + SIDE
            texts = (" ".join(rows[at:middle]), " ".join(rows[middle : middle + SIDE]))
            found.append(Pair(*texts, 1, (name, name)))
    return tuple(found)


def wrong(task: str, right: Pair, held_out: bool) -> list[Pair]:
    """Return the pairs with label 0 for a right one: each second text of another story, or the two swapped.

    >>> here = neighbours(True)[0]
    >>> [swapped] = wrong(ORDER, here, True)
    >>> swapped.words == here.words, wrong(NEXT, here, True)[0].words == here.words
    (True, False)
    """
    if task == ORDER:
        return [Pair(right.second, right.first, 0, right.stories)]
    name = right.stories[0]
    others = [pair for pair in neighbours(held_out) if pair.stories[0] != name]
    return [Pair(right.first, pair.second, 0, (name, pair.stories[0])) for pair in others]


def sample_pairs(task: str, draw: int) -> tuple[Pair, Pair]:
    """Sample a right pair of a story's end and a wrong one for it: the same right one for both tasks of one seed."""
    rng = np.random.default_rng(draw)
    rows = neighbours(True)
    right = rows[int(rng.integers(len(rows)))]
    beside = wrong(task, right, True)
    return right, beside[int(rng.integers(len(beside)))]


@dataclass(frozen=True, eq=False)
class Learned:
    """A classifier that learned a task: its accuracy on held-out pairs, that on its training pairs, its vocabulary and its
    score.

    Two pairs with the same score count as a half.
    """

    task: str
    held_out: float
    train: float
    vocabulary: frozenset[str]
    score: Callable[[Sequence[Pair]], Array]
    """log P(1) / P(0) of each pair (pair,)."""


def learned(task: str, draw: int = 0) -> Learned:
    """Train a classifier on the beginnings of our stories and measure it on their ends.

    The counts c become one vector, Q c; it answers by a weighted sum of the squares of its RANK numbers: so it can tell that
    two subjects are mixed. It is given counts, and never an order within a text.

    >>> learned(ORDER).held_out
    0.5
    """
    rng = np.random.default_rng(draw)
    right = neighbours(False)
    bad = [pair for each in right for pair in _some(wrong(task, each, False), OTHERS, rng)]
    names = sorted({word for pair in right for word in pair.words})
    places = {word: at for at, word in enumerate(names)}
    with torch.inference_mode(False), torch.enable_grad():
        scores = _trained(_bags([*right, *bad], places), len(right), draw)

    def score(pairs: Sequence[Pair]) -> Array:
        return scores(_bags(pairs, places)).double().numpy()

    won = [_won(task, held_out, score) for held_out in (True, False)]
    return Learned(task, won[0], won[1], frozenset(names), score)


def _trained(bags: torch.Tensor, n_right: int, draw: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """Learn from bags (pair, word), of which the first `n_right` are right, and return the function that scores them, (pair,)."""
    n = len(bags)
    labels = (torch.arange(n) < n_right).float()
    begin = torch.randn(bags.shape[1], RANK, generator=torch.Generator().manual_seed(draw)) * 0.1
    into, square, bias = (torch.nn.Parameter(value) for value in (begin, torch.ones(RANK), torch.zeros(1)))

    def scores(bag: torch.Tensor) -> torch.Tensor:
        return (bag @ into).square() @ square + bias

    weights = [into, square, bias]
    moments = Moments.zeros_like(weights)
    often = torch.tensor(n / n_right - 1)  # the few right ones count as much as the many wrong ones
    for _ in range(STEPS):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(scores(bags), labels, pos_weight=often)
        slopes = moments.update(list(torch.autograd.grad(loss, weights)))
        with torch.no_grad():
            for weight, slope in zip(weights, slopes, strict=True):
                weight.mul_(1 - RATE * DECAY).sub_(RATE * slope)  # AdamW
    for weight in weights:
        weight.requires_grad_(False)
    return scores


def _some(pairs: list[Pair], most: int, rng: np.random.Generator) -> list[Pair]:
    chosen = rng.choice(len(pairs), min(most, len(pairs)), replace=False)
    return [pairs[at] for at in chosen]


def _won(task: str, held_out: bool, score: Callable[[Sequence[Pair]], Array]) -> float:
    """Return the share of comparisons in which a right pair scores higher than a wrong one for it; the same score is a half."""
    won: list[float] = []
    for right in neighbours(held_out):
        own, *others = score([right, *wrong(task, right, held_out)])
        won += [0.5 if abs(own - other) < 1e-5 else float(own > other) for other in others]
    return float(np.mean(won))


def _bags(pairs: Sequence[Pair], places: Mapping[str, int]) -> torch.Tensor:
    """Return the counts of known words, both texts together (pair, word); each row of length 1."""
    found = np.zeros((len(pairs), len(places)))
    for row, pair in enumerate(pairs):
        for word, n in pair.words.items():
            if word in places:
                found[row, places[word]] = n
    found /= np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)
    return torch.from_numpy(found).float()


def user_pairs(first: str, second: str) -> tuple[Pair, Pair]:
    """Return the visitor's two texts in their order, and swapped. Raises InputError for a text without a word, or a long one."""
    for name, text in (("first", first), ("second", second)):
        if not words(text):
            raise InputError(
                f"The {name} text is empty.", "A pair is two texts with a word each.", "Type a sentence."
            )
        if len(text) > LONGEST:
            raise InputError(
                f"The {name} text has {len(text):,} letters.",
                f"This page reads up to {LONGEST:,}.",
                "Shorten it.",
            )
    return Pair(first, second, 1, ("", "")), Pair(second, first, 0, ("", ""))
