"""bert-mini: a small BERT on children's books and everyday sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.data.corpora import (
    BOOKS,
    NEW_TEXT,
    PROSE,
    PROSE_VALID,
    SENTENCES,
    english_lines,
    find_file,
    read_lines,
)
from core.data.passages import SHARE, Array, Books, Pair, add_special_tokens, hide, pad_rows
from core.models import Batch
from core.models.bert import BERTConfig
from core.text import Tokenizer
from core.text.learn import learn_wordpiece
from core.training.loop.loss import cross_entropy
from core.training.loop.optim import double_weights, start_as_sinusoids
from core.training.loop.prefetch import to_device
from core.training.recipe import Recipe

IDS = {"pad": 0, "start": 2, "end": 3, "mask": 4}
N_SPECIAL = 5
GROUPS = 2
"""Pairs are put together by length, so that little is padding."""
SHORTEST, GROWS = 16, 200
"""Windows are this many tokens at first (and so many more of them), and twice as long after every so many steps."""
HIDDEN = 0.3
"""The share of tokens to be guessed falls from this to the usual 15% (Yang et al. 2023): more to learn from each text at first."""
EASY = 3000
"""Before this step half of the texts that do not follow come from anywhere: another story is easier to tell than another page."""
FALLS = 8000
"""Over this many steps the share of hidden tokens falls."""
CHECKED = 4


@dataclass(frozen=True)
class Mix:
    """Mixture of a batch: how many whole contexts' worth of windows of `long` tokens, pairs, and short texts.

    share: of the tokens are hidden. anywhere: half of the texts that do not follow come from any book.
    """

    long: int
    windows: int = 40
    pairs: int = 224
    short: int = 96
    share: float = SHARE
    anywhere: bool = False


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of about one length, padded: the input, the masked positions, their targets, and whether the second text follows."""

    batch: Batch
    masked: Tensor
    targets: Tensor
    follows: Tensor | None = None


