"""The second stage of a translator: each batch of sentences comes with a batch of single words and short phrases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.data.corpora import find_file
from core.data.corpora import read_pairs as read
from core.data.fragments import fragments, short_pairs
from core.models import Batch
from core.training import pairs
from core.training.pairs import SentencePairs

Inputs = tuple[Batch, Tensor]

SHARE = 0.15
"""Weight of the loss of bare words."""
SENTENCES, BARE = 2048, 1024
"""Tokens of a batch, both sides; small, for two cores."""
TWO, PHRASEBOOK = 2, 8
"""Words of the longest pair, and of the longest line of the phrasebook, that is read without its full stop too."""
WORDS = 3
"""Times that single words come besides."""
COMMON, OFTEN = 1000, 8
"""So many of the commonest, and the times that these come besides."""


class MixedPairs:
    """Two sets of pairs, a batch of each a step; the loss is the mean of theirs, of which the second set's is `SHARE`.

    In batches of their own, bare words would at times be all that a step learns, and a step of Muon is as large as its rate.
    Where the network goes on from weights, the loss of a sentence is how far it is from what those expect (`distance`): so
    that the words are learned and the sentences stay.
    """

    def __init__(self, sentences: SentencePairs, bare: SentencePairs) -> None:
        self.sentences, self.bare, self.tokenizer = sentences, bare, sentences.tokenizer
        self.teacher: nn.Module | None = None

    def follow(self, network: nn.Module) -> None:
        """Set a copy of the network, as it begins, as the teacher of the sentences."""
        self.teacher = deepcopy(network).eval().requires_grad_(False)

    def batch(self, step: int) -> tuple[tuple[Inputs, Inputs], int]:
        (sentences, n), (bare, m) = self.sentences.batch(step), self.bare.batch(step)
        return (sentences, bare), n + m

    def loss(self, network: nn.Module, batch: tuple[Inputs, Inputs]) -> Tensor:
        sentences, bare = batch
        kept = (
            distance(network, self.teacher, *sentences)
            if self.teacher
            else self.sentences.loss(network, sentences)
        )
        return (1 - SHARE) * kept + SHARE * self.bare.loss(network, bare)

    def check(self, network: nn.Module) -> Mapping[str, float]:
        return {**self.sentences.check(network), "bare_nats": self.bare.check(network)["valid_nats"]}


def distance(network: Any, teacher: Any, inputs: Batch, targets: Tensor) -> Tensor:
    """Return KL(teacher, network) in nats, the mean over the positions of the targets (batch pos): a scalar.

    Learning without forgetting (Li and Hoiem 2016), with dropout of the network and none of the teacher. wanted (batch pos) -> a scalar.
    """
    real = targets != pairs.IDS["pad"]
    with torch.no_grad():
        expected = teacher.logits(teacher(inputs)[real]).float().log_softmax(-1)
    found = network.logits(network(inputs)[real]).float().log_softmax(-1)
    return F.kl_div(found, expected, reduction="batchmean", log_target=True)


def prepare(data: Path, work: Path, seed: int, device: torch.device) -> MixedPairs:
    """Return the sentence pairs that all translators learn from, mixed with the words and phrases in them."""
    sentences = pairs.prepare(data, work, seed, device, SENTENCES)
    rows = make_word_pairs(
        read(find_file(data / "translation_tatoeba", "en-es.train.tsv")), pairs.phrasebook(data)
    )
    ids = pairs.encode_pairs(sentences.tokenizer, rows)
    return MixedPairs(
        sentences,
        SentencePairs(ids, ids[:: max(1, len(ids) // 1024)], sentences.tokenizer, seed, device, BARE),
    )


def make_word_pairs(
    train: Sequence[tuple[str, str]], book: Sequence[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Return the phrase pairs in lower case and with a capital, pairs of two words, and the phrasebook without full
    stops; single words are repeated more often.

    >>> make_word_pairs([("Thank you.", "Gracias.")], [("I miss you.", "Te echo de menos.")])[:4]
    [('Thank you', 'Gracias'), ('thank you', 'gracias'), ('I miss you', 'Te echo de menos'), ('i miss you', 'te echo de menos')]
    """
    cut = fragments(train)
    capital = [(s[:1].upper() + s[1:], t[:1].upper() + t[1:]) for s, t in cut]
    single = [pair for pair in cut if " " not in pair[0]]
    return (
        single * WORDS
        + single[:COMMON] * OFTEN
        + cut
        + capital
        + short_pairs(train, TWO)
        + short_pairs(book, PHRASEBOOK) * pairs.PHRASES
    )
