"""Attention without an output projection: the heads are concatenated, as in SNAIL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from core.layers.packed_attention import PackedAttention

if TYPE_CHECKING:
    from jaxtyping import Float


class IdentityProjection(nn.Module):
    """The identity in place of W_O, with a `weight` to read as such.

    >>> IdentityProjection(2).weight.tolist(), IdentityProjection(2).bias
    ([[1.0, 0.0], [0.0, 1.0]], None)
    """

    bias = None

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.d_model = d_model

    @property
    def weight(self) -> Float[Tensor, "d_model d_model"]:
        """Return the identity matrix."""
        return torch.eye(self.d_model)

    def forward(self, x: Float[Tensor, "batch pos d_model"]) -> Float[Tensor, "batch pos d_model"]:
        """Return `x`."""
        return x


class ConcatenatedAttention(PackedAttention):
    """Multi-head attention without W_O, over inputs of width `d_in` (Mishra et al. 2018, section 3).

    >>> attention, x = ConcatenatedAttention(6, 3, d_in=7), torch.ones(1, 4, 7)
    >>> attention(x, x, torch.ones(4, 4, dtype=torch.bool)).shape
    torch.Size([1, 4, 6])
    """

    has_output_projection = False

    def __init__(self, d_model: int, n_heads: int, *, d_in: int) -> None:
        super().__init__(d_model, n_heads, d_in=d_in)
        self.to_out = IdentityProjection(d_model)  # type: ignore[assignment]
