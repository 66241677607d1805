"""Multi-head scaled dot-product attention: one explicit path, every step named."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from core.layers.cache import NO_STORE, KeysValues, Store
from core.trace import OFF, Tap


def masked_softmax(scores: Tensor, allowed: Tensor) -> Tensor:
    """Softmax over the keys that may be attended; forbidden cells are exactly 0.

    A row with nothing allowed gives zeros: by decision, where other code gives NaN or a uniform row.
    scores and allowed (True = may attend) are (batch head query key), or broadcast to it.

    >>> masked_softmax(torch.zeros(2, 2), torch.tensor([[True, False], [False, False]])).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    forbidden = ~allowed
    filled = scores.masked_fill(forbidden, torch.finfo(scores.dtype).min)
    return filled.softmax(dim=-1).masked_fill(forbidden, 0.0)


class MultiHeadAttention(nn.Module):
    """softmax(Q K^T / sqrt(d_head)) V in each head, heads merged by W_O (Vaswani et al. 2017, section 3.2.2).

    Queries come from `x` (batch query d_model), keys and values from `source` (batch key d_model): the same
    tensor in self-attention, the encoder's output in cross-attention. `allowed` is boolean, True = may attend,
    broadcastable to (batch head query key). Returns (batch query d_model).
    In the words of Ghojogh and Ghodsi 2020: rows are words, W_Q there is `to_q.weight.T` here.

    >>> attend = MultiHeadAttention(d_model=6, n_heads=3)
    >>> x = torch.ones(1, 4, 6)
    >>> attend(x, x, torch.ones(4, 4, dtype=torch.bool)).shape
    torch.Size([1, 4, 6])
    """

    def __init__(self, d_model: int, n_heads: int, *, bias: bool = True) -> None:
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"d_model={d_model} is not divisible by n_heads={n_heads}")
        self.n_heads, self.d_head = n_heads, d_model // n_heads
        self.to_q = nn.Linear(d_model, d_model, bias=bias)
        self.to_k = nn.Linear(d_model, d_model, bias=bias)
        self.to_v = nn.Linear(d_model, d_model, bias=bias)
        self.to_out = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x: Tensor, source: Tensor, allowed: Tensor, tap: Tap = OFF, store: Store = NO_STORE) -> Tensor:
        q = tap("q", self._split(self.to_q(x)), "batch head query d_head")
        k, v = store(self._keys_values, source)
        k = tap("k", k, "batch head key d_head")
        v = tap("v", v, "batch head key d_head")
        scores = tap("scores", q @ k.mT / math.sqrt(self.d_head), "batch head query key")
        allowed = tap("allowed", allowed.expand_as(scores), "batch head query key")
        pattern = tap("pattern", masked_softmax(scores, allowed), "batch head query key")
        heads = tap("heads", pattern.to(v.dtype) @ v, "batch head query d_head")
        return tap("out", self.to_out(self._merge(heads)), "batch query d_model")

    def _keys_values(self, source: Tensor) -> KeysValues:
        return self._split(self.to_k(source)), self._split(self.to_v(source))

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.n_heads, self.d_head)).transpose(1, 2)  # batch pos (head d_head) -> batch head pos d_head

    def _merge(self, heads: Tensor) -> Tensor:
        return heads.transpose(1, 2).flatten(-2)  # the swap first: without it words and heads are mixed
