"""bigbird-mini: bert-mini trained further with a mask in blocks, on whole pages of the same books."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.checkpoints.store import load_weights, shipped_folder
from core.data.corpora import BOOKS, PROSE, PROSE_VALID, find_file, read_lines
from core.data.passages import Array, Books, add_special_tokens, hide, pad_rows
from core.models import Batch
from core.models.bigbird import BigBirdConfig
from core.text import Tokenizer
from core.training.loop.loss import cross_entropy
from core.training.loop.prefetch import to_device
from core.training.more_positions import more_positions
from core.training.recipe import Recipe
from core.training.recipes.bert_mini import IDS, N_SPECIAL, Rows

BASE = "bert-mini"
PARTS = ((1024, 1, "sparse"), (512, 1, "sparse"), (512, 2, "full"), (128, 4, "sparse"))
"""A batch: so many tokens in a window, so many windows, and the mask; small, for two cores.

As many tokens are read in full as in long windows of blocks: a network that had never learned to read in full would tell
nothing of what blocks cost.
"""
SHORT, MOST = 8, 3
"""Besides, texts of 1 to 3 sentences: what people type."""
CHECKED = 4
DROPPED = ("pooler.", "to_next_sentence.")
"""Begin the names of what bert-mini has and this one has not: it guesses hidden words only."""


class Pages:
    """Windows of three lengths and short texts, sampled at each step."""

    def __init__(
        self, train: Books, valid: Books, tokenizer: Tokenizer, seed: int, device: torch.device
    ) -> None:
        self.tokenizer, self.seed, self.device = tokenizer, seed, device
        self.train, self.valid = train, valid
        self._starts = {
            (id(books), size): books.window_starts(size - 2) for books in (train, valid) for size, *_ in PARTS
        }

    def batch(self, step: int) -> tuple[list[Rows], int]:
        rng = np.random.default_rng((self.seed, step))
        groups = [self._windows(self.train, rng, size, n) for size, n, _ in PARTS]
        short = [
            self.train.sentences(int(rng.integers(len(self.train.book))), int(rng.integers(1, MOST + 1)))
            for _ in range(SHORT)
        ]
        groups.append(self._rows(short, rng))
        return groups, sum(int(rows.batch.real.sum()) for rows in groups)

    def loss(self, network: Any, batch: list[Rows]) -> Tensor:
        """Return the mean loss over masked words, in nats."""
        by_mask = {"sparse": network, "full": copy.copy(network)}  # the same layers and weights
        by_mask["full"].cfg = replace(network.cfg, layout="full")
        read = zip(batch, [*(mask for *_, mask in PARTS), "sparse"], strict=True)
        guessed = torch.cat([by_mask[mask](rows.batch)[rows.masked] for rows, mask in read])
        wanted = torch.cat([rows.targets for rows in batch])
        head, table = network.masked_lm, network.embed["token"].weight
        return cross_entropy(head.transformed(guessed), table, wanted, bias=head.bias)

    def check(self, network: Any) -> Mapping[str, float]:
        """Return nats and top-1 accuracy on the longest windows."""
        right = n = lost = 0.0
        rng = np.random.default_rng(0)
        for _ in range(CHECKED):
            rows = to_device(self._windows(self.valid, rng, *PARTS[0][:2]), self.device)
            scores = network.logits(network(rows.batch)[rows.masked]).float()
            lost += float(F.cross_entropy(scores, rows.targets, reduction="sum"))
            right += int((scores.argmax(-1) == rows.targets).sum())
            n += len(scores)
        return {"valid_nats": lost / n, "top1": right / n}

    def _windows(self, books: Books, rng: np.random.Generator, size: int, n: int) -> Rows:
        shift = rng.integers(-size // 2, size // 2, size=n)
        starts = rng.choice(self._starts[id(books), size], n) + shift
        first = np.clip(starts, 0, len(books.stream) - size + 2)
        return self._rows([books.stream[a : a + size - 2] for a in first], rng)

    def _rows(self, texts: Sequence[Array], rng: np.random.Generator) -> Rows:
        ids, segments, real = pad_rows(
            [add_special_tokens(self.tokenizer, text) for text in texts], IDS["pad"]
        )
        drawable = np.arange(N_SPECIAL, RECIPE.config.n_vocab)
        read, chosen = hide(ids, ids < N_SPECIAL, rng, mask=IDS["mask"], drawable=drawable)
        to = [torch.from_numpy(array) for array in (read, real, segments, chosen, ids[chosen])]
        return Rows(Batch(ids=to[0], real=to[1], segments=to[2]), to[3], to[4])


def repeat_positions(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return bert-mini's weights with its positions repeated until all have a vector (as Beltagy et al. 2020, section 5).

    What it knows of the places near by is then right in blocks, but at the seams; who reads everything meets each place several times.

    >>> repeat_positions({"embed.position.weight": torch.arange(256.0)[:, None], "pooler.bias": torch.ones(1)})["embed.position.weight"][[0, 257, 1023], 0]
    tensor([  0.,   1., 255.])
    """
    kept = {name: value for name, value in weights.items() if not name.startswith(DROPPED)}
    places = kept["embed.position.weight"]
    again = -(-RECIPE.config.n_ctx // len(places))
    return kept | {"embed.position.weight": places.repeat(again, 1)[: RECIPE.config.n_ctx].clone()}


def inherit(network: nn.Module) -> None:
    """Initialise from bert-mini, with additional positions that its heads can distinguish.

    On 276 passages of 512 tokens (the first 2,000 paragraphs of valid), before the first step, the full mask then guesses
    48.6% of the hidden words and the blocks 50.0%; with places used again, on 48 windows, 26% and 50%.
    """
    weights = load_weights(shipped_folder() / BASE)
    network.load_state_dict(repeat_positions(weights))
    full: Any = copy.copy(network.eval())
    full.cfg = replace(RECIPE.config, layout="full")
    table = more_positions(full, len(weights["embed.position.weight"]), RECIPE.config.n_ctx)
    full.embed["position"].weight.data.copy_(table)


def prepare(data: Path, work: Path, seed: int, device: torch.device) -> Pages:
    """Return the books in bert-mini's tokens."""
    saved = work / "tokenizer.json"
    if not saved.is_file():
        shutil.copyfile(shipped_folder() / BASE / "tokenizer.json", saved)
    tokenizer = Tokenizer.from_file(saved, **IDS)
    books: list[Books] = []
    for name, files in (("train", PROSE), ("valid", (PROSE_VALID,))):
        books_file = work / f"{name}.npz"
        if not books_file.is_file():
            rows = (line for file in files for line in read_lines(find_file(data, file)))
            np.savez(books_file, **asdict(Books.read(rows, tokenizer)))
        books.append(Books(**np.load(books_file)))
    return Pages(books[0], books[1], tokenizer, seed, device)


RECIPE = Recipe(
    name="bigbird-mini",
    family="bigbird",
    config=BigBirdConfig(
        n_layers=6,
        n_heads=8,
        d_model=256,
        d_ff=1024,
        n_vocab=8000,
        n_ctx=1024,
        activation="gelu",
        pooler=False,
        next_sentence=False,
        block=16,
    ),
    steps=600,
    prepare=prepare,
    inherit=inherit,
    ids=IDS,
    reads=BOOKS,
    lr=2e-4,
    matrix_lr=2e-3,
    warm_up=20,
)
