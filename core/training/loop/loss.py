"""Cross-entropy over a vocabulary, without keeping a score for each token and word."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

ROWS, ON_CARD = 512, 16384
"""Positions scored at a time: their scores stay near the processor. On a graphics card it is starting that costs."""


def cross_entropy(
    hidden: Tensor, table: Tensor, targets: Tensor, *, bias: Tensor | None = None, smoothing: float = 0.0
) -> Tensor:
    """Return the mean of -log softmax(hidden table^T)[targets] in nats, with label smoothing (Szegedy et al. 2016).

    The same number and gradients as `F.cross_entropy(F.linear(hidden, table, bias), wanted, label_smoothing=smoothing)`;
    gradients are formed on the way, a few rows at a time, so that the scores are written and read once. Under
    autocast the products are in its type, sums and logarithms in float32.
    hidden (pos d_model), table (vocab d_model), bias (vocab), wanted (pos) -> a scalar.

    >>> cross_entropy(torch.zeros(3, 2), torch.ones(8, 2), torch.tensor([0, 5, 7])).isclose(torch.tensor(8.0).log())
    tensor(True)
    """
    if not torch.is_grad_enabled():
        return F.cross_entropy(F.linear(hidden, table, bias).float(), targets, label_smoothing=smoothing)
    kind = hidden.device.type
    dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else table.dtype
    return _CrossEntropy.apply(hidden, table, bias, targets, smoothing, dtype)  # pyright: ignore


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        table: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        smoothing: float,
        dtype: torch.dtype,
    ) -> Tensor:
        small, n_rows, n_vocab = table.to(dtype), len(targets), len(table)
        to_hidden, to_table, to_bias = (
            torch.empty_like(hidden),
            torch.zeros_like(table),
            None if bias is None else torch.zeros_like(bias),
        )
        lost, at_once = torch.zeros((), device=hidden.device), ON_CARD if hidden.is_cuda else ROWS
        with torch.autocast(hidden.device.type, enabled=False):
            for first in range(0, n_rows, at_once):
                rows, goal = hidden[first : first + at_once].to(dtype), targets[first : first + at_once, None]
                scores = (rows @ small.T).float()
                scores = scores if bias is None else scores.add_(bias)
                total = scores.logsumexp(dim=-1, keepdim=True)
                lost += (
                    total - (1 - smoothing) * scores.gather(1, goal)
                ).sum() - smoothing * scores.sum() / n_vocab
                slope = scores.sub_(total).exp_()
                if smoothing:
                    slope -= smoothing / n_vocab
                slope.scatter_add_(1, goal, torch.full_like(goal, smoothing - 1, dtype=slope.dtype))
                if to_bias is not None:
                    to_bias += slope.sum(0)
                slope = slope.to(dtype)
                to_hidden[first : first + at_once] = slope @ small
                to_table += slope.T @ rows
        ctx.save_for_backward(
            to_hidden.div_(n_rows), to_table.div_(n_rows), None if to_bias is None else to_bias.div_(n_rows)
        )
        return lost / n_rows

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> tuple[Tensor | None, ...]:
        return *(None if slope is None else slope * grad[0] for slope in ctx.saved_tensors), None, None, None
