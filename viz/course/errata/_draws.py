"""Random numbers from a fixed seed, the same on every machine, without touching torch's own random state."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from viz.course.errata.entry import Array

Network = TypeVar("Network", bound=nn.Module)


def normal(*shape: int, start: int = 0) -> Array:
    """Sample standard normal numbers of a shape."""
    return np.random.default_rng(start).standard_normal(shape)


def tensor(*shape: int, start: int = 0) -> Tensor:
    """Sample standard normal numbers as a float64 tensor."""
    return torch.from_numpy(normal(*shape, start=start))


def filled(network: Network, start: int = 0, spread: float = 1.0) -> Network:
    """Fill the network with random matrices in float64, rows of length `spread` on average, and every bias 0; return it.

    >>> filled(nn.Linear(2, 1)).weight.dtype
    torch.float64
    """
    lot = np.random.default_rng(start)
    network = network.double()
    with torch.no_grad():
        for name, weight in network.named_parameters():
            if name.endswith("bias"):
                weight.zero_()
            elif weight.ndim > 1:
                weight.copy_(
                    torch.from_numpy(
                        lot.standard_normal(tuple(weight.shape)) * spread / weight.shape[-1] ** 0.5
                    )
                )
    return network.requires_grad_(False)


def gap(one: Tensor | Array, other: Tensor | Array) -> float:
    """Return the largest difference of two arrays.

    >>> gap(np.zeros(2), np.array([0.5, -1.0]))
    1.0
    """
    return float(abs(torch.as_tensor(one) - torch.as_tensor(other)).max())
