"""The same run once for each head, with that head alone changed: one batch, a row a head."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from core.model import Model
from core.run import Run

if TYPE_CHECKING:
    from jaxtyping import Real


Array = np.ndarray
Change = Callable[[Tensor], Tensor]
"""A function of one head's value, (query, d_head) or (query, key), to its replacement."""
Head = tuple[int, int]
"""Layer and number."""


@dataclass(frozen=True, eq=False)
class _HeadPerRow:
    """An edit of one layer: in row `r` of the batch head `rows[r]` is changed, all others stay."""

    where: str
    rows: dict[int, int]
    change: Change = field(repr=False)

    def __call__(self, value: Tensor) -> Tensor:
        new = value.clone()
        for row, head in self.rows.items():
            new[row, head] = self.change(value[row, head])
        return new


def ablate_each_head(
    model: Model,
    text: str,
    kind: str,
    read: Callable[[Run], Array],
    *,
    target: str | None = None,
    leaf: str = "heads",
    change: Change = torch.zeros_like,
) -> Real[Array, "layer head ..."]:
    """Return the result of `read` for runs in which one head alone is changed. By default the head is zero-ablated.

    `change` is given the head's value at `leaf`. A batch is computed as a whole, so numbers agree with those of one run to
    rounding, not to the bit.
    """
    shape = model.spec.kind(kind).n_layers(model.config), model.config.n_heads
    found = ablate_heads(
        model, text, kind, read, list(np.ndindex(shape)), target=target, leaf=leaf, change=change
    )
    return found.reshape(*shape, *found.shape[1:])


def ablate_heads(
    model: Model,
    text: str,
    kind: str,
    read: Callable[[Run], Array],
    heads: Sequence[Head],
    *,
    target: str | None = None,
    leaf: str = "heads",
    change: Change = torch.zeros_like,
) -> Real[Array, "head ..."]:
    """Return the result of `read` for runs in which one of these heads alone is changed, as `ablate_each_head`."""
    layers = {layer: {row: head for row, (of, head) in enumerate(heads) if of == layer} for layer, _ in heads}
    edits = [
        _HeadPerRow(model.spec.kind(kind).path(layer, leaf), rows, change) for layer, rows in layers.items()
    ]
    runs = model.run_many(
        [text] * len(heads), targets=None if target is None else [target] * len(heads), keep=(), edits=edits
    )
    return np.stack([read(run) for run in runs])
