"""Why the future is masked in training, and causal attention in its two forms.

A small attention layer learns on lists of random digits: a model that predicts the next one better than by chance has read it.
The two forms, a sum over the words so far and a mask over all words, are ordinary Python sums, rounded once, so that "the same"
can mean the same to the last digit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core import masks
from core.layers.attention import masked_softmax
from viz.course.shared.masks import row

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Form:
    """Weights (query key), zeros where nothing is summed, and outputs y (query d)."""

    weights: Array
    outputs: Array


def prefix_form(scores: Any, values: Any) -> Form:
    """Return y_i = a_i1 v_1 + .. + a_ii v_i, the weights a softmax over the first i scores only (lifei.tech 2022).

    Shapes: scores (query key), only those with key <= query are read; values (key d).

    >>> prefix_form([[0.0, 9.0], [0.0, 0.0]], [[1.0], [3.0]]).outputs.tolist()
    [[1.0], [2.0]]
    """
    known, given = np.asarray(scores, dtype=np.float64), np.asarray(values, dtype=np.float64)
    n = len(known)
    weights = np.zeros((n, n))
    for i in range(n):
        weights[i, : i + 1] = row(known[i, : i + 1], [True] * (i + 1)).weights
    return Form(weights, np.array([_mix(weights[i, : i + 1], given[: i + 1]) for i in range(n)]))


def mask_form(scores: Any, values: Any, allowed: Any = None) -> Form:
    """Return softmax(S + M) V with M = 0 where key <= query and -inf elsewhere; `allowed` (query key) is another mask.

    Ghojogh and Ghodsi 2020, Eqs. (28), (29). All scores are read, and all values summed.

    >>> mask_form([[0.0, 9.0], [0.0, 0.0]], [[1.0], [3.0]]).outputs.tolist()
    [[1.0], [2.0]]
    """
    known, given = np.asarray(scores, dtype=np.float64), np.asarray(values, dtype=np.float64)
    may = np.tri(len(known), dtype=bool) if allowed is None else np.asarray(allowed, dtype=bool)
    weights = np.array([row(s, m).weights for s, m in zip(known, may, strict=True)])
    return Form(weights, np.array([_mix(each, given) for each in weights]))


def gaps(one: Form, other: Form) -> tuple[Array, Array]:
    """Return the largest difference of each line: of its weights, and of its output. Shapes: (query,) both."""
    return np.abs(one.weights - other.weights).max(1), np.abs(one.outputs - other.outputs).max(1)


def _mix(weights: Array, values: Array) -> list[float]:
    return [
        math.fsum(float(w) * float(v) for w, v in zip(weights, column, strict=True)) for column in values.T
    ]


SEES = ("all", "next", "past")
LENGTH, WIDTH, STEPS, BATCH, FRESH = 8, 16, 120, 64, 4000
_RATE = 0.03


@dataclass(frozen=True)
class Learned:
    """Result of training under one mask, measured on new lists.

    `right` (position,) is the accuracy of the next digit at each position; at the last position the model has to write: no next
    digit exists yet. `pattern` (query key) is the mean of the attention; `losses` (step,) in nats.
    """

    sees: str
    n_digits: int
    right: Array
    pattern: Array
    losses: Array

    @property
    def inside(self) -> float:
        """Return the accuracy at the positions whose next digit is in the list."""
        return float(self.right[:-1].mean())

    @property
    def writing(self) -> float:
        """Return the accuracy at the last position, where the model has to write."""
        return float(self.right[-1])


def allowed(sees: str, n: int = LENGTH) -> Tensor:
    """Return the mask (query key): everything, back and one ahead, or back only (with itself).

    Raises ValueError for another name.

    >>> allowed("next", 3).int().tolist()
    [[1, 1, 0], [1, 1, 1], [1, 1, 1]]
    """
    if sees not in SEES:
        raise ValueError(f"sees={sees!r} is not one of {', '.join(SEES)}")
    return {
        "all": masks.full(n),
        "past": masks.causal(n),
        "next": torch.ones(n, n, dtype=torch.bool).tril(1),
    }[sees]


def learned(sees: str = "all", n_digits: int = 10, draw: int = 0) -> Learned:
    """Train one head of attention (no residual, no feed-forward network) to predict the next digit, and measure it.

    Cross-entropy, STEPS batches of BATCH lists of LENGTH digits. Lists for measuring are new.

    >>> found = learned("past", n_digits=2)
    >>> bool(abs(found.right - 0.5).max() < 0.05)
    True
    """
    with torch.inference_mode(False), torch.enable_grad():
        lots = torch.Generator().manual_seed(draw)
        weights = _random_weights(n_digits, lots)
        moments = [(torch.zeros_like(w), torch.zeros_like(w)) for w in weights]
        mask, losses = allowed(sees), []
        for step in range(1, STEPS + 1):
            lists = torch.randint(0, n_digits, (BATCH, LENGTH + 1), generator=lots)
            logits, _ = _say(weights, lists[:, :-1], mask)
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), lists[:, 1:].flatten())
            for weight, slope, (mean, square) in zip(
                weights, torch.autograd.grad(loss, weights), moments, strict=True
            ):
                _adam(weight, slope, mean, square, step)
            losses.append(loss.item())
        with torch.no_grad():
            lists = torch.randint(0, n_digits, (FRESH, LENGTH + 1), generator=lots)
            logits, pattern = _say(weights, lists[:, :-1], mask)
            right = (logits.argmax(-1) == lists[:, 1:]).double().mean(0)
    return Learned(sees, n_digits, right.numpy(), pattern.double().mean(0).numpy(), np.array(losses))


@torch.no_grad()
def _adam(weight: Tensor, slope: Tensor, mean: Tensor, square: Tensor, step: int) -> None:
    """Update a weight in place by one step of Adam (Kingma and Ba 2015, algorithm 1); importing torch's own takes seconds."""
    mean.lerp_(slope, 0.1)
    square.lerp_(slope * slope, 0.001)
    weight -= _RATE * (mean / (1 - 0.9**step)) / ((square / (1 - 0.999**step)).sqrt() + 1e-8)


def _random_weights(n_digits: int, lots: torch.Generator) -> list[Tensor]:
    """Return digit table, position table, W_Q, W_K, W_V and output weights."""
    shapes = ((n_digits, WIDTH), (LENGTH, WIDTH), *((WIDTH, WIDTH),) * 3, (WIDTH, n_digits))
    scales = (0.5, 0.5, 0.3, 0.3, 0.3, 0.3)
    return [
        (torch.randn(*shape, generator=lots) * scale).requires_grad_()
        for shape, scale in zip(shapes, scales, strict=True)
    ]


def _say(weights: Sequence[Tensor], digits: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Return logits of the next digit (list position digit) and the attention (list query key)."""
    table, places, w_q, w_k, w_v, w_out = weights
    x = table[digits] + places
    pattern = masked_softmax((x @ w_q) @ (x @ w_k).mT / math.sqrt(WIDTH), mask)
    return pattern @ (x @ w_v) @ w_out, pattern
