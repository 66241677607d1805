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

from core.data.corpora import BOOKS, NEW_TEXT, PROSE, PROSE_VALID, SENTENCES, english, find, lines
from core.data.passages import SHARE, Array, Books, Pair, framed, hide, padded
from core.models import Batch
from core.models.bert import BERTConfig
from core.text import Tokenizer
from core.text.learn import wordpiece
from core.training.loop.loss import cross_entropy
from core.training.loop.optim import as_waves, doubled
from core.training.loop.prefetch import on
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
    """What a batch is made of: how many whole contexts' worth of windows of `long` tokens, pairs, and short texts.

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
    """Rows of about one length, padded: what is read, what is to be guessed where, whether the second text follows."""

    batch: Batch
    chosen: Tensor
    wanted: Tensor
    follows: Tensor | None = None


class Passages:
    """Windows, pairs and short texts, drawn anew at each step: see `mix`.

    What a recipe of its own kind of pairs does otherwise is in `mixed`, `pair`, `scored` and `config`.
    """

    def __init__(
        self, train: Books, valid: Books, tokenizer: Tokenizer, seed: int, device: torch.device
    ) -> None:
        self.tokenizer, self.seed, self.device = tokenizer, seed, device
        self.train, self.valid = train, valid
        self._starts = {id(books): books.windows(self.config.n_ctx - 2) for books in (train, valid)}

    @property
    def config(self) -> Any:
        """The shape of the network that learns."""
        return RECIPE.config

    def mixed(self, step: int) -> Mix:
        """What the batch of this step is made of."""
        return mix(step)

    def pair(self, books: Books, rng: np.random.Generator, of: Mix) -> Pair | None:
        """Two texts, of which the second follows in half of the cases; None where the book ends before."""
        first, follows = int(rng.integers(len(books.book))), bool(rng.integers(2))
        return books.pair(first, rng, follows, anywhere=of.anywhere and bool(rng.integers(2)))

    def scored(self, network: Any, pooled: Tensor) -> Tensor:
        """(pair 2) scores: the second text follows (index 0), or not."""
        return network.next_sentence(pooled)

    def batch(self, step: int) -> tuple[list[Rows], int]:
        groups = self._drawn(self.train, np.random.default_rng((self.seed, step)), self.mixed(step))
        return groups, sum(int(rows.batch.real.sum()) for rows in groups)

    def loss(self, network: Any, batch: list[Rows]) -> Tensor:
        return self.objectives(network, batch, [network(rows.batch) for rows in batch])

    def objectives(self, network: Any, groups: list[Rows], hidden: list[Tensor], told: float = 1.0) -> Tensor:
        """The mean over hidden words plus `told` times the mean over pairs."""
        guessed = torch.cat([h[rows.chosen] for h, rows in zip(hidden, groups, strict=True)])
        wanted = torch.cat([rows.wanted for rows in groups])
        head, table = network.masked_lm, network.embed["token"].weight
        words = cross_entropy(head.transformed(guessed), table, wanted, bias=head.bias)
        scores, follows = self._pairs(network, groups, hidden)
        return words + told * F.cross_entropy(scores.float(), (~follows).long())

    def check(self, network: Any) -> Mapping[str, float]:
        right = n = lost = pairs = n_pairs = 0.0
        rng = np.random.default_rng(0)
        for _ in range(CHECKED):
            groups = on(self._drawn(self.valid, rng, Mix(self.config.n_ctx)), self.device)
            hidden = [network(rows.batch) for rows in groups]
            scores = network.logits(hidden[0][groups[0].chosen]).float()
            lost += float(F.cross_entropy(scores, groups[0].wanted, reduction="sum"))
            right += int((scores.argmax(-1) == groups[0].wanted).sum())
            n += len(scores)
            told, follows = self._pairs(network, groups, hidden)
            pairs += int((told.argmax(-1) == (~follows).long()).sum())
            n_pairs += len(follows)
        return {"valid_nats": lost / n, "top1": right / n, "next": pairs / n_pairs}

    def _drawn(self, books: Books, rng: np.random.Generator, of: Mix) -> list[Rows]:
        """Windows, pairs by length, short texts."""
        n, half, size = of.windows * self.config.n_ctx // of.long, self.config.n_ctx // 2, of.long - 2
        shift = rng.integers(-half, half, size=n)
        first = np.clip(rng.choice(self._starts[id(books)], n) + shift, 0, len(books.stream) - size)
        windows = [(books.stream[a : a + size], None) for a in first]
        pairs: list[Pair] = []
        while len(pairs) < of.pairs:
            found = self.pair(books, rng, of)
            if found:
                pairs.append(found)
        short = [
            (books.sentences(int(rng.integers(len(books.book))), int(rng.integers(1, 4))), None)
            for _ in range(of.short)
        ]
        pairs.sort(key=lambda pair: len(pair.first) + len(pair.second))
        parts = [pairs[i : i + of.pairs // GROUPS] for i in range(0, of.pairs, of.pairs // GROUPS)]
        told = [
            self._rows([pair[:2] for pair in part], rng, of.share, [pair.follows for pair in part])
            for part in parts
        ]
        return [self._rows(windows, rng, of.share), *told, self._rows(short, rng, of.share)]

    def _rows(
        self,
        texts: Sequence[tuple[Array, Array | None]],
        rng: np.random.Generator,
        share: float,
        follows: list[bool] | None = None,
    ) -> Rows:
        ids, segments, real = padded([framed(self.tokenizer, *text) for text in texts], IDS["pad"])
        read, chosen = hide(
            ids,
            ids < N_SPECIAL,
            rng,
            mask=IDS["mask"],
            drawable=np.arange(N_SPECIAL, self.config.n_vocab),
            share=share,
        )
        to = [torch.from_numpy(array) for array in (read, real, segments, chosen, ids[chosen])]
        told = None if follows is None else torch.tensor(follows)
        return Rows(Batch(ids=to[0], real=to[1], segments=to[2]), to[3], to[4], told)

    def _pairs(self, network: Any, groups: list[Rows], hidden: list[Tensor]) -> tuple[Tensor, Tensor]:
        """Scores of the rows that are pairs, and the truth."""
        told = [
            (network.pooled(h), rows.follows)
            for h, rows in zip(hidden, groups, strict=True)
            if rows.follows is not None
        ]
        pooled, follows = (torch.cat(parts) for parts in zip(*told, strict=True))
        return self.scored(network, pooled), follows


def length(step: int) -> int:
    """Tokens of a window at this step.

    In a short row even a pattern that is still flat brings words from near by, and there is something to learn; in long
    ones from the first step this BERT knew after 560 steps how common a word is, and no more.

    >>> length(0), length(799), length(10_000)
    (16, 128, 256)
    """
    return min(RECIPE.config.n_ctx, SHORTEST * 2 ** (step // GROWS))


def mix(step: int) -> Mix:
    """What the batch of this step is made of.

    Always words and pairs together: 600 more steps mostly of pairs, with few hidden words, told no more of them rightly
    (59%) and forgot words (guessed at once: 36% instead of 39%).
    """
    return Mix(length(step), share=HIDDEN + (SHARE - HIDDEN) * min(1.0, step / FALLS), anywhere=step < EASY)


def prepare(data: Path, work: Path, seed: int, device: torch.device) -> Passages:
    saved = work / "tokenizer.json"
    if not saved.is_file():
        wordpiece(english(data), RECIPE.config.n_vocab).save(str(saved))
    tokenizer = Tokenizer.from_file(saved, **IDS)
    books = []
    for name, rows in (("train", _training(data)), ("valid", lines(find(data, PROSE_VALID)))):
        held = work / f"{name}.npz"
        if not held.is_file():
            np.savez(held, **asdict(Books.read(rows, tokenizer)))
        books.append(Books(**np.load(held)))
    return Passages(books[0], books[1], tokenizer, seed, device)


def _training(data: Path) -> Iterator[str]:
    """The prose, then sentences of which each is a book of its own: none of them is the next of another."""
    for name in PROSE:
        yield from lines(find(data, name))
    for line in lines(find(data, SENTENCES)):
        yield from (NEW_TEXT, line)


def begin(network: nn.Module) -> None:
    """What gets a small BERT off the plateau where it knows nothing but how common a word is."""
    as_waves(network, network.embed["token"].weight.std())  # pyright: ignore
    doubled(network, "to_q", "to_k", "to_v")


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
