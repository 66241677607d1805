"""Adam written out: `torch.optim` imports a compiler when it is first used, seconds and 48 MB that a server has no use for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(eq=False)
class Moments:
    """The memory of Adam: for each weight the running means of its gradient and of the square, and how many steps they hold."""

    first: list[Tensor]
    second: list[Tensor]
    steps: int = 0

    @classmethod
    def zeros_like(cls, weights: Sequence[Tensor]) -> Moments:
        """Return the moments before the first step."""
        with torch.inference_mode(False):
            return cls(
                [torch.zeros_like(weight) for weight in weights],
                [torch.zeros_like(weight) for weight in weights],
            )

    def update(
        self, gradients: Sequence[Tensor], betas: tuple[float, float] = (0.9, 0.999), epsilon: float = 1e-8
    ) -> list[Tensor]:
        """Take the gradients in and return m / (sqrt(v) + epsilon), both means freed of their start at 0 (Kingma and Ba 2015, algorithm 1)."""
        self.steps += 1
        one, two = (1 - beta**self.steps for beta in betas)
        self.first = [m.lerp(g, 1 - betas[0]) for m, g in zip(self.first, gradients, strict=True)]
        self.second = [v.lerp(g * g, 1 - betas[1]) for v, g in zip(self.second, gradients, strict=True)]
        return [
            (m / one) / ((v / two).sqrt() + epsilon) for m, v in zip(self.first, self.second, strict=True)
        ]
