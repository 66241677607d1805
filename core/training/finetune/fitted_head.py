"""A linear head on vectors that stay as they are, fitted until it no longer changes: L-BFGS on all texts at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

DECAYS = (0.0, 1e-4, 1e-3, 1e-2, 1e-1)
"""Weight decays to choose from: half of it times the squared length of the weights is added to the loss."""
HELD_OUT = 5
"""One text in so many chooses the weight decay."""
AT_ONCE = 5
"""Steps of L-BFGS between two states that are kept."""
FLAT = 1e-5
"""The largest slope of a fit that has converged."""


@dataclass(frozen=True, eq=False)
class FittedHead:
    """Linear map after so many steps and seconds: weight (label d_model), bias (label,)."""

    step: int
    seconds: float
    weight: Tensor
    bias: Tensor

    def accuracy(self, vectors: Tensor, targets: Tensor) -> float:
        """Return the share of the vectors (text d_model) whose label has the largest score."""
        return float((F.linear(vectors, self.weight, self.bias).argmax(-1) == targets).double().mean())


def fit(
    vectors: Tensor,
    targets: Tensor,
    n_labels: int,
    decay: float,
    *,
    max_steps: int,
    clock: Callable[[], float] = lambda: 0.0,
) -> list[FittedHead]:
    """Fit logistic regression to vectors (text d_model) and labels (text,); return the states on the way, the first of zeros.

    It ends where no slope is above FLAT, or after `max_steps` steps.

    >>> x = torch.tensor([[1.0], [-1.0]])
    >>> path = fit(x, torch.tensor([0, 1]), 2, 0.1, max_steps=50)
    >>> path[0].accuracy(x, torch.tensor([0, 1])), path[-1].accuracy(x, torch.tensor([0, 1])), path[-1].step < 50
    (0.5, 1.0, True)
    """
    with torch.inference_mode(False), torch.enable_grad():
        precise = vectors.double()  # float32 stops short of a flat place
        weight = torch.zeros(n_labels, vectors.shape[1], dtype=torch.float64, requires_grad=True)
        bias = torch.zeros(n_labels, dtype=torch.float64, requires_grad=True)
        optim = torch.optim.LBFGS(
            [weight, bias],
            max_iter=AT_ONCE,
            history_size=20,
            tolerance_grad=FLAT,
            tolerance_change=0.0,
            line_search_fn="strong_wolfe",
        )

        def loss() -> Tensor:
            optim.zero_grad()
            total = F.cross_entropy(F.linear(precise, weight, bias), targets)
            total = total + decay / 2 * weight.square().sum()
            total.backward()
            return total

        def state(step: int) -> FittedHead:
            return FittedHead(step, clock(), weight.detach().float(), bias.detach().float())

        path = [state(0)]
        while path[-1].step < max_steps:
            optim.step(loss)
            step = optim.state[weight]["n_iter"]
            if step == path[-1].step:
                break
            path.append(state(step))
    return path


def choose_decay(vectors: Tensor, targets: Tensor, n_labels: int, seed: int, *, max_steps: int) -> float:
    """Return the weight decay whose fit to the other texts is right most often on the one in HELD_OUT that it does not read."""
    order = torch.from_numpy(np.random.default_rng(seed).permutation(len(targets)))
    held, read = order[::HELD_OUT], order[torch.arange(len(order)) % HELD_OUT != 0]

    def right(decay: float) -> float:
        last = fit(vectors[read], targets[read], n_labels, decay, max_steps=max_steps)[-1]
        return last.accuracy(vectors[held], targets[held])

    return max(reversed(DECAYS), key=right)
