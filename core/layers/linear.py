"""The linear map of every layer: x W^T + b, its weight laid out for the processor once it no longer changes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor, nn

State = tuple[tuple[int, int], ...]


def state_of(*weights: Tensor | None) -> State | None:
    """What tells one content of frozen weights from another; None while they are being learnt."""
    found: list[tuple[int, int]] = []
    for weight in weights:  # asked at each product of each token that is written: no generators here
        if weight is None:
            continue
        if weight.requires_grad:
            return None
        found.append((id(weight), 0 if weight.is_inference() else weight._version))
    return tuple(found)


def _offered() -> bool:
    return torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")


@contextmanager
def lasting() -> Iterator[None]:
    """Make plain tensors that any later run may use, whichever mode the one that asks first is in."""
    with torch.inference_mode(False), torch.no_grad():
        yield


class Laid:
    """A frozen weight (out, in) in the processor's own layout, where torch offers one (oneDNN on CPU).

    A single vector, as in decoding step by step, is multiplied by numpy's BLAS with the weight as it lies in memory: such a
    product is nearly as fast as the weight can be read, and torch's reads it at half the speed or less.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        with lasting():
            self.weight, self.bias = weight.detach(), None if bias is None else bias.detach()
            fits = weight.device.type == "cpu" and weight.dtype == torch.float32 and _offered()
            self.blocked = torch.ops.mkldnn._reorder_linear_weight(self.weight, 32) if fits else None

    def vector(self, x: Tensor) -> Tensor:
        """The product with one vector (in,) that no gradient is asked of."""
        found = torch.from_numpy(self.weight.numpy().dot(x.numpy()))
        return found if self.bias is None else found.add_(self.bias)

    def __call__(self, x: Tensor) -> Tensor:
        if self.blocked is None or x.dtype != torch.float32 or torch.is_autocast_enabled("cpu") or x.requires_grad:
            return F.linear(x, self.weight, self.bias)
        if x.numel() == x.shape[-1]:
            return self.vector(x.reshape(-1)).view(*x.shape[:-1], -1)
        return torch.ops.mkldnn._linear_pointwise(x, self.blocked, self.bias, "none", [], "")


class Linear(nn.Linear):
    """`nn.Linear` that multiplies with a laid-out copy of its weight while that is frozen (x and y are (.., d)).

    >>> layer = Linear(2, 3)
    >>> y = layer(torch.ones(1, 2))
    >>> torch.allclose(layer.requires_grad_(False)(torch.ones(1, 2)), y)
    True
    """

    _laid: tuple[State, Laid] | None = None

    def forward(self, input: Tensor) -> Tensor:
        laid = self.laid()
        return F.linear(input, self.weight, self.bias) if laid is None else laid(input)

    def laid(self) -> Laid | None:
        """The laid-out weight, kept until it changes; None while it is being learnt."""
        weight, bias = self._parameters["weight"], self._parameters["bias"]
        state = state_of(weight, bias)
        if state is None:
            return None
        if self._laid is None or self._laid[0] != state:
            self._laid = (state, Laid(self.weight, self.bias))
        return self._laid[1]
