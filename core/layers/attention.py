"""Multi-head scaled dot-product attention: one explicit path, every step named (and the same, shorter, in training)."""

from __future__ import annotations

import math
from typing import Protocol

import torch
from torch import Tensor, nn

from core.layers.cache import NO_STORE, KeysValues, Project, Store
from core.layers.linear import HALF, Linear, PackedWeight, State, lasting, state_of
from core.layers.score_terms import Term, product, scale
from core.layers.sdpa import attend
from core.trace import OFF, Tap


def masked_softmax(
    scores: Tensor, allowed: Tensor, times: Tensor | None = None, sink: Tensor | None = None
) -> Tensor:
    """Return the softmax over the keys that may be attended; forbidden cells are exactly 0. `times`: how often a key counts.

    A row with nothing allowed gives zeros: by decision, where other code gives NaN or a uniform row.
    scores and allowed (True = may attend) are (batch head query key), or broadcast to it. `sink` (batch head query one) is a
    score that counts beside those of the keys: it takes its weight from them.

    >>> masked_softmax(torch.zeros(2, 2), torch.tensor([[True, False], [False, False]])).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    counted = scores if times is None else scores + times.log().to(scores.dtype)
    filled = torch.where(allowed, counted, torch.finfo(scores.dtype).min)
    if sink is not None:
        filled = torch.cat((filled, sink), dim=-1)
    return torch.where(allowed, filled.softmax(dim=-1)[..., : scores.shape[-1]], 0.0)


class Sight(Protocol):
    """The interface of an object in place of a mask: it knows which pairs may attend, and perhaps a shorter way to the heads' outputs."""

    def mixed(self, q: Tensor, k: Tensor, v: Tensor, tap: Tap) -> Tensor | None:
        """Return the output of each head (batch head query d_head) without forming the whole pattern; None where the tap records the pattern."""
        ...

    def dense(self, tap: Tap) -> Tensor:
        """Return the mask itself, broadcastable to (batch head query key)."""
        ...

    @property
    def times(self) -> Tensor | None:
        """Return how often a key counts, of the mask's shape; None: once."""
        ...


class SideBySide(nn.Module):
    """In the place of W_O where heads are not mixed: the identity, which whoever reads W_O can read as such.

    >>> SideBySide(2).weight.tolist(), SideBySide(2).bias
    ([[1.0, 0.0], [0.0, 1.0]], None)
    """

    bias = None

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.d_model = d_model

    @property
    def weight(self) -> Tensor:
        return torch.eye(self.d_model)

    def forward(self, x: Tensor) -> Tensor:
        return x


class MultiHeadAttention(nn.Module):
    """softmax(Q K^T / sqrt(d_head)) V in each head, heads merged by W_O (Vaswani et al. 2017, section 3.2.2).

    Queries come from `x` (batch query d_model), keys and values from `source` (batch key d_model): the same
    tensor in self-attention, the encoder's output in cross-attention. `allowed` is boolean, True = may attend,
    broadcastable to (batch head query key), or a `Sight` in its place. Returns (batch query d_model).
    In the words of Ghojogh and Ghodsi 2020: rows are words, W_Q there is `to_q.weight.T` here.

    `d_in` is the width of what is read, where it differs from d_model. Without `mixes` there is no W_O and the heads
    stand side by side in what comes out, as in SNAIL (Mishra et al. 2018, 3), which concatenates it to what it read.

    >>> attend = MultiHeadAttention(d_model=6, n_heads=3)
    >>> x = torch.ones(1, 4, 6)
    >>> attend(x, x, torch.ones(4, 4, dtype=torch.bool)).shape
    torch.Size([1, 4, 6])
    """

    def __init__(
        self, d_model: int, n_heads: int, *, bias: bool = True, d_in: int | None = None, mixes: bool = True
    ) -> None:
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"d_model={d_model} is not divisible by n_heads={n_heads}")
        self.n_heads, self.d_head, self.mixes = n_heads, d_model // n_heads, mixes
        d_in = d_model if d_in is None else d_in
        self.to_q = Linear(d_in, d_model, bias=bias)
        self.to_k = Linear(d_in, d_model, bias=bias)
        self.to_v = Linear(d_in, d_model, bias=bias)
        self.to_out = Linear(d_model, d_model, bias=bias) if mixes else SideBySide(d_model)
        self._packed: tuple[State, PackedWeight] | None = None

    def forward(
        self, x: Tensor, source: Tensor, allowed: Tensor | Sight, tap: Tap = OFF, store: Store = NO_STORE
    ) -> Tensor:
        q, project = self._sides(x, source)
        plain = isinstance(allowed, Tensor)
        if plain and self.training and tap is OFF and store is NO_STORE and q.requires_grad:
            return self.to_out(self._merge(attend(q, *project(source), allowed)))
        q = tap("q", q, "batch head query d_head")
        k, v = store(project, source)
        k = tap("k", k, "batch head key d_head")
        v = tap("v", v, "batch head key d_head")
        mixed = None if plain else allowed.mixed(q, k, v, tap)
        if mixed is None:
            mask, times = (allowed, None) if plain else (allowed.dense(tap), allowed.times)
            scores = tap("scores", q @ k.mT / math.sqrt(self.d_head), "batch head query key")
            mask = tap("allowed", mask.expand_as(scores), "batch head query key")
            pattern = tap("pattern", masked_softmax(scores, mask, times), "batch head query key")
            mixed = pattern.to(v.dtype) @ v
        heads = tap("heads", mixed, "batch head query d_head")
        return tap("out", self.to_out(self._merge(heads)), "batch query d_model")

    def score_terms(self) -> tuple[Term, ...]:
        """Return the terms of a score, in the order in which they are computed."""
        return product(), scale(self.d_head, self.d_head)

    def _sides(self, x: Tensor, source: Tensor) -> tuple[Tensor, Project]:
        """Return the queries, and how to get keys and values. A frozen layer that looks at itself multiplies once for all three."""
        together = self.together() if x is source else None
        if together is None:
            return self._split(self.to_q(x)), self._keys_values
        q, k, v = (
            together(x).view(*x.shape[:-1], 3, self.n_heads, self.d_head).permute(2, 0, 3, 1, 4).unbind(0)
        )
        return q, lambda _: (k, v)

    def _keys_values(self, source: Tensor) -> KeysValues:
        return self._split(self.to_k(source)), self._split(self.to_v(source))

    def together(self) -> PackedWeight | None:
        """Return the maps to q, k and v below each other, kept until a weight changes; None while they are being learned."""
        maps = (self.to_q, self.to_k, self.to_v)
        state = state_of(*(each.stored for each in maps), *(each.bias for each in maps))
        if state is None or self.to_q.stored.dtype in HALF:
            return None
        if self._packed is None or self._packed[0] != state:
            with lasting():
                bias = None if self.to_q.bias is None else torch.cat([each.bias for each in maps])
                stacked = torch.cat([each.stored for each in maps])
                self._packed = (state, PackedWeight(stacked, bias, self.to_q.as_it_lies))
        return self._packed[1]

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.n_heads, self.d_head)).transpose(
            1, 2
        )  # batch pos (head d_head) -> batch head pos d_head

    def _merge(self, heads: Tensor) -> Tensor:
        return heads.transpose(1, 2).flatten(-2)  # the swap first: without it words and heads are mixed
