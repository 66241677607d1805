"""elmo-mini: two small language models, one each way, on what gpt-mini reads and with its tokens.

The token table begins as gpt-mini's, which has read these texts many times; the LSTMs begin with nothing.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from core.checkpoints.manifest import shipped_folder
from core.checkpoints.native_format import load_weights
from core.data.corpora import BOOKS, ENGLISH, PROSE_VALID, find_file
from core.models import Batch
from core.models.elmo import ELMoConfig
from core.text import Tokenizer
from core.training.loop.loss import cross_entropy
from core.training.loop.side_by_side import mean_of
from core.training.recipe import Recipe
from core.training.recipes import gpt_mini

ROWS, LENGTH = 24, 128
"""Windows of a step and their tokens. In three of four steps each is read as two halves: a loop half as long, twice as wide."""
FRESH = 0.1
"""The share of windows that begin as a new text does, and as large a one that end as a text does."""
CHECKED = 96


@dataclass(frozen=True, eq=False)
class Rows:
    """Input (row pos), the token after each, and the token before each."""

    batch: Batch
    after: Tensor
    before: Tensor


class Windows:
    """Long stream of tokens cut into windows; each pass visits every window once, cut at another place."""

    def __init__(
        self, stream: np.ndarray, valid: np.ndarray, tokenizer: Tokenizer, seed: int, device: torch.device
    ) -> None:
        self.stream, self.tokenizer, self.seed = stream, tokenizer, seed
        n = min((len(valid) - 1) // LENGTH - 1, CHECKED)
        self.valid = _rows(np.stack([valid[i * LENGTH : (i + 1) * LENGTH + 2] for i in range(n)]), device)
        self._order: dict[int, np.ndarray] = {}

    def batch(self, step: int) -> tuple[Rows, int]:
        n_windows = (len(self.stream) - 2) // LENGTH - 1
        epoch, place = divmod(step, n_windows // ROWS)
        rng = np.random.default_rng((self.seed, epoch))
        shift = int(rng.integers(LENGTH))
        if epoch not in self._order:
            self._order = {epoch: rng.permutation(n_windows)}
        starts = self._order[epoch][place * ROWS : (place + 1) * ROWS] * LENGTH + shift
        size = LENGTH if step % 4 == 3 else LENGTH // 2
        starts = (starts[:, None] + np.arange(0, LENGTH, size)).ravel()
        found = _rows(np.stack([self.stream[s : s + size + 2] for s in starts]))
        drawn = np.random.default_rng((self.seed, epoch, step)).random((2, len(starts))) < FRESH
        for column, fresh in zip((0, -1), drawn, strict=True):
            found.batch.ids[torch.from_numpy(fresh), column] = gpt_mini.IDS["start"]
        return found, ROWS * LENGTH

    def loss(self, network: Any, batch: Rows) -> Tensor:
        """Return half the sum of the losses of both directions: nats a token and direction."""
        parts = [partial(direction_loss, network, batch, direction) for direction in range(2)]
        if batch.after.device.type == "cpu":
            return mean_of(parts, network)
        return torch.stack([part() for part in parts]).mean()

    def check(self, network: Any) -> Mapping[str, float]:
        names = ("forward", "backward")
        return {
            f"valid_nats_{name}": float(direction_loss(network, self.valid, i))
            for i, name in enumerate(names)
        }


def direction_loss(network: Any, rows: Rows, direction: int) -> Tensor:
    """Return the mean of -log p of one direction's predictions: after each token (0) or before it (1)."""
    read, wanted = network.one_way(rows.batch, direction), (rows.after, rows.before)[direction]
    return cross_entropy(
        read.flatten(0, 1), network.embed["token"].weight, wanted.flatten(), bias=network.bias
    )


def _rows(cut: np.ndarray, device: torch.device | None = None) -> Rows:
    """Return the inner tokens of each window as input; the first and the last are only predicted."""
    ids = torch.from_numpy(cut.astype(np.int64)).to(device)
    read = ids[:, 1:-1].clone()
    return Rows(Batch(ids=read, real=torch.ones_like(read, dtype=torch.bool)), ids[:, 2:], ids[:, :-2])


def prepare(data: Path, work: Path, seed: int, device: torch.device) -> Windows:
    saved, streams = work / "tokenizer.json", work / "streams.npz"
    shutil.copyfile(shipped_folder() / gpt_mini.RECIPE.name / "tokenizer.json", saved)
    tokenizer = Tokenizer.from_file(saved, **gpt_mini.IDS)
    if not streams.is_file():
        train = np.concatenate([gpt_mini.encode_file(find_file(data, name), tokenizer) for name in ENGLISH])
        np.savez(streams, train=train, valid=gpt_mini.encode_file(find_file(data, PROSE_VALID), tokenizer))
    held = np.load(streams)
    return Windows(held["train"], held["valid"], tokenizer, seed, device)


@torch.no_grad()
def begin(network: Any) -> None:
    """Copy the token table that gpt-mini learned."""
    network.embed["token"].weight.copy_(
        load_weights(shipped_folder() / gpt_mini.RECIPE.name)["embed.token.weight"]
    )


RECIPE = Recipe(
    name="elmo-mini",
    family="elmo",
    config=ELMoConfig(n_layers=2, d_model=512, d_hidden=320, n_vocab=4096, n_ctx=512),
    steps=6000,
    prepare=prepare,
    begin=begin,
    ids=gpt_mini.IDS,
    reads=BOOKS,
    lr=2e-3,
    matrix_lr=0.02,
    warm_up=100,
)
