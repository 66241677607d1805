"""Synthetic texts sampled at each step, for a model that reads from left to right."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from core.data.grammar import Split
from core.models import Batch
from core.text import Tokenizer
from core.training.loop.prefetch import to_device

Row = tuple[list[int], list[bool]]
"""Ids, and for each whether it is to be foretold from those before it."""
CHECKED = 16
"""Batches of that many rows, and so many of them, are looked at while training."""


class SyntheticStream:
    """Task of rows by `draw(rng, n, split)`, n a step; the loss is the mean over the tokens to predict."""

    def __init__(
        self,
        draw: Callable[[np.random.Generator, int, Split], list[Row]],
        n_rows: int,
        tokenizer: Tokenizer,
        seed: int,
        device: torch.device,
    ) -> None:
        self.draw, self.n_rows, self.tokenizer, self.seed = draw, n_rows, tokenizer, seed
        rng = np.random.default_rng(0)
        self.valid = to_device(
            self._collate([row for _ in range(CHECKED) for row in draw(rng, CHECKED, "test")]), device
        )

    def batch(self, step: int) -> tuple[tuple[Batch, Tensor, Tensor], int]:
        rows = self.draw(np.random.default_rng((self.seed, step)), self.n_rows, "train")
        return self._collate(rows), sum(len(ids) for ids, _ in rows)

    def loss(self, network: Any, batch: tuple[Batch, Tensor, Tensor]) -> Tensor:
        inputs, wanted, counts = batch
        return F.cross_entropy(network.logits(network(inputs)[counts]).float(), wanted[counts])

    def check(self, network: Any) -> Mapping[str, float]:
        """Return, over the tokens to predict in rows that no training samples, nats a token and the share of right predictions."""
        inputs, wanted, counts = self.valid
        scores = network.logits(network(inputs)[counts]).float()
        right = (scores.argmax(-1) == wanted[counts]).float().mean()
        return {"valid_nats": float(F.cross_entropy(scores, wanted[counts])), "right": float(right)}

    def _collate(self, rows: list[Row]) -> tuple[Batch, Tensor, Tensor]:
        """Return the input, the next token at each position (row pos), and True where it counts."""
        ids = np.full((len(rows), max(len(row) for row, _ in rows)), self.tokenizer.pad, dtype=np.int64)
        real, counts = np.zeros_like(ids, dtype=bool), np.zeros_like(ids, dtype=bool)
        for place, (row, known) in enumerate(rows):
            ids[place, : len(row)], real[place, : len(row)], counts[place, : len(row)] = row, True, known
        to = [torch.from_numpy(array) for array in (ids, real, counts)]
        return Batch(ids=to[0][:, :-1], real=to[1][:, :-1]), to[0][:, 1:], to[2][:, 1:]
