"""Multi-head scaled dot-product attention, every step named.

Variants are beside it: `packed_attention` (the same numbers in less time; what the families use), `block_sparse`,
`concatenated_attention`, `grouped_attention`, `relative_attention`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from core.layers.cache import NO_STORE, KeysValues, Project, Store
from core.layers.linear import Linear
from core.layers.score_terms import Term, product, scale
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Shaped


LARGE = 2**21
"""Scores of all heads (8 MB) from which on those of one head at a time are in memory."""


def masked_softmax(
    scores: Float[Tensor, "*batch query key"],
    allowed: Bool[Tensor, "*#batch #query key"],
    times: Shaped[Tensor, "*#batch #query key"] | None = None,
    sink: Float[Tensor, "*batch query one"] | None = None,
    *,
    overwrite: bool = False,
) -> Float[Tensor, "*batch query key"]:
    """Return the softmax over the keys that may be attended (`allowed` is True); masked cells are exactly 0.

    A row with nothing allowed gives zeros: by decision, where other code gives NaN or a uniform row. `times` is how often
    each key counts. `sink` is a score that counts beside those of the keys and takes its weight from them. With `overwrite`
    the scores are lost: of a long text each further matrix takes as much memory as all the rest of a run.

    >>> masked_softmax(torch.zeros(2, 2), torch.tensor([[True, False], [False, False]])).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    if overwrite and times is None and sink is None:
        masked = ~allowed
        return (
            scores.masked_fill_(masked, torch.finfo(scores.dtype).min).softmax(-1).masked_fill_(masked, 0.0)
        )
    counted = scores if times is None else scores + times.log().to(scores.dtype)
    filled = torch.where(allowed, counted, torch.finfo(scores.dtype).min)
    if sink is not None:
        filled = torch.cat((filled, sink), dim=-1)
    return torch.where(allowed, filled.softmax(dim=-1)[..., : scores.shape[-1]], 0.0)


class MultiHeadAttention(nn.Module):
    """softmax(Q K^T / sqrt(d_head)) V in each head, heads merged by W_O (Vaswani et al. 2017, section 3.2.2).

    Queries come from `x`, keys and values from `source`: the same tensor in self-attention, the encoder's output in
    cross-attention. `allowed` is True where a query may attend to a key. In the words of Ghojogh and Ghodsi 2020: rows are
    words, W_Q there is `to_q.weight.T` here. `d_in` is the width of `x` and `source`, where it differs from `d_model`.

    >>> attention = MultiHeadAttention(d_model=6, n_heads=3)
    >>> x = torch.ones(1, 4, 6)
    >>> attention(x, x, torch.ones(4, 4, dtype=torch.bool)).shape
    torch.Size([1, 4, 6])
    """

    has_output_projection = True
    """Whether W_O mixes the heads."""

    def __init__(self, d_model: int, n_heads: int, *, bias: bool = True, d_in: int | None = None) -> None:
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"d_model={d_model} is not divisible by n_heads={n_heads}")
        self.n_heads, self.d_head = n_heads, d_model // n_heads
        self.to_q, self.to_k, self.to_v = (Linear(d_in or d_model, d_model, bias=bias) for _ in range(3))
        self.to_out = Linear(d_model, d_model, bias=bias)

    def forward(
        self,
        x: Float[Tensor, "batch query d_in"],
        source: Float[Tensor, "batch pos d_in"],
        allowed: Bool[Tensor, "... #query key"],
        tap: Tap = OFF,
        store: Store = NO_STORE,
    ) -> Float[Tensor, "batch query d_model"]:
        """Return the output at each query. A `store` adds the keys and values of earlier calls to those of `source`."""
        q, project = self.projections(x, source)
        q = tap("q", q, "batch head query d_head")
        k, v = store(project, source)
        k = tap("k", k, "batch head key d_head")
        v = tap("v", v, "batch head key d_head")
        heads = tap("heads", self.mix(q, k, v, allowed, tap), "batch head query d_head")
        return tap("out", self.to_out(self.merge(heads)), "batch query d_model")

    def mix(
        self,
        q: Float[Tensor, "batch head query d_head"],
        k: Float[Tensor, "batch head key d_head"],
        v: Float[Tensor, "batch head key d_head"],
        allowed: Bool[Tensor, "... #query key"],
        tap: Tap = OFF,
    ) -> Float[Tensor, "batch head query d_head"]:
        """Return for each query the values, mixed with its attention weights; of a long text one head after the other, where no tap wants them."""
        shape = (*q.shape[:-1], k.shape[-2])
        if math.prod(shape) > LARGE and q.shape[1] > 1 and not tap.wants("scores", "allowed", "pattern"):
            heads = zip(*(side.split(1, 1) for side in (q, k, v, allowed.expand(shape))), strict=True)
            return torch.cat([self.mix(*head) for head in heads], dim=1)
        scores = tap("scores", (q @ k.mT).div_(math.sqrt(self.d_head)), "batch head query key")
        allowed = tap("allowed", allowed.expand_as(scores), "batch head query key")
        spent = not tap.wants("scores") and not scores.requires_grad
        pattern = tap("pattern", masked_softmax(scores, allowed, overwrite=spent), "batch head query key")
        return pattern.to(v.dtype) @ v

    def projections(
        self, x: Float[Tensor, "batch query d_in"], source: Float[Tensor, "batch pos d_in"]
    ) -> tuple[Float[Tensor, "batch head query d_head"], Project]:
        """Return the queries of `x`, and the function that makes keys and values of `source`."""
        return self.split(self.to_q(x)), self.keys_values

    def keys_values(self, source: Float[Tensor, "batch pos d_in"]) -> KeysValues:
        """Return keys and values, each (batch head pos d_head)."""
        return self.split(self.to_k(source)), self.split(self.to_v(source))

    def split(self, x: Float[Tensor, "batch pos d_model"]) -> Float[Tensor, "batch head pos d_head"]:
        """Cut each vector into one part per head."""
        return x.unflatten(-1, (self.n_heads, self.d_head)).transpose(1, 2)

    def merge(self, heads: Float[Tensor, "batch head pos d_head"]) -> Float[Tensor, "batch pos d_model"]:
        """Concatenate the heads. The transpose comes first: without it words and heads are mixed."""
        return heads.transpose(1, 2).flatten(-2)

    def score_terms(self) -> tuple[Term, ...]:
        """Return the terms of a score, in the order in which they are computed."""
        return product(), scale(self.d_head, self.d_head)
