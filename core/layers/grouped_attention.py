"""Attention whose query heads share keys and values in groups, with rotary positions; every step named."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from core.layers.attention import masked_softmax
from core.layers.cache import NO_STORE, KeysValues, Store
from core.layers.linear import Linear
from core.layers.norm import RMSNorm
from core.trace import OFF, Tap

Turn = Callable[[Tensor], Tensor]
"""Turns queries or keys (batch head pos d_head) by their positions."""


class GroupedQueryAttention(nn.Module):
    """softmax(Q K^T / sqrt(d_head)) V in each head; `n_heads / n_kv_heads` neighbouring heads read one key and value head.

    Ainslie et al. 2023; with as many of both it is multi-head attention, with one key head multi-query attention (Shazeer
    2019). Queries and keys are turned by their positions (rotary, Su et al. 2021) after they were normed, where `qk_norm`
    asks for it. x (batch query d_model), allowed broadcastable to (batch head query key) -> (batch query d_model).

    In the trace `q_plain` and `k_plain` are what is turned; `k` and `v` are what each query head reads, so those of one
    group are equal. The store holds the turned keys of the groups alone.

    >>> import torch
    >>> attend = GroupedQueryAttention(d_model=6, n_heads=4, n_kv_heads=2, d_head=2)
    >>> x = torch.ones(1, 3, 6)
    >>> attend(x, torch.ones(3, 3, dtype=torch.bool), lambda each: each).shape
    torch.Size([1, 3, 6])
    """

    mixes = True
    """There is a W_O."""

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_kv_heads: int,
        d_head: int,
        *,
        bias: bool = False,
        out_bias: bool = False,
        qk_norm: bool = False,
        eps: float = 1e-6,
    ) -> None:
        super().__init__()
        if n_heads % n_kv_heads:
            raise ValueError(f"n_heads={n_heads} is not divisible by n_kv_heads={n_kv_heads}")
        self.n_heads, self.n_kv_heads, self.d_head = n_heads, n_kv_heads, d_head
        self.to_q = Linear(d_model, n_heads * d_head, bias=bias)
        self.to_k = Linear(d_model, n_kv_heads * d_head, bias=bias)
        self.to_v = Linear(d_model, n_kv_heads * d_head, bias=bias)
        self.to_out = Linear(n_heads * d_head, d_model, bias=out_bias)
        self.q_norm = RMSNorm(d_head, eps=eps) if qk_norm else None
        self.k_norm = RMSNorm(d_head, eps=eps) if qk_norm else None

    def forward(
        self, x: Tensor, allowed: Tensor, turn: Turn, tap: Tap = OFF, store: Store = NO_STORE
    ) -> Tensor:
        q = self._split(self.to_q(x), self.n_heads)
        q = tap("q_plain", q if self.q_norm is None else self.q_norm(q), "batch head query d_head")
        q = tap("q", turn(q), "batch head query d_head")

        def project(source: Tensor) -> KeysValues:
            k = self._split(self.to_k(source), self.n_kv_heads)
            k = tap("k_plain", k if self.k_norm is None else self.k_norm(k), "batch kv_head key d_head")
            return turn(k), self._split(self.to_v(source), self.n_kv_heads)

        k, v = store(project, x)
        k = tap("k", self._shared(k), "batch head key d_head")
        v = tap("v", self._shared(v), "batch head key d_head")
        scores = tap("scores", self.compared(q, k), "batch head query key")
        allowed = tap("allowed", allowed.expand_as(scores), "batch head query key")
        pattern = tap("pattern", masked_softmax(scores, allowed), "batch head query key")
        heads = tap("heads", pattern.to(v.dtype) @ v, "batch head query d_head")
        return tap("out", self.to_out(heads.transpose(1, 2).flatten(-2)), "batch query d_model")

    def compared(self, q: Tensor, k: Tensor) -> Tensor:
        """The score of each query with each key: (batch head query key)."""
        return q @ k.mT / math.sqrt(self.d_head)

    def group_of(self, head: int) -> int:
        """The key and value head that a query head reads.

        >>> [GroupedQueryAttention(6, 4, 2, 2).group_of(head) for head in range(4)]
        [0, 0, 1, 1]
        """
        return head * self.n_kv_heads // self.n_heads

    def _split(self, x: Tensor, n: int) -> Tensor:
        return x.unflatten(-1, (n, self.d_head)).transpose(
            1, 2
        )  # batch pos (head d_head) -> batch head pos d_head

    def _shared(self, each: Tensor) -> Tensor:
        """A copy of each key or value head for every query head of its group."""
        return each.repeat_interleave(self.n_heads // self.n_kv_heads, dim=1)


class CappedAttention(GroupedQueryAttention):
    """The same with scores divided by a root of their own and kept between -cap and cap.

    s = q k^T / sqrt(scale), then cap tanh(s / cap) where there is a `cap` (0: none): Gemma 2 (Gemma Team 2024, section 2;
    Bello et al. 2017). `scale` is d_head where a model says nothing else.

    >>> attend = CappedAttention(6, 4, 2, 2, scale=9.0, cap=5.0)
    >>> round(attend.compared(torch.full((1, 1, 1, 2), 30.0), torch.full((1, 1, 1, 2), 1.0)).item(), 4)
    4.9966
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_kv_heads: int,
        d_head: int,
        *,
        scale: float,
        cap: float = 0.0,
        qk_norm: bool = False,
        eps: float = 1e-6,
    ) -> None:
        super().__init__(d_model, n_heads, n_kv_heads, d_head, qk_norm=qk_norm, eps=eps)
        self.divisor, self.cap = math.sqrt(scale), cap

    def compared(self, q: Tensor, k: Tensor) -> Tensor:
        return capped(q @ k.mT / self.divisor, self.cap)


def capped(x: Tensor, cap: float) -> Tensor:
    """cap tanh(x / cap), which is x near 0 and never beyond the cap; x itself where the cap is 0."""
    return cap * torch.tanh(x / cap) if cap else x
