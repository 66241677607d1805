"""The same run once for each head, with that head alone changed: one batch, a row a head."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from core.model import Model
from core.run import Run

Array = np.ndarray
Change = Callable[[Tensor], Tensor]
"""One head's value, (query, d_head) or (query, key), to what stands in for it."""


@dataclass(frozen=True, eq=False)
class _OneEach:
    """At one layer: row `first + h` of the batch has its head h changed, all others are as they are."""

    where: str
    first: int
    change: Change = field(repr=False)

    def __call__(self, value: Tensor) -> Tensor:
        new = value.clone()
        for head in range(value.shape[1]):
            new[self.first + head, head] = self.change(value[self.first + head, head])
        return new


def each_head(
    model: Model, text: str, kind: str, read: Callable[[Run], Array], *, target: str | None = None, leaf: str = "heads", change: Change = torch.zeros_like
) -> Array:
    """What `read` says of the run in which one head alone is changed: (layer, head, ..). As it stands the head is off.

    `change` is given the head's value at `leaf`. A batch is computed as a whole, so numbers agree with those of one run to
    rounding, not to the bit.
    """
    found, n_heads = model.spec.kind(kind), model.config.n_heads
    layers = range(found.n_layers(model.config))
    copies = [text] * (len(layers) * n_heads)
    edits = [_OneEach(found.path(layer, leaf), layer * n_heads, change) for layer in layers]
    runs = model.run_many(copies, targets=None if target is None else [target] * len(copies), keep=(), edits=edits)
    return np.stack([read(run) for run in runs]).reshape(len(layers), n_heads, *np.shape(read(runs[0])))
