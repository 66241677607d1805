"""Attention pooling: a weighted sum over positions whose query is a learned vector instead of a word."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from core.layers.attention import masked_softmax
from core.layers.init import normal
from core.layers.linear import Linear
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


WEIGHTS = "batch head query key"


class Summary(nn.Module):
    """u_t = tanh(W h_t + b), a = softmax_t(u_t . u), s = sum_t a_t h_t with u learned (Yang et al. 2016, Eq. (5) to (7)).

    `x` are the h_t; `allowed` is True where a key belongs to a query, and each of its rows gives one sum s. A row to which
    nothing belongs gives zeros. All rows have the same query u: in the trace it is `q`, the u_t are `k`, the h_t `v`, and
    `heads` is s with the axis of the one head.

    >>> summary = Summary(6)
    >>> summary(torch.ones(1, 5, 6), torch.ones(1, 2, 5, dtype=torch.bool)).shape
    torch.Size([1, 2, 6])
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.to_k = Linear(d_model, d_model)
        self.query = nn.Parameter(normal(d_model, std=d_model**-0.5))

    def forward(
        self, x: Float[Tensor, "batch key d_model"], allowed: Bool[Tensor, "batch query key"], tap: Tap = OFF
    ) -> Float[Tensor, "batch query d_model"]:
        k = tap("k", torch.tanh(self.to_k(x))[:, None], "batch head key d_head")
        v = tap("v", x[:, None], "batch head key d_head")
        q = self.query.expand(len(x), 1, allowed.shape[1], -1)
        q = tap("q", q, "batch head query d_head")
        scores = tap("scores", (q.to(k.dtype) @ k.mT).float(), WEIGHTS)
        allowed = tap("allowed", allowed[:, None], WEIGHTS)
        pattern = tap("pattern", masked_softmax(scores, allowed), WEIGHTS)
        heads = tap("heads", pattern.to(v.dtype) @ v, "batch head query d_head")
        return heads.squeeze(1)
