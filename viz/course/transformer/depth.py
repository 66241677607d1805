"""A random stack of our own layers before training: size of signal and gradient at each depth.

Sub-layers take turns: attention, feed-forward network. Three orders of sum and norm are in use or in print, and a stack
can do without sums, or without norms. He et al. 2016; Xiong et al. 2020; Ghojogh and Ghodsi 2020, sections 3.2.2, 3.3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from core.layers.attention import MultiHeadAttention
from core.layers.feedforward import FeedForward

Array = NDArray[np.float64]
Sublayer = Callable[[Tensor], Tensor]
ORDERS = ("none", "post", "pre", "worded")
"""No norm; LN(x + f(x)); x + f(LN(x)); x + LN(f(x)), as the decoder is worded."""
WORDS, WIDTH, HEADS = 8, 64, 4


@dataclass(frozen=True)
class Depths:
    """Measures at each depth, all (layer + 1,), depth 0 is the input.

    `signal` is the root mean square of the numbers; `gradient` the length of the loss's gradient there; `mean_cosine` the mean
    cosine of two different words; `added` (layer,) how much a layer adds, as a share of what comes in.
    """

    signal: Array
    gradient: Array
    mean_cosine: Array
    added: Array


def norm(x: Tensor) -> Tensor:
    """Apply layer norm with g = 1 and b = 0."""
    return F.layer_norm(x, x.shape[-1:], eps=1e-12)


def apply(order: str, x: Tensor, f: Sublayer, *, residual: bool = True) -> Tensor:
    """Apply one sub-layer in one of the ORDERS, with its residual sum or without.

    >>> x = torch.tensor([[1.0, 3.0]])
    >>> [apply(order, x, lambda y: 2 * y).tolist()[0] for order in ORDERS]
    [[3.0, 9.0], [-1.0, 1.0], [-1.0, 5.0], [0.0, 4.0]]
    """
    y = f(norm(x) if order == "pre" else x)
    y = norm(y) if order == "worded" else y
    y = x + y if residual else y
    return norm(y) if order == "post" else y


def sample_stack(n_layers: int, lot: int = 0) -> tuple[Tensor, list[Sublayer], Tensor]:
    """Sample words x (1, WORDS, WIDTH), 2 n_layers sub-layers with weights from N(0, 1 / inputs), and a direction for the loss (as x).

    The same `lot` draws the same numbers, and a deeper stack begins with a shallower one.
    """
    rng = np.random.default_rng(lot)
    x, w = (torch.tensor(rng.standard_normal((1, WORDS, WIDTH))) for _ in range(2))
    allowed = torch.ones(WORDS, WORDS, dtype=torch.bool)
    found: list[Sublayer] = []
    for _ in range(n_layers):
        attend, network = (
            _with_random_weights(part, rng)
            for part in (MultiHeadAttention(WIDTH, HEADS), FeedForward(WIDTH, 4 * WIDTH))
        )
        found += [lambda y, attend=attend: attend(y, y, allowed), network]
    return x, found, w


def _with_random_weights(part: nn.Module, rng: np.random.Generator) -> Any:
    """Fill the layer with random weights and biases of 0, in float64."""
    part = part.double()
    for weight in part.parameters():
        drawn = (
            rng.standard_normal(tuple(weight.shape)) / np.sqrt(weight.shape[-1])
            if weight.ndim > 1
            else np.zeros(tuple(weight.shape))
        )
        weight.data = torch.tensor(drawn)
    return part.requires_grad_(False)


def by_depth(
    order: str, *, residual: bool = True, size: float = 1.0, n_layers: int = 12, lot: int = 0
) -> Depths:
    """Measure a random stack in one order, each sub-layer's output times `size`; the loss is w . (output).

    >>> found = by_depth("none", residual=False, n_layers=4)
    >>> bool(found.signal[-1] < 0.2 * found.signal[0])
    True
    """
    with torch.inference_mode(False), torch.enable_grad():
        x, layers, w = sample_stack(n_layers, lot)
        stream = [x.requires_grad_()]
        for first in range(0, len(layers), 2):
            y = stream[-1]
            for f in layers[first : first + 2]:
                y = apply(order, y, lambda v, f=f: size * f(v), residual=residual)
            stream.append(y)
        return measure_stream(stream, (stream[-1] * w).sum())


def measure_stream(stream: list[Tensor], loss: Tensor) -> Depths:
    """Measure a stream (1, word, d) at each depth, and the gradient of a loss computed from its end."""
    gradients = torch.autograd.grad(loss, stream)
    values = [x.detach()[0].double() for x in stream]
    sizes = [v.square().mean().sqrt().item() for v in values]
    added = [(b - a).norm().item() / max(a.norm().item(), 1e-300) for a, b in pairwise(values)]
    return Depths(
        np.array(sizes),
        np.array([g.double().norm().item() for g in gradients]),
        np.array([_mean_cosine(v) for v in values]),
        np.array(added),
    )


def _mean_cosine(words: Tensor) -> float:
    """Return the mean cosine of two different words (word, d); 1 for a single one."""
    n = len(words)
    unit = F.normalize(words, dim=-1)
    return 1.0 if n < 2 else ((unit @ unit.T).sum().item() - n) / (n * (n - 1))


def identity_gap(lot: int = 0) -> tuple[float, float]:
    """Return the difference of d(x + f(x))/dx and I + df/dx for a random network f and one word, and the size of df/dx (Frobenius).

    >>> identity_gap()[0] < 1e-12
    True
    """
    with torch.inference_mode(False), torch.enable_grad():
        x, layers, _ = sample_stack(1, lot)
        word, f = x[:, :1], layers[1]
        bare, summed = (
            torch.autograd.functional.jacobian(lambda v, r=r: apply("none", v, f, residual=r), word).reshape(
                WIDTH, WIDTH
            )
            for r in (False, True)
        )
    return (summed - bare - torch.eye(WIDTH, dtype=summed.dtype)).abs().max().item(), bare.norm().item()
