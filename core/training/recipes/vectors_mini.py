"""vectors-mini: skip-gram word vectors of children's books and everyday sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from core.data.corpora import ENGLISH, NEW_TEXT, PROSE_VALID, english_lines, find_file, read_lines
from core.models.skipgram import SkipGramConfig
from core.text import Tokenizer
from core.text.learn import learn_word_list
from core.training.recipe import Recipe

IDS = {"pad": 0}
UNKNOWN = 0
FREQUENT = 1e-4
"""A word that is more frequent than this is left out with probability 1 - sqrt(FREQUENT / its share)."""
ROWS = 2048


class Surroundings:
    """Counts of the words around each word, and the loss of predicting them.

    Skip-gram's sum over all pairs of a word and one around it, grouped by the word: pairs with the same word have the
    same scores, so that the exact softmax of the first paper costs less than the negative samples of the second. Words
    near by count more, as with the drawn window of the paper, and frequent ones less: each pair with the mean of
    what drawing would give it.
    """

    def __init__(
        self, train: np.ndarray, valid: np.ndarray, tokenizer: Tokenizer, seed: int, device: torch.device
    ) -> None:
        self.tokenizer, self.seed, self.device = tokenizer, seed, device
        share = np.bincount(train, minlength=len(tokenizer)) / max(1, (train != UNKNOWN).sum())
        kept = np.minimum(1.0, np.sqrt(FREQUENT / np.maximum(share, 1e-12)))
        kept[UNKNOWN] = 0.0
        self.train, self.valid = (
            torch.from_numpy(expected_pairs(ids, kept)).to(device) for ids in (train, valid)
        )
        self.words = np.flatnonzero(self.train.sum(1).cpu().numpy() > 0)

    def batch(self, step: int) -> tuple[Tensor, int]:
        """Return the words of this step, chosen so that each word occurs once per pass, and their number."""
        per_pass = -(-len(self.words) // ROWS)
        turn, part = divmod(step, per_pass)
        words = np.random.default_rng((self.seed, turn)).permutation(self.words)[part::per_pass]
        return torch.from_numpy(words), len(words)

    def loss(self, network: Any, batch: Tensor) -> Tensor:
        return self._mean_loss(network, batch, self.train)

    def check(self, network: Any) -> Mapping[str, float]:
        words = torch.arange(len(self.valid), device=self.device)
        weight = self.valid.sum(1)
        parts = [
            self._mean_loss(network, part, self.valid) * weight[part].sum()
            for part in words.split(ROWS)
            if weight[part].sum() > 0
        ]
        return {"valid_nats": float(sum(parts) / weight.sum())}

    def _mean_loss(self, network: Any, words: Tensor, counts: Tensor) -> Tensor:
        """Return the mean of -log p(a word around | word) over the pairs of these words."""
        found = counts[words]
        scores = network.logits(network.embed["token"](words)).float()
        return ((found.sum(1) * scores.logsumexp(1)).sum() - (found * scores).sum()) / found.sum()


def expected_pairs(ids: np.ndarray, keep: np.ndarray) -> np.ndarray:
    """Return how many pairs are expected, float32 (word, word around).

    At a distance of d words a pair counts (window + 1 - d) / window; each side counts with the probability `keep` of
    its word. UNKNOWN has no pairs, and separates texts.

    >>> expected_pairs(np.array([1, 2, 0, 0, 0, 0, 0, 1]), np.array([0.0, 1.0, 0.5])).tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.0, 0.5], [0.0, 0.5, 0.0]]
    """
    n, window = len(keep), RECIPE.config.window
    found = np.zeros(n * n, dtype=np.float32)
    for distance in range(1, window + 1):
        near = np.bincount(ids[:-distance].astype(np.int64) * n + ids[distance:], minlength=n * n)
        found += near.astype(np.float32) * np.float32((window + 1 - distance) / window)
    table = found.reshape(n, n)
    return (table + table.T) * (keep[:, None] * keep[None, :]).astype(np.float32)


def encode_texts(texts: Iterable[str], tokenizer: Tokenizer) -> np.ndarray:
    """Return texts as one stream, a window of UNKNOWN after each."""
    between = [UNKNOWN] * RECIPE.config.window
    rows = tokenizer.encode_many([text for text in texts if not text.startswith(NEW_TEXT)])
    return np.fromiter((i for row in rows for i in (*row, *between)), dtype=np.uint16)


def prepare(data: Path, work: Path, seed: int, device: torch.device) -> Surroundings:
    saved = work / "tokenizer.json"
    if not saved.is_file():
        learn_word_list(english_lines(data), RECIPE.config.n_vocab).save(str(saved))
    tokenizer = Tokenizer.from_file(saved, **IDS)
    streams = work / "streams.npz"
    if not streams.is_file():
        train = np.concatenate(
            [encode_texts(read_lines(find_file(data, name)), tokenizer) for name in ENGLISH]
        )
        np.savez(
            streams, train=train, valid=encode_texts(read_lines(find_file(data, PROSE_VALID)), tokenizer)
        )
    held = np.load(streams)
    return Surroundings(held["train"], held["valid"], tokenizer, seed, device)


RECIPE = Recipe(
    name="vectors-mini",
    family="skipgram",
    config=SkipGramConfig(d_model=80, n_vocab=10000, window=5),
    steps=600,
    prepare=prepare,
    ids=IDS,
    lr=1e-2,
    weight_decay=0.01,
    warm_up=20,
)
