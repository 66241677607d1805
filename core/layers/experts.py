"""Mixtures of experts: a router chooses a few feed-forward networks for each token."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from core.layers.feedforward import GatedFeedForward
from core.layers.init import normal
from core.layers.linear import Linear
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Float


SHARPER, LIMIT = 1.702, 7.0
"""How steep the gate of gpt-oss is, and where gate and values are cut off (OpenAI 2025)."""


class Routed(nn.Module):
    """The `n_active` experts with the largest scores of a router, weighted by the softmax of these scores (Shazeer et al. 2017).

    Without `among_chosen` the softmax goes over all experts, so the weights of the chosen ones sum to less than 1 (OLMoE).
    In the trace `router` are the scores, `routed` the weights, 0 for those not chosen.
    """

    def __init__(
        self, d_model: int, *, n_experts: int, n_active: int, bias: bool = False, among_chosen: bool = True
    ) -> None:
        super().__init__()
        self.n_active, self.among_chosen = n_active, among_chosen
        self.router = Linear(d_model, n_experts, bias=bias)

    def forward(
        self, x: Float[Tensor, "batch pos d_model"], tap: Tap = OFF
    ) -> Float[Tensor, "batch pos d_model"]:
        scores = tap("router", self.router(x), "batch pos expert")
        best = scores.topk(self.n_active, dim=-1)
        shares = best.values.softmax(-1) if self.among_chosen else scores.softmax(-1).gather(-1, best.indices)
        weights = torch.zeros_like(scores).scatter(-1, best.indices, shares)
        weights = tap("routed", weights, "batch pos expert")
        out = torch.zeros_like(x)
        for number in range(weights.shape[-1]):
            weight = weights[..., number, None]
            if (
                weight.any()
            ):  # then for all tokens: so no later one changes the sums of an earlier one by a bit
                out = out + weight * self.expert(number, x)
        return tap("out", out, "batch pos d_model")

    def expert(
        self, number: int, x: Float[Tensor, "batch pos d_model"]
    ) -> Float[Tensor, "batch pos d_model"]:
        """Return the output of one expert for every token."""
        raise NotImplementedError


class GatedExperts(Routed):
    """Experts that are gated networks without biases, each as in Llama: Mixtral (Jiang et al. 2024), OLMoE, Qwen3-MoE.

    >>> GatedExperts(2, 3, n_experts=4, n_active=2)(torch.zeros(1, 5, 2)).shape
    torch.Size([1, 5, 2])
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        *,
        n_experts: int,
        n_active: int,
        among_chosen: bool = True,
        activation: str = "silu",
    ) -> None:
        super().__init__(d_model, n_experts=n_experts, n_active=n_active, among_chosen=among_chosen)
        self.experts = nn.ModuleList(
            GatedFeedForward(d_model, d_ff, activation=activation) for _ in range(n_experts)
        )

    def expert(
        self, number: int, x: Float[Tensor, "batch pos d_model"]
    ) -> Float[Tensor, "batch pos d_model"]:
        """Return the output of one expert for every token."""
        made: Tensor = self.experts[number](x)
        return made


class Experts(Routed):
    """Experts of gpt-oss: R = W_2 ((u + 1) g sigmoid(1.702 g)) with biases, and g and u cut off at 7.

    The columns of `to_hidden` are g and u by turns.

    >>> Experts(2, 3, n_experts=4, n_active=2)(torch.zeros(1, 5, 2)).shape
    torch.Size([1, 5, 2])
    """

    def __init__(self, d_model: int, d_ff: int, *, n_experts: int, n_active: int) -> None:
        super().__init__(d_model, n_experts=n_experts, n_active=n_active, bias=True)
        self.to_hidden = nn.Parameter(normal(n_experts, d_model, 2 * d_ff, std=0.02))
        self.to_hidden_bias = nn.Parameter(normal(n_experts, 2 * d_ff, std=0.02))
        self.to_out = nn.Parameter(normal(n_experts, d_ff, d_model, std=0.02))
        self.to_out_bias = nn.Parameter(normal(n_experts, d_model, std=0.02))

    def expert(
        self, number: int, x: Float[Tensor, "batch pos d_model"]
    ) -> Float[Tensor, "batch pos d_model"]:
        """Return the output of one expert for every token."""
        hidden = x @ self.to_hidden[number] + self.to_hidden_bias[number]
        gate, up = hidden[..., ::2].clamp(max=LIMIT), hidden[..., 1::2].clamp(-LIMIT, LIMIT)
        return ((up + 1) * gate * torch.sigmoid(SHARPER * gate)) @ self.to_out[number] + self.to_out_bias[
            number
        ]
