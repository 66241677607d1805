"""Initial values of weights, for a network that is not yet trained or loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from jaxtyping import Float


def shapes_only() -> bool:
    """Return whether a network is being built on the meta device, where tensors have shapes and no numbers.

    Computing there is of no use and costs every start of the app a second: torch imports its compiler for it.
    """
    return torch.get_default_device().type == "meta"


def normal(*shape: int, std: float) -> Float[Tensor, "..."]:
    """Return a tensor of `shape`, sampled from N(0, std^2); without values on the meta device.

    >>> normal(2, 3, std=0.02).shape
    torch.Size([2, 3])
    """
    table = torch.empty(shape)
    return table if shapes_only() else table.normal_(std=std)
