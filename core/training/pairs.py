"""Pairs of sentences that every translator learns from, and their score while it learns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.data.corpora import find_file, read_lines, read_pairs
from core.models import Batch
from core.text import Tokenizer
from core.text.learn import learn_byte_level_bpe
from core.training.loop.loss import cross_entropy
from core.training.loop.prefetch import to_device

SPECIAL = ("<pad>", "<start>", "<end>")
IDS = {"pad": 0, "start": 1, "end": 2}
BATCH_TOKENS = 8192
POOL = 64  # batches sorted by length together
SMOOTHING = 0.1
PHRASES = 12  # times that the phrasebook is repeated
N_VOCAB = 8000

Ids = tuple[list[int], list[int]]


class SentencePairs:
    """Sentence pairs in batches of about equal length, each of at most `budget` tokens of both sides with their padding."""

    def __init__(
        self,
        train: list[Ids],
        valid: list[Ids],
        tokenizer: Tokenizer,
        seed: int,
        device: torch.device,
        budget: int | None = None,
    ) -> None:
        self.train, self.tokenizer, self.seed, self.budget = train, tokenizer, seed, budget or BATCH_TOKENS
        self.valid = [
            to_device(_collated(valid[i : i + 64]), device) for i in range(0, min(len(valid), 1024), 64)
        ]
        self._epoch, self._batches, self._first = -1, [], 0

    def batch(self, step: int) -> tuple[tuple[Batch, Tensor], int]:
        if step < self._first:
            self._epoch, self._batches, self._first = -1, [], 0
        while step >= self._first + len(self._batches):
            self._first += len(self._batches)
            self._epoch += 1
            self._batches = self._shuffled(self._epoch)
        rows = [self.train[i] for i in self._batches[step - self._first]]
        return _collated(rows), sum(len(s) + len(t) for s, t in rows)

    def _shuffled(self, epoch: int) -> list[list[int]]:
        rng = np.random.default_rng((self.seed, epoch))
        sizes = np.array([max(len(s), len(t)) for s, t in self.train])
        order = rng.permutation(len(sizes))
        batches: list[list[int]] = []
        pool = POOL * self.budget // 2 // int(sizes.mean())
        for first in range(0, len(order), pool):
            part = order[first : first + pool]
            part = part[np.argsort(sizes[part] + rng.random(len(part)), kind="stable")]
            rows: list[int] = []
            for i in part:
                if rows and (len(rows) + 1) * 2 * sizes[i] > self.budget:
                    batches.append(rows)
                    rows = []
                rows.append(int(i))
            batches.append(rows)
        return [batches[i] for i in rng.permutation(len(batches))]

    def loss(self, network: nn.Module, batch: tuple[Batch, Tensor]) -> Tensor:
        inputs, wanted = batch
        real = wanted != IDS["pad"]
        table = network.embed["token"].weight  # pyright: ignore
        return cross_entropy(network(inputs)[real], table, wanted[real], smoothing=SMOOTHING)

    def check(self, network: nn.Module) -> Mapping[str, float]:
        lost = count = 0.0
        for inputs, wanted in self.valid:
            real = wanted != IDS["pad"]
            logits = network.logits(network(inputs)[real])  # pyright: ignore
            lost += float(F.cross_entropy(logits.float(), wanted[real], reduction="sum"))
            count += int(real.sum())
        return {"valid_nats": lost / count}


def _collated(rows: list[Ids]) -> tuple[Batch, Tensor]:
    source = _padded([s for s, _ in rows])
    written = _padded([[IDS["start"], *t] for _, t in rows])
    wanted = _padded([[*t, IDS["end"]] for _, t in rows])
    return Batch(
        ids=written, real=written != IDS["pad"], source=source, source_real=source != IDS["pad"]
    ), wanted


def _padded(rows: list[list[int]]) -> Tensor:
    out = torch.full((len(rows), max(map(len, rows))), IDS["pad"], dtype=torch.long)
    for i, row in enumerate(rows):
        out[i, : len(row)] = torch.tensor(row)
    return out


def prepare(
    data: Path, work: Path, seed: int, device: torch.device, budget: int | None = None
) -> SentencePairs:
    """Return English and Spanish sentences (Tatoeba) and the phrasebook, with a tokenizer learned from both sides.

    All translators learn from the same pairs with the same tokenizer: what differs between them is the network.
    """
    folder = data / "translation_tatoeba"
    train = read_pairs(find_file(folder, "en-es.train.tsv"))
    valid = read_pairs(find_file(folder, "en-es.valid.tsv"))
    phrases = phrasebook(data)
    saved = work / "tokenizer.json"
    if not saved.is_file():
        sides = (side for pair in train + phrases for side in pair)
        learn_byte_level_bpe(sides, N_VOCAB, SPECIAL, prefix_space=True).save(str(saved))
    tokenizer = Tokenizer.from_file(saved, **IDS)
    return SentencePairs(
        encode_pairs(tokenizer, train + phrases * PHRASES),
        encode_pairs(tokenizer, valid),
        tokenizer,
        seed,
        device,
        budget,
    )


def phrasebook(data: Path) -> list[tuple[str, str]]:
    """Return the pairs of everyday sentences written for this project."""
    rows = read_lines(find_file(data / "translation_tatoeba", "phrasebook_en-es.tsv"))
    return [(en, es) for en, es in (line.split("\t")[:2] for line in rows if "\t" in line)]


def encode_pairs(tokenizer: Tokenizer, rows: Sequence[tuple[str, str]]) -> list[Ids]:
    return [(list(tokenizer.encode(s).ids), list(tokenizer.encode(t).ids)) for s, t in rows]
