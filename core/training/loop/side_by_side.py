"""Parts of a loss that know nothing of each other, each in a thread of its own, gradients included."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch import Tensor, nn

Part = Callable[[], Tensor]


def mean_of(parts: Sequence[Part], network: nn.Module) -> Tensor:
    """Return the mean of losses that are computed at the same time, with the gradients of the network's weights.

    Torch gives the two cores of a processor one product after the other, and both wait for the slower at the end of each: in
    a loop of small products they mostly wait. Here each core has a part of its own with all its products. The same number
    and the same gradients as the plain mean.

    >>> layer = nn.Linear(2, 1, bias=False)
    >>> loss = mean_of([lambda: layer(torch.ones(2)).sum(), lambda: 3 * layer(torch.ones(2)).sum()], layer)
    >>> loss.backward()
    >>> layer.weight.grad
    tensor([[2., 2.]])
    """
    weights = [weight for weight in network.parameters() if weight.requires_grad]
    if not torch.is_grad_enabled() or not weights:
        return torch.stack([part() for part in parts]).mean()
    return _Mean.apply(parts, *weights)  # pyright: ignore


class _Mean(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, parts: Sequence[Part], *weights: Tensor) -> Tensor:
        kind = weights[0].device.type
        cast = torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)

        def one(part: Part) -> tuple[Tensor, tuple[Tensor | None, ...]]:
            torch.set_num_threads(1)
            with torch.enable_grad():
                with torch.autocast(kind, cast[1], enabled=cast[0]):
                    loss = part()
                return loss.detach(), torch.autograd.grad(loss, weights, allow_unused=True)

        with ThreadPoolExecutor(len(parts)) as pool:
            found = list(pool.map(one, parts))
        slopes: list[Tensor | None] = []
        for each in zip(*(grads for _, grads in found), strict=True):
            there = [grad for grad in each if grad is not None]
            slopes.append(torch.stack(there).sum(0).div_(len(parts)) if there else None)
        ctx.slopes = slopes
        return torch.stack([loss for loss, _ in found]).mean()

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> tuple[Tensor | None, ...]:
        return None, *(None if slope is None else slope * grad[0] for slope in ctx.slopes)
