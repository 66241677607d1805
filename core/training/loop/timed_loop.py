"""Training with a time limit: steps at a rate that falls to zero, and reports on the way, until the steps or the seconds are over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from core.training.loop.optim import schedule

Result = TypeVar("Result")


def optimiser(network: nn.Module, heads: tuple[str, ...], *, lr: float, head_lr: float) -> torch.optim.AdamW:
    """Return AdamW over all weights that learn: those whose name begins with one of `heads` at `head_lr`, the rest at `lr`."""
    learning = [
        (name.startswith(heads), weight)
        for name, weight in network.named_parameters()
        if weight.requires_grad
    ]
    groups = [
        {"params": [weight for new, weight in learning if new is kind], "lr": rate, "base_lr": rate}
        for kind, rate in ((True, head_lr), (False, lr))
    ]
    return torch.optim.AdamW(
        [group for group in groups if group["params"]], betas=(0.9, 0.98), weight_decay=0.0
    )


def descend(loss: Tensor, optims: Sequence[torch.optim.Optimizer], factor: float) -> None:
    """Take one optimiser step on `loss` with the learning rates times `factor` and the gradient clipped to length 1."""
    for optim in optims:
        optim.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(
        [weight for optim in optims for group in optim.param_groups for weight in group["params"]], 1.0
    )
    for optim in optims:
        for group in optim.param_groups:
            group["lr"] = group["base_lr"] * factor
        optim.step()


def evenly_spaced(steps: int, moments: int) -> Iterable[int]:
    """Return `moments` steps at even distances after the first.

    >>> [*evenly_spaced(10, 4)]
    [0, 2, 5, 8, 10]
    """
    return np.linspace(0, steps, moments + 1).round().astype(int).tolist()


def run_timed(
    learn: Callable[[float], None],
    report: Callable[[int, float], Result],
    *,
    steps: int,
    moments: Iterable[int],
    warm_up: int = 10,
    longest: float,
    every: float,
    clock: Callable[[], float],
) -> Iterator[Result]:
    """Call `learn` with the factor of its rate until `steps` or `longest` seconds of `clock` are over; yield `report(step, seconds)` at the steps `moments`.

    Results are at least `every` seconds apart, and there is always one at the end, where the rate is zero.

    >>> rates = []
    >>> list(run_timed(rates.append, lambda step, seconds: step, steps=24, moments=evenly_spaced(24, 12), longest=9.0, every=0.0, clock=lambda: 0.0))
    [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24]
    >>> len(rates), rates[0], max(rates) < 1
    (24, 0.1, True)
    """
    start_time, last_report, step, report_steps = clock(), -every, 0, {*moments}
    while True:
        seconds = clock() - start_time
        progress = max(step / steps, seconds / longest)
        if progress >= 1 or (step in report_steps and seconds - last_report >= every):
            last_report = seconds
            yield report(step, seconds)
        if progress >= 1:
            return
        learn(schedule(progress, step, warm_up))
        step += 1