class Passages:
    """Windows, pairs and short texts, sampled at each step: see `mix`.

    A recipe with its own kind of pairs overrides `mix_for`, `pair`, `pair_scores` and `config`.
    """

    def __init__(
        self, train: Books, valid: Books, tokenizer: Tokenizer, seed: int, device: torch.device
    ) -> None:
        self.tokenizer, self.seed, self.device = tokenizer, seed, device
        self.train, self.valid = train, valid
        self._starts = {id(books): books.window_starts(self.config.n_ctx - 2) for books in (train, valid)}

    @property
    def config(self) -> Any:
        """Return the configuration of the network that learns."""
        return RECIPE.config

    def mix_for(self, step: int) -> Mix:
        """Return the mixture of the batch of this step."""
        return mix(step)

    def pair(self, books: Books, rng: np.random.Generator, mix: Mix) -> Pair | None:
        """Return two texts, of which the second follows in half of the cases; None where the book ends before."""
        first, follows = int(rng.integers(len(books.book))), bool(rng.integers(2))
        return books.pair(first, rng, follows, anywhere=mix.anywhere and bool(rng.integers(2)))

    def pair_scores(self, network: Any, pooled: Tensor) -> Tensor:
        """Return the scores (pair 2): the second text follows (index 0), or not."""
        return network.next_sentence(pooled)

    def batch(self, step: int) -> tuple[list[Rows], int]:
        groups = self._sample_rows(self.train, np.random.default_rng((self.seed, step)), self.mix_for(step))
        return groups, sum(int(rows.batch.real.sum()) for rows in groups)

    def loss(self, network: Any, batch: list[Rows]) -> Tensor:
        return self.objectives(network, batch, [network(rows.batch) for rows in batch])

    def objectives(
        self, network: Any, groups: list[Rows], hidden: list[Tensor], pair_weight: float = 1.0
    ) -> Tensor:
        """Return the mean loss over masked words plus `pair_weight` times the mean over pairs, in nats."""
        guessed = torch.cat([h[rows.masked] for h, rows in zip(hidden, groups, strict=True)])
        wanted = torch.cat([rows.targets for rows in groups])
        head, table = network.masked_lm, network.embed["token"].weight
        words = cross_entropy(head.transformed(guessed), table, wanted, bias=head.bias)
        scores, follows = self._pairs(network, groups, hidden)
        return words + pair_weight * F.cross_entropy(scores.float(), (~follows).long())

    def check(self, network: Any) -> Mapping[str, float]:
        right = n = lost = pairs = n_pairs = 0.0
        rng = np.random.default_rng(0)
        for _ in range(CHECKED):
            groups = to_device(self._sample_rows(self.valid, rng, Mix(self.config.n_ctx)), self.device)
            hidden = [network(rows.batch) for rows in groups]
            scores = network.logits(hidden[0][groups[0].masked]).float()
            lost += float(F.cross_entropy(scores, groups[0].targets, reduction="sum"))
            right += int((scores.argmax(-1) == groups[0].targets).sum())
            n += len(scores)
            pair_scores, follows = self._pairs(network, groups, hidden)
            pairs += int((pair_scores.argmax(-1) == (~follows).long()).sum())
            n_pairs += len(follows)
        return {"valid_nats": lost / n, "top1": right / n, "next": pairs / n_pairs}

    def _sample_rows(self, books: Books, rng: np.random.Generator, mix: Mix) -> list[Rows]:
        """Return windows, pairs by length, and short texts."""
        n, half, size = mix.windows * self.config.n_ctx // mix.long, self.config.n_ctx // 2, mix.long - 2
        shift = rng.integers(-half, half, size=n)
        first = np.clip(rng.choice(self._starts[id(books)], n) + shift, 0, len(books.stream) - size)
        windows = [(books.stream[a : a + size], None) for a in first]
        pairs: list[Pair] = []
        while len(pairs) < mix.pairs:
            sampled = self.pair(books, rng, mix)
            if sampled:
                pairs.append(sampled)
        short = [
            (books.sentences(int(rng.integers(len(books.book))), int(rng.integers(1, 4))), None)
            for _ in range(mix.short)
        ]
        pairs.sort(key=lambda pair: len(pair.first) + len(pair.second))
        parts = [pairs[i : i + mix.pairs // GROUPS] for i in range(0, mix.pairs, mix.pairs // GROUPS)]
        pair_rows = [
            self._rows([pair[:2] for pair in part], rng, mix.share, [pair.follows for pair in part])
            for part in parts
        ]
        return [self._rows(windows, rng, mix.share), *pair_rows, self._rows(short, rng, mix.share)]

    def _rows(
        self,
        texts: Sequence[tuple[Array, Array | None]],
        rng: np.random.Generator,
        share: float,
        follows: list[bool] | None = None,
    ) -> Rows:
        ids, segments, real = pad_rows(
            [add_special_tokens(self.tokenizer, *text) for text in texts], IDS["pad"]
        )
        read, chosen = hide(
            ids,
            ids < N_SPECIAL,
            rng,
            mask=IDS["mask"],
            drawable=np.arange(N_SPECIAL, self.config.n_vocab),
            share=share,
        )
        to = [torch.from_numpy(array) for array in (read, real, segments, chosen, ids[chosen])]
        follows_tensor = None if follows is None else torch.tensor(follows)
        return Rows(Batch(ids=to[0], real=to[1], segments=to[2]), to[3], to[4], follows_tensor)

    def _pairs(self, network: Any, groups: list[Rows], hidden: list[Tensor]) -> tuple[Tensor, Tensor]:
        """Return the scores of the rows that are pairs, and the truth."""
        parts_by_group = [
            (network.pooled(h), rows.follows)
            for h, rows in zip(hidden, groups, strict=True)
            if rows.follows is not None
        ]
        pooled, follows = (torch.cat(parts) for parts in zip(*parts_by_group, strict=True))
        return self.pair_scores(network, pooled), follows


def window_length(step: int) -> int:
    """Return the number of tokens of a window at this step.

    Training begins with short rows, in which even a near-uniform pattern reads nearby words. With long rows from the first
    step this BERT had learned only the frequencies of words after 560 steps.

    >>> window_length(0), window_length(799), window_length(10_000)
    (16, 128, 256)
    """
    return min(RECIPE.config.n_ctx, SHORTEST * 2 ** (step // GROWS))


def mix(step: int) -> Mix:
    """Return the mixture of the batch of this step.

    Always words and pairs together: 600 more steps mostly of pairs, with few masked words, classified no more of them rightly
    (59%) and lost words (right at once: 36% instead of 39%).
    """
    return Mix(
        window_length(step), share=HIDDEN + (SHARE - HIDDEN) * min(1.0, step / FALLS), anywhere=step < EASY
    )


def prepare(data: Path, work: Path, seed: int, device: torch.device) -> Passages:
    saved = work / "tokenizer.json"
    if not saved.is_file():
        learn_wordpiece(english_lines(data), RECIPE.config.n_vocab).save(str(saved))
    tokenizer = Tokenizer.from_file(saved, **IDS)
    books = []
    for name, rows in (("train", _training(data)), ("valid", read_lines(find_file(data, PROSE_VALID)))):
        file = work / f"{name}.npz"
        if not file.is_file():
            np.savez(file, **asdict(Books.read(rows, tokenizer)))
        books.append(Books(**np.load(file)))
    return Passages(books[0], books[1], tokenizer, seed, device)


def _training(data: Path) -> Iterator[str]:
    """Yield the prose, then sentences of which each is a book of its own: none of them is the next of another."""
    for name in PROSE:
        yield from read_lines(find_file(data, name))
    for line in read_lines(find_file(data, SENTENCES)):
        yield from (NEW_TEXT, line)


def begin(network: nn.Module) -> None:
    """Set positions and doubled matrices so that a small BERT leaves the plateau where it predicts only how common a word is."""
    start_as_sinusoids(network, network.embed["token"].weight.std())  # pyright: ignore
    double_weights(network, "to_q", "to_k", "to_v")


RECIPE = Recipe(
    name="bert-mini",
    family="bert",
    config=BERTConfig(n_layers=6, n_heads=8, d_model=256, d_ff=1024, n_vocab=8000, n_ctx=256),
    steps=5602,
    prepare=prepare,
    begin=begin,
    ids=IDS,
    reads=BOOKS,
    lr=2e-3,
    matrix_lr=0.015,
    warm_up=100,
)
