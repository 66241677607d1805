"""Measures of a head over a set of sentences, and the name of its habit that follows from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from core.analysis.attention.measures import (
    alignment,
    at_offset,
    duplicate,
    induction,
    on_first,
    on_keys,
    spread,
)
from core.analysis.heads.occasions import occurs
from core.data.texts import Links
from core.run import Attention

Array = np.ndarray

HABIT = 0.35  # a head that gives this share of its weight to one place has a habit
ALIGNS = 0.6  # and to the words it translates: an aligner
REASON = 2.0  # a habit of linked words gets this many times what other words give to the same words
SPREAD = 0.7  # entropy, as a share of the largest possible, above which a head is spread out

WORDS = {
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
SEEN = ("ink", "ground")
"""Habits of what is in the patches: they name a head that leaves elsewhere at most half of what uniform attention would leave there."""
NAMELESS = ("spread", "far")
"""Measures that name no head by themselves."""


def signs(attention: Attention) -> Array:
    """Return which keys are words without a letter or digit; what a model added to the text is none of them."""
    marks = attention.marks[1]
    return np.array(
        [
            not any(c.isalnum() for c in word) and place not in marks
            for place, word in enumerate(attention.keys)
        ]
    )


def separators(attention: Attention) -> Array:
    """Return which keys are marks that close a text: those that a model added after its first word, as [SEP] and </s>."""
    marks, places = attention.marks[1], np.arange(len(attention.keys))
    added = np.isin(places, marks)
    return added & (places > np.argmin(added))


def recurring(attention: Attention) -> list[str | int]:
    """Return the keys as what may come again: words by their letters, signs and marks (which come again anyway) by their places."""
    marks = attention.marks[1]
    return [
        word if any(c.isalnum() for c in word) and place not in marks else place
        for place, word in enumerate(attention.keys)
    ]


def measures(attention: Attention, links: Links = (), *, learned: bool = False) -> Mapping[str, Array]:
    """Every measure that fits this kind of attention, each (layer, head); `links` for attention between two texts.

    Where the query is `learned`, or a word of another text, no row is one of the keys: nothing is next to it, and nothing said before.
    """
    w = attention.weights
    common = {"punctuation": on_keys(w, signs(attention)), "spread": spread(w, attention.allowed)}
    if (closing := separators(attention)).any():
        common["separator"] = on_keys(w, closing)
    if links:
        return {"aligner": alignment(w, links), **common}
    if learned:
        return common
    near = {"previous": at_offset(w, -1), "itself": at_offset(w, 0), "first": on_first(w)}
    words = recurring(attention)
    near |= {"induction": induction(w, words), "duplicate": duplicate(w, words)}
    return {**near, **({"next": at_offset(w, 1)} if attention.kind == "self" else {}), **common}


@dataclass(frozen=True)
class Heads:
    """The measured habits of all heads of one kind: scores by measure, each (layer, head), over `n` sentences.

    `controls` has, for some of the measures, what the score is worth: the same weight from words that have no reason to
    look there, or on the same words in another order (`core.analysis.heads.head_survey`). Without `named` the texts were none
    that the model can read: then no habit names a head.
    """

    scores: Mapping[str, Array]
    n: int
    controls: Mapping[str, Array] = field(default_factory=dict)
    named: bool = True

    def kind(self, layer: int, head: int) -> str:
        """The measure that names the head: its strongest habit, else 'spread' or 'mixed', which names none."""
        return self._kinds[layer][head]

    @cached_property
    def _kinds(self) -> list[list[str]]:
        layers, heads = self.shape
        return [[self._kind(layer, head) for head in range(heads)] for layer in range(layers)]

    def _kind(self, layer: int, head: int) -> str:
        if not self.named:
            return "mixed"
        own = self._habits(layer, head)
        for some in ({name for name in own if name not in RARE}, {name for name in own if name in RARE}):
            best = max(sorted(some), key=own.__getitem__, default=None)
            if best is not None and own[best] >= (ALIGNS if best == "aligner" else HABIT):
                return best
        return "spread" if self.scores["spread"][layer, head] >= SPREAD else "mixed"

    def _habits(self, layer: int, head: int) -> dict[str, float]:
        """The measures that may name the head: of weight on linked words not what these words get anyway."""
        own = {name: float(score[layer, head]) for name, score in self.scores.items() if name not in NAMELESS}
        for name in SEEN:
            if name in self.controls and own[name] < (1 + float(self.controls[name][layer, head])) / 2:
                del own[name]
        anyway = {name: float(self.controls[name][layer, head]) for name in LINKED if name in self.controls}
        return {name: score for name, score in own.items() if score >= REASON * anyway.get(name, 0.0)}

    def strongest(self, layer: int, head: int) -> str:
        """The habit with the highest score, however low."""
        own = self._habits(layer, head)
        return max(sorted(own), key=own.__getitem__)

    def word(self, layer: int, head: int) -> str:
        return WORDS[self.kind(layer, head)] if self.named else NOT_NAMED

    def score(self, layer: int, head: int) -> float:
        """The score behind the name; for 'mixed' the strongest habit's."""
        kind = self.kind(layer, head)
        if kind == "mixed":
            return max(self._habits(layer, head).values(), default=0.0)
        return float(self.scores[kind][layer, head])

    @property
    def shape(self) -> tuple[int, int]:
        layers, heads = next(iter(self.scores.values())).shape
        return layers, heads

    def best(self, text: str = "") -> dict[str, tuple[int, int]]:
        """For every kind that some head has, the head with the highest score; the kinds with the clearest head first.

        With the text that is read, only the kinds that have an occasion in it (all, where none has).
        """
        there = {kind: place for kind, place in self._best.items() if not text or occurs(kind, text)}
        return there or dict(self._best)

    @cached_property
    def _best(self) -> dict[str, tuple[int, int]]:
        found: dict[str, tuple[int, int]] = {}
        for layer in range(self.shape[0]):
            for head in range(self.shape[1]):
                kind = self.kind(layer, head)
                if kind not in found or self.score(layer, head) > self.score(*found[kind]):
                    found[kind] = (layer, head)
        rank = {"aligner": -1, "punctuation": 1, "ground": 1, "spread": 2, "mixed": 3}
        return dict(sorted(found.items(), key=lambda item: (rank.get(item[0], 0), -self.score(*item[1]))))


def averages(found: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
    """The mean of each measure over the texts it was taken on, where it is a number."""
    names = dict.fromkeys(name for scores in found for name in scores)
    return {name: _average([scores[name] for scores in found if name in scores]) for name in names}


def _average(scores: Sequence[Array]) -> Array:
    there = [score for score in scores if not np.isnan(score).any()]
    return np.mean(there, axis=0) if there else np.zeros_like(scores[0])
