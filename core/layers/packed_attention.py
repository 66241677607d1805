"""Multi-head attention in less time: one product for queries, keys and values, and a fused kernel while it learns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from core.layers.attention import MultiHeadAttention
from core.layers.cache import Project
from core.layers.linear import HALF, PackedWeight, State, outside_inference_mode, state_of
from core.layers.sdpa import fused_attention
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


class PackedAttention(MultiHeadAttention):
    """The arithmetic of `MultiHeadAttention`: of a frozen layer's self-attention W_Q, W_K and W_V are one matrix.

    >>> attention = PackedAttention(d_model=6, n_heads=3).requires_grad_(False)
    >>> x, allowed = torch.rand(1, 4, 6), torch.ones(4, 4, dtype=torch.bool)
    >>> torch.allclose(attention(x, x, allowed), attention(x, x.clone(), allowed), atol=1e-6)
    True
    """

    _packed: tuple[State, PackedWeight] | None = None

    def projections(
        self, x: Float[Tensor, "batch query d_in"], source: Float[Tensor, "batch pos d_in"]
    ) -> tuple[Float[Tensor, "batch head query d_head"], Project]:
        """Return the queries of `x`, and the function that makes keys and values of `source`; all by one product where both are the same."""
        packed = self.packed_qkv() if x is source else None
        if packed is None:
            return super().projections(x, source)
        parts = packed(x).view(*x.shape[:-1], 3, self.n_heads, self.d_head)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        return q, lambda _: (k, v)

    def mix(
        self,
        q: Float[Tensor, "batch head query d_head"],
        k: Float[Tensor, "batch head key d_head"],
        v: Float[Tensor, "batch head key d_head"],
        allowed: Bool[Tensor, "... #query key"],
        tap: Tap = OFF,
    ) -> Float[Tensor, "batch head query d_head"]:
        """Return for each query the sum of the values times its attention weights; in training by one fused operation, which stores no weights."""
        if self.training and tap is OFF and q.requires_grad:
            return fused_attention(q, k, v, allowed)
        return super().mix(q, k, v, allowed, tap)

    def packed_qkv(self) -> PackedWeight | None:
        """Return W_Q, W_K and W_V below each other, kept until a weight changes; None while they are being learned."""
        maps = (self.to_q, self.to_k, self.to_v)
        state = state_of(*(each.stored for each in maps), *(each.bias for each in maps))
        if state is None or self.to_q.stored.dtype in HALF:
            return None
        if self._packed is None or self._packed[0] != state:
            with outside_inference_mode():
                bias = None if self.to_q.bias is None else torch.cat([each.bias for each in maps])
                stacked = torch.cat([each.stored for each in maps])
                self._packed = (state, PackedWeight(stacked, bias, self.to_q.in_stored_layout))
        return self._packed[1]
