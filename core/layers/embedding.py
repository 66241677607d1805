"""Tokens to vectors, and back to scores over the vocabulary."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import torch.nn.functional as F
from torch import Tensor, nn

from core.layers.init import normal
from core.layers.linear import PackedWeight, State, in_float32, state_of, weight_of

if TYPE_CHECKING:
    from jaxtyping import Float, Int


class TokenEmbedding(nn.Module):
    """A row of a table for each token, optionally times sqrt(d_model) (Vaswani et al. 2017, section 3.4) or a `scale`.

    `scores` uses the same table as output layer (tied weights), without the scaling.

    >>> import torch
    >>> embed = TokenEmbedding(7, 4)
    >>> embed(torch.tensor([[1, 2]])).shape, embed.scores(torch.zeros(1, 2, 4)).shape
    (torch.Size([1, 2, 4]), torch.Size([1, 2, 7]))
    """

    in_stored_layout = False
    _packed: tuple[State, PackedWeight] | None = None

    def __init__(self, n_vocab: int, d_model: int, *, scaled: bool = False, scale: float = 1.0) -> None:
        super().__init__()
        self.register_parameter(
            "weight", nn.Parameter(normal(n_vocab, d_model, std=d_model**-0.5 if scaled else 0.02))
        )
        self.scale = math.sqrt(d_model) if scaled else scale

    @property
    def weight(self) -> Any:
        """Return the table (vocab d_model), in float32 where it is stored in half precision."""
        return weight_of(self)

    def forward(self, ids: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch d_model"]:
        vectors = in_float32(F.embedding(ids, self._table))
        return vectors if self.scale == 1.0 else vectors * self.scale

    def scores(self, hidden: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch vocab"]:
        packed = self.packed_weight()
        return F.linear(hidden, self._table) if packed is None else packed(hidden)

    def packed_weight(self) -> PackedWeight | None:
        """Return the table as an output layer in the processor's layout, made once for each content; None while it is trained."""
        state = state_of(self._table)
        if state is None:
            return None
        if self._packed is None or self._packed[0] != state:
            self._packed = (state, PackedWeight(self._table, None, self.in_stored_layout))
        return self._packed[1]

    @property
    def _table(self) -> Tensor:
        """Return the table as it is stored, perhaps in half precision."""
        return cast(Tensor, self._parameters["weight"])
