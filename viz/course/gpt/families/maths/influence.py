"""Which inputs influence which output: each input vector is moved, one after the other, and the outputs are compared."""

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
"""Added in turn to the numbers of a word's vector, as it enters the first layer."""
ROUNDING = 1e-6
"""All inputs are moved in one batch, whose rows are rounded differently; less than this share counts as nothing."""


def influence(model: Model, text: str, of: str = "target", target: str | None = None) -> Array:
    """How much each place moves in each layer when one input is moved: (input, layer + 1, place).

        r_j,l,i = |x'_l,i - x_l,i| / |x_l,i|     x' with input j moved

    The last layer is the pattern where the Jacobian d y_i / d x_j is not zero. `of` is "target", the text that the outputs
    stand over, or "source", what a translator reads; `target` what it is given to write (without: its own translation).
    Where a change cannot come the number is 0, up to rounding.
    Raises InputError for a source that there is not, and for a model without layers of attention.
    """
    stacks = model.spec.stacks
    if not any(kind.layered for kind in model.spec.kinds) or (of == "source" and not model.spec.has_source):
        raise InputError(
            f"{model.name} has no {of} in which a change of a word could spread through layers.",
            "Only layers of attention spread it.",
            "Choose another model.",
        )
    two = len(stacks) > 1
    side = "decoder" if two else None
    path = ("encoder." if of == "source" else "decoder.") * two + "embed.out"
    before = model.run(text, keep=KEEP, **({"target": target} if target is not None else {}))  # pyright: ignore[reportArgumentType]
    n = len(before.source.ids) if of == "source" and before.source else before.side.n_real
    rows = model.run_many(
        [text] * (n + 1),
        targets=[before.target_text] * (n + 1) if two else None,
        keep=KEEP,
        edits=(_PushEach(path),),
    )
    moved = np.stack([ripple(rows[-1], row, side) for row in rows[:-1]])
    return np.where(moved < ROUNDING, 0.0, moved)


@dataclass(frozen=True)
class _PushEach:
    """Row r of the batch gets the push at position r; the last row stays as it was. At `embed.out` (batch pos d_model)."""

    where: str

    def __call__(self, resid: Tensor) -> Tensor:
        moved, push = resid.clone(), torch.tensor(np.resize(PUSH, resid.shape[-1]), dtype=resid.dtype)
        for place in range(len(resid) - 1):
            moved[place, place] += push
        return moved
