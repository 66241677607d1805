"""Compact storage of the weights that a fine-tuning changed: W - W_0 in whole numbers, a scale a row, and of a table only the rows that changed.

A body of 7 million weights is 28 MB, and so is each that is tuned from it; how far it moved is known well enough from
steps of 1/7 of the largest movement of each row, two of them in a byte.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

SCALE, ROWS = ".scale", ".rows"
"""A matrix has two more tensors beside it: (row,) the size of a step, and which rows these are."""
MOST = 7


def encode_delta(weights: Mapping[str, Tensor], before: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the stored form of weights: of a matrix with an earlier value its change in quantized steps, of anything else half precision.

    >>> before, after = torch.zeros(3, 4), torch.tensor([[0.0, 0, 0, 0], [7, -7, 3, 0], [0, 0, 0, 0]])
    >>> kept = encode_delta({"w": after}, {"w": before})
    >>> kept["w.rows"].tolist(), kept["w"].shape, kept["w"].dtype
    ([1], torch.Size([1, 2]), torch.uint8)
    >>> torch.equal(apply_delta(kept, {"w": before})["w"], after)
    True
    """
    kept = dict[str, Tensor]()
    for name, weight in weights.items():
        old = before.get(name)
        if old is None or weight.ndim != 2 or weight.shape[1] % 2:
            kept[name] = (weight if old is None else weight - old).half()
            continue
        gap = weight - old
        rows = gap.any(dim=1).nonzero()[:, 0]
        scale = gap[rows].abs().amax(dim=1) / MOST
        whole = (gap[rows] / scale[:, None]).round().clamp(-MOST, MOST).to(torch.int16) + MOST + 1  # 1 .. 15
        kept |= {
            name: (whole[:, ::2] * 16 + whole[:, 1::2]).to(torch.uint8),
            name + SCALE: scale,
            name + ROWS: rows.to(torch.int32),
        }
    return kept


def apply_delta(
    delta: Mapping[str, Tensor], before: Mapping[str, Tensor], *, overwrite: bool = False
) -> dict[str, Tensor]:
    """Return the weights from their stored change and their earlier values; with `overwrite` in place of those, which saves the memory of a copy."""
    found = dict[str, Tensor]()
    for name, stored in delta.items():
        if name.endswith((SCALE, ROWS)):
            continue
        if name + SCALE not in delta:
            found[name] = stored.float() + before[name] if name in before else stored.float()
            continue
        whole = torch.stack((stored // 16, stored % 16), dim=-1).flatten(1).float() - (MOST + 1)
        found[name] = before[name] if overwrite else before[name].clone()
        found[name][delta[name + ROWS].long()] += whole * delta[name + SCALE][:, None]
    return found
