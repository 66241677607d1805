"""Language models in both directions: the metrics of `core.scoring.language`, for each direction of one network.

Read from its end a text is a text: the backward direction is measured as any language model is, on the tokens of each
text in reverse, after the end token, which is not scored. So each token is scored once by each, in windows of n_ctx
tokens that move by half their length, and both are divided by the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from core.layers.recurrent import reversed_rows
from core.models import Batch
from core.scoring import Metrics, Scoring
from core.scoring.language import scored_texts, token_losses

DIRECTIONS = ("forward", "backward")
BATCH_TOKENS = 32768
"""A step of a recurrent network is a product of as many rows as there are windows: few of them leave the processor idle."""


@dataclass(frozen=True)
class OneWay:
    """One direction as a language model that reads from left to right; the backward one is given its text reversed."""

    network: Any
    direction: int

    @property
    def cfg(self) -> Any:
        return self.network.cfg

    def parameters(self) -> Iterator[Any]:
        return self.network.parameters()

    def __call__(self, batch: Batch) -> Tensor:
        if not self.direction:
            return self.network.one_way(batch, 0)
        ids = reversed_rows(batch.ids[..., None], batch.real)[..., 0]
        return reversed_rows(self.network.one_way(Batch(ids=ids, real=batch.real), 1), batch.real)

    def logits(self, hidden: Tensor) -> Tensor:
        return self.network.scores(hidden)


def reverse_tokens(text: np.ndarray) -> np.ndarray:
    """Return the tokens of a text in reverse, except for its first, the start token, which stays in front.

    >>> reverse_tokens(np.array([0, 5, 6, 7])).tolist()
    [0, 7, 6, 5]
    """
    return np.concatenate((text[:1], text[:0:-1]))


def measure(model: Any, path: Path, limit: int | None = None) -> Metrics:
    """Measure nats_per_token, bits_per_byte and perplexity of each direction on a text file (its first `limit` scored lines).

    `items` are the scored lines. Raises InputError for a file without any.
    """
    texts, n_lines, n_bytes = scored_texts(path, limit, model.tokenizer)
    found: Metrics = {"items": n_lines, "tokens": sum(len(text) - 1 for text in texts), "bytes": n_bytes}
    for direction, name in enumerate(DIRECTIONS):
        read = [reverse_tokens(text) for text in texts] if direction else texts
        lost = token_losses(OneWay(model.network, direction), read, model.config.n_ctx, BATCH_TOKENS)
        nats = sum(float(row.sum()) for row in lost)
        found[f"nats_per_token_{name}"] = nats / found["tokens"]
        found[f"bits_per_byte_{name}"] = nats / math.log(2) / n_bytes
        found[f"perplexity_{name}"] = math.exp(nats / found["tokens"])
    return found


SCORING = Scoring(
    kind="language model each way",
    families=frozenset({"elmo"}),
    suffix=".txt",
    content="running text, a line '=== ID' before each",
    measure=measure,
)
