"""Many sentences at once, without records: what evaluation and a missing target need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from core.layers.cache import Cache
from core.models import Batch
from core.trace import Edit, Recorder

Step = Callable[[Tensor], Tensor]


def greedy(
    network: Any, batch: Batch, *, start: int, end: int, limit: int | Sequence[int], edits: Sequence[Edit] = ()
) -> list[list[int]]:
    """The most probable token at each step, for each row of `batch.source`, until `end` or `limit` tokens.

    `network` is an encoder-decoder; `batch.ids` is not used. Neither START nor END is in the result.
    With edits the whole prefix is read anew at each step, so that an edit of query 3 meets the same cell each time.
    """
    assert batch.source is not None
    n_rows = batch.source.shape[0]
    limits = [limit] * n_rows if isinstance(limit, int) else list(limit)
    step = _cached(network, batch) if not edits else _edited(network, batch, edits)
    last = torch.full((n_rows, 1), start, device=batch.source.device)
    written: list[list[int]] = [[] for _ in range(n_rows)]
    going = [limit > 0 for limit in limits]
    while any(going):
        chosen = step(last)
        for row, token in enumerate(chosen.tolist()):
            if going[row]:
                if token == end:
                    going[row] = False
                    continue
                written[row].append(token)
                going[row] = len(written[row]) < limits[row]
        last = chosen[:, None]
    return written


def _cached(network: Any, batch: Batch) -> Step:
    cache, memory = Cache(network.cfg.n_layers), network.encode(batch)

    def step(last: Tensor) -> Tensor:
        new = replace(batch, ids=last, real=torch.ones_like(last, dtype=torch.bool))
        return network.logits(network(new, cache=cache, memory=memory)[:, -1]).argmax(-1)

    return step


def _edited(network: Any, batch: Batch, edits: Sequence[Edit]) -> Step:
    written: list[Tensor] = []

    def step(last: Tensor) -> Tensor:
        written.append(last)
        ids = torch.cat(written, dim=1)
        tap = Recorder((), edits, partial=True)
        hidden = network(replace(batch, ids=ids, real=torch.ones_like(ids, dtype=torch.bool)), tap=tap)
        return network.logits(hidden, tap)[:, -1].argmax(-1)

    return step
