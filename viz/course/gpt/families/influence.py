"""Influence of each input on each output: each input vector is moved, one after the other, and the outputs are compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from core.analysis.residual.ripple import KEEP, ripple
from core.errors import InputError
from core.model import Model

Array = np.ndarray
PUSH = (0.5, -0.25)
"""Added in turn to the numbers of a token's vector as it enters the first layer."""
ROUNDING = 1e-6
"""The share below which a change is rounding: all inputs are moved in one batch, whose rows are rounded differently."""


def influence(model: Model, text: str, side: str = "target", target: str | None = None) -> Array:
    """Return how much each position moves in each layer when one input is moved: (input, layer + 1, position).

        r_j,l,i = |x'_l,i - x_l,i| / |x_l,i|     x' with input j moved

    The last layer is the pattern where the Jacobian d y_i / d x_j is not zero. `side` is "target", the text whose
    outputs are compared, or "source", what a translator reads; `target` is the text it writes, its own translation if not given.
    Where no change arrives the number is 0, up to rounding.
    Raises InputError for a source that the model does not have, and for a model without layers of attention.
    """
    stacks = model.spec.stacks
    if not any(kind.layered for kind in model.spec.kinds) or (side == "source" and not model.spec.has_source):
        raise InputError(
            f"{model.name} has no {side} in which a change of a word could spread through layers.",
            "Only layers of attention spread it.",
            "Choose another model.",
        )
    two = len(stacks) > 1
    stack = "decoder" if two else None
    path = ("encoder." if side == "source" else "decoder.") * two + "embed.out"
    before = model.run(text, keep=KEEP, **({"target": target} if target is not None else {}))  # pyright: ignore[reportArgumentType]
    n = len(before.source.ids) if side == "source" and before.source else before.side.n_real
    rows = model.run_many(
        [text] * (n + 1),
        targets=[before.target_text] * (n + 1) if two else None,
        keep=KEEP,
        edits=(_PushEach(path),),
    )
    changes = np.stack([ripple(rows[-1], row, stack) for row in rows[:-1]])
    return np.where(changes < ROUNDING, 0.0, changes)


@dataclass(frozen=True)
class _PushEach:
    """An edit that pushes row r of the batch at position r; the last row stays. At `embed.out` (batch pos d_model)."""

    where: str

    def __call__(self, resid: Tensor) -> Tensor:
        pushed, push = resid.clone(), torch.tensor(np.resize(PUSH, resid.shape[-1]), dtype=resid.dtype)
        for place in range(len(resid) - 1):
            pushed[place, place] += push
        return pushed
