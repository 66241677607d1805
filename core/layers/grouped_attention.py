"""Attention whose query heads share keys and values in groups, with rotary positions; every step named."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from core.layers.cache import NO_STORE, KeysValues, Store
from core.layers.from_scores import FromScores
from core.layers.init import normal
from core.layers.linear import Linear
from core.layers.norm import RMSNorm
from core.layers.score_terms import SINK, Term, cap, product, scale
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


Turn = Callable[[Tensor], Tensor]
"""Rotates queries or keys (batch head pos d_head) by their positions."""


class GroupedQueryAttention(FromScores):
    """softmax(Q K^T / sqrt(d_head)) V in each head; `n_heads / n_kv_heads` neighbouring heads read one key and value head.

    Ainslie et al. 2023; with as many of both it is multi-head attention, with one key head multi-query attention (Shazeer
    2019). Queries and keys are rotated by their positions (rotary, Su et al. 2021) in their first `n_turned` numbers (None:
    in all). With `qk_norm` they are normed before, head by head; with `wide_norm` all heads at once (OLMo 2).

    Scores are divided by the root of `scale` (None: d_head). Where `cap` is not 0 they are kept between -cap and cap by
    cap tanh(s / cap): Gemma 2 (Gemma Team 2024, section 2; Bello et al. 2017).

    With `sinks` each head has a learned score that counts beside those of the keys and has no value (gpt-oss, OpenAI 2025).

    In the trace `q_plain` and `k_plain` are queries and keys before the rotation; `k` and `v` are those that each query head
    reads, so they are equal within a group. The store has the rotated keys of the groups alone.

    >>> import torch
    >>> attend = GroupedQueryAttention(d_model=6, n_heads=4, n_kv_heads=2, d_head=2)
    >>> x = torch.ones(1, 3, 6)
    >>> attend(x, torch.ones(3, 3, dtype=torch.bool), lambda each: each).shape
    torch.Size([1, 3, 6])
    """

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
        wide_norm: bool = False,
        eps: float = 1e-6,
        n_turned: int | None = None,
        scale: float | None = None,
        cap: float = 0.0,
        sinks: bool = False,
    ) -> None:
        super().__init__()
        if n_heads % n_kv_heads:
            raise ValueError(f"n_heads={n_heads} is not divisible by n_kv_heads={n_kv_heads}")
        self.n_heads, self.n_kv_heads, self.d_head = n_heads, n_kv_heads, d_head
        self.n_turned = d_head if n_turned is None else n_turned
        self.scale, self.cap = d_head if scale is None else scale, cap
        self.to_q = Linear(d_model, n_heads * d_head, bias=bias)
        self.to_k = Linear(d_model, n_kv_heads * d_head, bias=bias)
        self.to_v = Linear(d_model, n_kv_heads * d_head, bias=bias)
        self.to_out = Linear(n_heads * d_head, d_model, bias=out_bias)
        self.wide_norm = wide_norm
        widths = (n_heads * d_head, n_kv_heads * d_head) if wide_norm else (d_head, d_head)
        self.q_norm, self.k_norm = (RMSNorm(n, eps=eps) if qk_norm or wide_norm else None for n in widths)
        self.sinks = nn.Parameter(normal(n_heads, std=0.02)) if sinks else None

    def forward(
        self,
        x: Float[Tensor, "batch query d_model"],
        allowed: Bool[Tensor, "... #query key"],
        turn: Turn,
        tap: Tap = OFF,
        store: Store = NO_STORE,
    ) -> Float[Tensor, "batch query d_model"]:
        q = tap("q_plain", self._normed(self.to_q(x), self.q_norm), "batch head query d_head")
        q = tap("q", turn(q), "batch head query d_head")

        def project(source: Tensor) -> KeysValues:
            k = tap("k_plain", self._normed(self.to_k(source), self.k_norm), "batch kv_head key d_head")
            return turn(k), self.split(self.to_v(source))

        k, v = store(project, x)
        k = tap("k", self._shared(k), "batch head key d_head")
        v = tap("v", self._shared(v), "batch head key d_head")
        scores = soft_cap(q @ k.mT / math.sqrt(self.scale), self.cap)
        if self.sinks is None:
            return self.attend(scores, allowed, v, tap)
        sink = self.sinks.to(scores.dtype)[:, None, None].expand(*scores.shape[:-1], 1)
        return self.attend(scores, allowed, v, tap, tap("sink", sink, "batch head query one"))

    def score_terms(self) -> tuple[Term, ...]:
        """Return the terms of a score, in the order in which they are computed."""
        caps = (cap(self.cap),) if self.cap else ()
        sinks = () if self.sinks is None else (SINK,)
        return product(self.n_turned, self.d_head), scale(self.scale, self.d_head), *caps, *sinks

    def group_of(self, head: int) -> int:
        """Return the key and value head that a query head reads.

        >>> [GroupedQueryAttention(6, 4, 2, 2).group_of(head) for head in range(4)]
        [0, 0, 1, 1]
        """
        return head * self.n_kv_heads // self.n_heads

    def _normed(self, x: Tensor, norm: RMSNorm | None) -> Tensor:
        if norm is None:
            return self.split(x)
        return self.split(norm(x)) if self.wide_norm else norm(self.split(x))

    def _shared(self, each: Tensor) -> Tensor:
        """Return a copy of each key or value head for every query head of its group."""
        return each.repeat_interleave(self.n_heads // self.n_kv_heads, dim=1)


def soft_cap(x: Float[Tensor, "*shape"], cap: float) -> Float[Tensor, "*shape"]:
    """Return cap tanh(x / cap), which is x near 0 and never beyond the cap; x itself where the cap is 0."""
    return cap * torch.tanh(x / cap) if cap else x
