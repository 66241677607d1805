"""What a head does, measured: where its weight goes over a set of sentences, and the name that follows from it.

Weights are (layer, head, query, key); each measure is a number in [0, 1] a head, the mean over the rows it applies to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.run import Attention

Array = np.ndarray
Links = Sequence[tuple[int, int]]

SEPARATOR = "[SEP]"
HABIT = 0.35  # a head that gives this share of its weight to one place has a habit
ALIGNS = 0.6  # and to the words it translates: an aligner
SPREAD = 0.7  # entropy, as a share of the largest possible, above which a head is spread out

WORDS = {
    "aligner": "the aligner",
    "previous": "previous word",
    "itself": "the word itself",
    "next": "next word",
    "first": "first word",
    "punctuation": "punctuation",
    "separator": "the separator",
    "spread": "spread out",
    "mixed": "a mixture",
}


def entropy(weights: Array) -> Array:
    """-sum w ln w over the keys, in nats; a row of zeros has entropy 0.

    >>> float(np.round(entropy(np.array([0.5, 0.5])), 4))
    0.6931
    """
    return -np.sum(weights * np.log(np.where(weights > 0, weights, 1.0)), axis=-1)


def spread(weights: Array, allowed: Array) -> Array:
    """Entropy divided by that of an even look at everything allowed; rows with fewer than two allowed keys are left out."""
    count = allowed.sum(-1)
    rows = count > 1
    share = entropy(weights) / np.log(np.maximum(count, 2))
    return _mean(share, rows)


def at_offset(weights: Array, offset: int) -> Array:
    """Mean weight on the key `offset` places after the query (previous word -1, itself 0, next 1).

    Over the rows from the third on: under a causal mask the first two have nowhere else to look.
    """
    n_queries, n_keys = weights.shape[-2:]
    queries = np.arange(min(2, n_queries - 1), n_queries)
    queries = queries[(queries + offset >= 0) & (queries + offset < n_keys)]
    return weights[..., queries, queries + offset].mean(-1) if queries.size else np.zeros(weights.shape[:2])


def on_first(weights: Array) -> Array:
    """Mean weight on the first key, over the rows from the third on: there the first is neither itself nor the previous."""
    return weights[..., 2:, 0].mean(-1) if weights.shape[-2] > 2 else np.zeros(weights.shape[:2])


def on_keys(weights: Array, chosen: Array) -> Array:
    """Mean weight on a set of keys (boolean over keys)."""
    return weights[..., chosen].sum(-1).mean(-1)


def alignment(weights: Array, links: Links) -> Array:
    """Mean weight of a written word on the source words it translates, over the words that have a translation.

    `links` are (source word, written word), set by hand.
    """
    links_of: dict[int, list[int]] = {}
    for source, written in links:
        links_of.setdefault(written, []).append(source)
    return np.mean([weights[..., written, sources].sum(-1) for written, sources in links_of.items()], axis=0)


def _signs(words: tuple[str, ...]) -> Array:
    """Words without a letter or digit; START and [SEP] are none of them."""
    return np.array([not any(c.isalnum() for c in word) for word in words])


def _mean(values: Array, rows: Array) -> Array:
    total = np.maximum(rows.sum(-1), 1)
    return (values * rows).sum(-1) / total


def measures(attention: Attention, links: Links = ()) -> Mapping[str, Array]:
    """Every measure that fits this kind of attention, each (layer, head); `links` for attention between two texts."""
    w = attention.weights
    common = {"punctuation": on_keys(w, _signs(attention.keys)), "spread": spread(w, attention.allowed)}
    if SEPARATOR in attention.keys:
        common["separator"] = on_keys(w, np.array([key == SEPARATOR for key in attention.keys]))
    if links:
        return {"aligner": alignment(w, links), **common}
    near = {"previous": at_offset(w, -1), "itself": at_offset(w, 0), "first": on_first(w)}
    return {**near, **({"next": at_offset(w, 1)} if attention.kind == "self" else {}), **common}


@dataclass(frozen=True)
class Heads:
    """The measured habits of all heads of one kind: scores by measure, each (layer, head), over `n` sentences."""

    scores: Mapping[str, Array]
    n: int

    def kind(self, layer: int, head: int) -> str:
        """The measure that names the head: its strongest habit, else 'spread' or 'mixed'."""
        own = {name: float(score[layer, head]) for name, score in self.scores.items() if name != "spread"}
        best = max(own, key=own.__getitem__)
        if own[best] >= (ALIGNS if best == "aligner" else HABIT):
            return best
        return "spread" if self.scores["spread"][layer, head] >= SPREAD else "mixed"

    def word(self, layer: int, head: int) -> str:
        return WORDS[self.kind(layer, head)]

    def score(self, layer: int, head: int) -> float:
        """The score behind the name; for 'mixed' the strongest habit's."""
        kind = self.kind(layer, head)
        if kind == "mixed":
            return max(float(score[layer, head]) for name, score in self.scores.items() if name != "spread")
        return float(self.scores[kind][layer, head])

    @property
    def shape(self) -> tuple[int, int]:
        layers, heads = next(iter(self.scores.values())).shape
        return layers, heads

    def best(self) -> dict[str, tuple[int, int]]:
        """For every kind that some head has, the head with the highest score; the kinds with the clearest head first."""
        found: dict[str, tuple[int, int]] = {}
        for layer in range(self.shape[0]):
            for head in range(self.shape[1]):
                kind = self.kind(layer, head)
                if kind not in found or self.score(layer, head) > self.score(*found[kind]):
                    found[kind] = (layer, head)
        rank = {"aligner": -1, "punctuation": 1, "spread": 2, "mixed": 3}
        return dict(sorted(found.items(), key=lambda item: (rank.get(item[0], 0), -self.score(*item[1]))))


def survey(examples: Iterable[tuple[Attention, Links]]) -> Heads:
    """Measure every head on each example (attention by word, links where two texts meet) and average."""
    found = [measures(attention, links) for attention, links in examples]
    if not found:
        raise ValueError("a survey of heads needs at least one text")
    return Heads({name: np.mean([scores[name] for scores in found], axis=0) for name in found[0]}, len(found))
