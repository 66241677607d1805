"""Integrated gradients: the output's change from a baseline to a text, as a sum over the tokens that are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from core.analysis.attribution.ablation_sweep import ModelInput
from core.analysis.attribution.target_token import OutputTarget, output_target, target_rows, true_token
from core.edits import Patch
from core.errors import InputError
from core.model import Model

if TYPE_CHECKING:
    from jaxtyping import Float


Array = np.ndarray
ROWS = 16
"""So many points of the path are computed in one batch."""


@dataclass(frozen=True, eq=False)
class IntegratedGradients:
    """The share of each token in `output` - `baseline_output`, in the unit of the output: logits or nats."""

    values: Float[Array, " pos"]
    output: float
    baseline_output: float

    @property
    def gap(self) -> float:
        """Return the sum of the values minus the change that they explain: 0 but for rounding and too few steps (completeness)."""
        return float(self.values.sum() - (self.output - self.baseline_output))


def integrated_gradients(
    model: Model, item: ModelInput, output: OutputTarget, baseline: str | None = None, steps: int = 64
) -> IntegratedGradients:
    """Compute the integrated gradients of an output for the vector of each token or patch that the model reads.

        value_j = sum_d (x_jd - b_jd) * integral from 0 to 1 of df/dx_jd at b + a (x - b), over a

    (Sundararajan et al. 2017, Eq. (1)), x_j the vector before its position is added, b the baseline: vectors of zeros, or that of one
    token (such as "[MASK]") at all positions. Positions, segments and, of a translator, the target stay as they are. The integral is
    the mean over `steps` points at equal distances, each in the middle of its step, so the values add up to f(x) - f(b) but for the
    `gap`: for sentences read by gpt-mini and bert-mini up to 0.05 logits at 64 steps, below 0.0001 at 256. With zeros, a model that
    adds no position and norms what it reads needs many more: its output turns sharply near the baseline. For a logit give an `OutputTarget` with activation "none", or for the difference of
    two `against`.
    Raises InputError for a translator without a target, a model that reads no tokens, a baseline of several tokens, and less than one step.

    >>> import core
    >>> from core.analysis.attribution.target_token import OutputTarget, output_target, target_rows, true_token
    >>> logit = OutputTarget(row=2, token=300, activation="none")
    >>> shares = integrated_gradients(core.open_model("gpt-mini"), ModelInput("The cat sat"), logit)
    >>> shares.values.shape, abs(shares.gap) < 0.01
    ((3,), True)
    """
    if steps < 1:
        raise InputError(
            "{steps} steps are no path.",
            "The gradient is averaged over at least one point between baseline and text.",
            "Give steps=64, say.",
            steps=steps,
        )
    path = "encoder.embed.token" if model.spec.has_source else "embed.token"
    with torch.inference_mode(False):
        full_run = item.run(model, keep=("*embed.token",))
        if path not in full_run.trace:
            raise InputError(
                "{name} reads no tokens.",
                "Integrated gradients belong to the vectors of tokens or patches that a model reads.",
                "Choose a model of texts, or of pictures in patches.",
                name=model.name,
            )
        item.check_target(model)
        x = torch.tensor(full_run.trace[path])
        base = torch.zeros_like(x) if baseline is None else model.token_vector(baseline).expand_as(x)
        baseline_run = item.run(model, keep=(), edits=[Patch(path, base)])
        change = output.value(full_run.scores), output.value(baseline_run.scores)
        points = (np.arange(steps) + 0.5) / steps
        total = np.zeros(x.shape)
        for first in range(0, steps, ROWS):
            shares = torch.tensor(points[first : first + ROWS], dtype=x.dtype)[:, None, None]
            n = len(shares)
            runs = model.run_many(
                [item.text] * n,
                pairs=[item.pair] * n,
                targets=[item.target] * n,
                keep=(path,),
                edits=[Patch(path, base + shares * (x - base))],
                grad=output.goal,
            )
            for run in runs:
                total += run.trace.grad(path)
    return IntegratedGradients(((x - base).numpy() * total).sum(-1) / steps, *change)


def written_gradients(
    model: Model,
    item: ModelInput,
    baseline: str | None = None,
    steps: int = 64,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> dict[int, IntegratedGradients]:
    """Compute for each written token how much each token that is read adds to its log probability, by the row of the scores that writes it.

    Each is `integrated_gradients` of ln p of that token: the words of a text that a decoder predicts, or of the target that a
    translator writes, with its end. Stacked, the values are (written token, read token). `progress` is called with the number
    of written tokens done and of all.
    Raises InputError for a model that writes nothing, and as `integrated_gradients`.

    >>> import core
    >>> found = written_gradients(core.open_model("gpt-mini"), ModelInput("The cat sat"), steps=4)
    >>> sorted(found), found[1].values.shape
    ([0, 1], (3,))
    """
    if not model.can("write"):
        raise InputError(
            "{name} writes nothing.",
            "Attributed is each token that a model writes after others.",
            "Give integrated_gradients(model, item, output) the output of this model.",
            name=model.name,
        )
    item.check_target(model)
    run = item.run(model, keep=())
    tokens = {row: token for row in target_rows(run) if (token := true_token(run, row)) is not None}
    found: dict[int, IntegratedGradients] = {}
    for row, token in tokens.items():
        found[row] = integrated_gradients(model, item, output_target(run, row, token), baseline, steps)
        if progress is not None:
            progress(len(found), len(tokens))
    return found
