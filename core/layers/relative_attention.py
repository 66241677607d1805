"""Attention whose scores have something added for how far a key is away, and need not be divided; every step named."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.layers.attention import masked_softmax
from core.layers.cache import NO_STORE, KeysValues, Store
from core.layers.init import normal
from core.layers.linear import Linear
from core.trace import OFF, Tap


def buckets(distance: Tensor, *, both: bool, n: int, furthest: int) -> Tensor:
    """The bucket of each distance (key minus query, whole numbers): near ones have their own, farther ones share them.

    Raffel et al. 2020, section 2.1. With `both` half of the n buckets are for keys behind the query, otherwise all are for
    those before it, and those behind share the first. Half of a side's buckets hold one distance each; the others grow with
    its logarithm up to `furthest`, from where on all share the last. Any shape -> the same.

    >>> buckets(torch.tensor([-9, -1, 0, 1, 9]), both=True, n=8, furthest=8).tolist()
    [3, 1, 0, 5, 7]
    """
    first, away = torch.zeros_like(distance), -distance.clamp(max=0)
    if both:
        n //= 2
        first, away = (distance > 0).long() * n, distance.abs()
    exact = n // 2
    share = torch.log(away.clamp(min=1).float() / exact) / math.log(furthest / exact)
    far = (exact + (share * (n - exact)).long()).clamp(max=n - 1)
    return first + torch.where(away < exact, away, far)


class RelativeBias(nn.Module):
    """A number for each head and each bucket of distances: ``weight`` (bucket head), shared by the layers of a stack.

    `forward` lays it out for `n_query` queries, the last of `n_key` positions: (1 head query key).

    >>> RelativeBias(8, 3, both=True, furthest=16)(2, 5).shape
    torch.Size([1, 3, 2, 5])
    """

    def __init__(self, n_buckets: int, n_heads: int, *, both: bool, furthest: int) -> None:
        super().__init__()
        self.both, self.furthest = both, furthest
        self.weight = nn.Parameter(normal(n_buckets, n_heads, std=0.02))

    def forward(self, n_query: int, n_key: int) -> Tensor:
        places = torch.arange(n_key, device=self.weight.device)
        distance = places[None, :] - places[n_key - n_query :, None]
        which = buckets(distance, both=self.both, n=len(self.weight), furthest=self.furthest)
        return F.embedding(which, self.weight).permute(2, 0, 1)[None]


class RelativeAttention(nn.Module):
    """softmax(Q K^T / divisor + bias) V in each head, heads merged by W_O.

    `divisor` is sqrt(d_head) where it is `scaled`, otherwise 1 (T5, GPT-Neo). The bias (broadcastable to batch head query key)
    is that of the stack, None where a layer has none: then nothing is tapped as `bias`. x (batch query d_model), source
    (batch key d_model), allowed broadcastable to (batch head query key) -> (batch query d_model).

    >>> attend = RelativeAttention(6, 4, 2, scaled=False)
    >>> x = torch.ones(1, 3, 6)
    >>> attend(x, x, torch.ones(3, 3, dtype=torch.bool), torch.zeros(1, 4, 3, 3)).shape
    torch.Size([1, 3, 6])
    """

    mixes = True
    """There is a W_O."""

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_head: int,
        *,
        scaled: bool = True,
        bias: bool = False,
        out_bias: bool = False,
    ) -> None:
        super().__init__()
        self.n_heads, self.d_head = n_heads, d_head
        self.divisor = math.sqrt(d_head) if scaled else 1.0
        self.to_q, self.to_k, self.to_v = (Linear(d_model, n_heads * d_head, bias=bias) for _ in range(3))
        self.to_out = Linear(n_heads * d_head, d_model, bias=out_bias)

    def forward(
        self,
        x: Tensor,
        source: Tensor,
        allowed: Tensor,
        bias: Tensor | None = None,
        tap: Tap = OFF,
        store: Store = NO_STORE,
    ) -> Tensor:
        q = tap("q", self._split(self.to_q(x)), "batch head query d_head")
        k, v = store(self._project, source)
        k = tap("k", k, "batch head key d_head")
        v = tap("v", v, "batch head key d_head")
        scores = q @ k.mT / self.divisor
        if bias is not None:
            scores = scores + tap("bias", bias.expand_as(scores), "batch head query key")
        scores = tap("scores", scores, "batch head query key")
        allowed = tap("allowed", allowed.expand_as(scores), "batch head query key")
        pattern = tap("pattern", masked_softmax(scores, allowed), "batch head query key")
        heads = tap("heads", pattern.to(v.dtype) @ v, "batch head query d_head")
        return tap("out", self.to_out(heads.transpose(1, 2).flatten(-2)), "batch query d_model")

    def _project(self, source: Tensor) -> KeysValues:
        return self._split(self.to_k(source)), self._split(self.to_v(source))

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.n_heads, self.d_head)).transpose(1, 2)
