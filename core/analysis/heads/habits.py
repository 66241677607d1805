"""Measures of a head over a set of sentences, and the name of its habit that follows from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from core.analysis.attention.measures import (
    alignment,
    duplicate,
    first_key_weight,
    induction,
    key_set_weight,
    normalised_entropy,
    offset_weight,
)
from core.analysis.heads.occasions import can_show
from core.analysis.one_line import OneLine
from core.data.texts import Links
from core.run import Attention

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


Array = np.ndarray

MIN_SCORE = 0.35  # a head that gives this share of its weight to one place has a habit
MIN_ALIGNMENT = 0.6  # and to the words it translates: an aligner
MIN_RATIO = 2.0  # a habit of linked words gets this many times what other words give to the same words
MIN_ENTROPY = 0.7  # entropy, as a share of the largest possible, above which a head is spread out

HABIT_NAMES = {
    "aligner": "alignment",
    "previous": "previous word",
    "itself": "self (diagonal)",
    "next": "next word",
    "first": "first token (attention sink)",
    "induction": "induction head",
    "duplicate": "duplicate token",
    "coreference": "coreference",
    "agreement": "subject-verb agreement",
    "quotes": "the opening quote",
    "questions": "the question word",
    "lists": "earlier items of a list",
    "punctuation": "punctuation",
    "separator": "separator",
    "class": "class token",
    "own_patch": "its own patch",
    "neighbours": "around itself",
    "row": "same row",
    "column": "same column",
    "ink": "drawn lines",
    "ground": "empty ground",
    "far": "mean distance (of the diagonal)",
    "spread": "near-uniform",
    "mixed": "no clear pattern",
}
NOT_NAMED = "not named"
"""Of a head that was measured on texts that the model cannot read."""
RARE = ("coreference", "agreement", "quotes", "questions", "lists")
"""Habits of a few words of a sentence: they name a head that has no habit for all words."""
LINKED = (*RARE, "induction", "duplicate")
PATCH_CONTENT = ("ink", "ground")
"""Habits of what is in the patches: they name a head that leaves elsewhere at most half of what uniform attention would leave there."""
NAMELESS = ("spread", "far")
"""Measures that name no head by themselves."""


def punctuation_keys(attention: Attention) -> Bool[Array, " key"]:
    """Return which keys are words without a letter or digit; tokens that a model adds to the text are not."""
    special = attention.special_positions[1]
    return np.array(
        [
            not any(c.isalnum() for c in word) and place not in special
            for place, word in enumerate(attention.keys)
        ]
    )


def separator_keys(attention: Attention) -> Bool[Array, " key"]:
    """Return which keys are separators: tokens that a model adds after the first word, as [SEP] and </s>."""
    special, places = attention.special_positions[1], np.arange(len(attention.keys))
    added = np.isin(places, special)
    return added & (places > np.argmin(added))


def repeatable_keys(attention: Attention) -> list[str | int]:
    """Return each key as what may occur again: words by their letters, punctuation and added tokens by their position, since they always recur."""
    special = attention.special_positions[1]
    return [
        word if any(c.isalnum() for c in word) and place not in special else place
        for place, word in enumerate(attention.keys)
    ]


def measures(
    attention: Attention, links: Links = (), *, learned_query: bool = False
) -> Mapping[str, Float[Array, "layer head"]]:
    """Compute every measure that fits this kind of attention, each (layer, head); `links` for attention between two texts.

    Where the query is learned (`learned_query`) or a word of another text, no row is one of the keys, so there is no previous, next or repeated word.
    """
    w = attention.weights
    common = {
        "punctuation": key_set_weight(w, punctuation_keys(attention)),
        "spread": normalised_entropy(w, attention.allowed),
    }
    if (closing := separator_keys(attention)).any():
        common["separator"] = key_set_weight(w, closing)
    if links:
        return {"aligner": alignment(w, links), **common}
    if learned_query:
        return common
    near = {"previous": offset_weight(w, -1), "itself": offset_weight(w, 0), "first": first_key_weight(w)}
    words = repeatable_keys(attention)
    near |= {"induction": induction(w, words), "duplicate": duplicate(w, words)}
    return {**near, **({"next": offset_weight(w, 1)} if attention.kind == "self" else {}), **common}


@dataclass(frozen=True, repr=False)
class HeadHabits(OneLine):
    """The measured habits of all heads of one kind: scores by measure, each (layer, head), over `n` sentences.

    `controls` has, for some of the measures, a score to compare with: the same weight from words that have no reason to
    look there, or on the same words in another order (`core.analysis.heads.head_survey`). Where `readable` is false
    the model could not read the texts, and no habit names a head.
    """

    scores: Mapping[str, Float[Array, "layer head"]]
    n: int
    controls: Mapping[str, Float[Array, "layer head"]] = field(default_factory=dict)
    readable: bool = True

    def habit(self, layer: int, head: int) -> str:
        """Return the measure that names the head: its strongest habit, else 'spread' or 'mixed', which are no habits."""
        return self._habits[layer][head]

    @cached_property
    def _habits(self) -> list[list[str]]:
        layers, heads = self.shape
        return [[self._habit(layer, head) for head in range(heads)] for layer in range(layers)]

    def _habit(self, layer: int, head: int) -> str:
        if not self.readable:
            return "mixed"
        own = self._naming_scores(layer, head)
        for some in ({name for name in own if name not in RARE}, {name for name in own if name in RARE}):
            best = max(sorted(some), key=own.__getitem__, default=None)
            if best is not None and own[best] >= (MIN_ALIGNMENT if best == "aligner" else MIN_SCORE):
                return best
        return "spread" if self.scores["spread"][layer, head] >= MIN_ENTROPY else "mixed"

    def _naming_scores(self, layer: int, head: int) -> dict[str, float]:
        """Return the scores that may name the head; weight on linked words counts only where it exceeds what these words get anyway."""
        own = {name: float(score[layer, head]) for name, score in self.scores.items() if name not in NAMELESS}
        for name in PATCH_CONTENT:
            if name in self.controls and own[name] < (1 + float(self.controls[name][layer, head])) / 2:
                del own[name]
        anyway = {name: float(self.controls[name][layer, head]) for name in LINKED if name in self.controls}
        return {name: score for name, score in own.items() if score >= MIN_RATIO * anyway.get(name, 0.0)}

    def strongest(self, layer: int, head: int) -> str:
        """Return the habit with the highest score, however low."""
        own = self._naming_scores(layer, head)
        return max(sorted(own), key=own.__getitem__)

    def label(self, layer: int, head: int) -> str:
        """Return the name of the head's habit as it is on screen."""
        return HABIT_NAMES[self.habit(layer, head)] if self.readable else NOT_NAMED

    def score(self, layer: int, head: int) -> float:
        """Return the score of the head's habit; for 'mixed' that of the strongest."""
        habit = self.habit(layer, head)
        if habit == "mixed":
            return max(self._naming_scores(layer, head).values(), default=0.0)
        return float(self.scores[habit][layer, head])

    @property
    def shape(self) -> tuple[int, int]:
        layers, heads = next(iter(self.scores.values())).shape
        return layers, heads

    def best_head_by_habit(self, text: str = "") -> dict[str, tuple[int, int]]:
        """Return the head with the highest score for each habit that names some head, the highest score first.

        The aligner is before all others; punctuation, empty ground and the two that are no habits come last. With `text`,
        only the habits that can show in it; all, where none can.
        """
        possible = {habit: head for habit, head in self._best.items() if not text or can_show(habit, text)}
        return possible or dict(self._best)

    @cached_property
    def _best(self) -> dict[str, tuple[int, int]]:
        best: dict[str, tuple[int, int]] = {}
        for layer in range(self.shape[0]):
            for head in range(self.shape[1]):
                habit = self.habit(layer, head)
                if habit not in best or self.score(layer, head) > self.score(*best[habit]):
                    best[habit] = (layer, head)
        rank = {"aligner": -1, "punctuation": 1, "ground": 1, "spread": 2, "mixed": 3}
        return dict(sorted(best.items(), key=lambda item: (rank.get(item[0], 0), -self.score(*item[1]))))


def mean_scores(
    scores: Sequence[Mapping[str, Float[Array, "layer head"]]],
) -> dict[str, Float[Array, "layer head"]]:
    """Average each measure over the texts it was taken on, where it is a number."""
    names = dict.fromkeys(name for each in scores for name in each)
    return {name: _average([each[name] for each in scores if name in each]) for name in names}


def _average(scores: Sequence[Array]) -> Array:
    there = [score for score in scores if not np.isnan(score).any()]
    return np.mean(there, axis=0) if there else np.zeros_like(scores[0])
