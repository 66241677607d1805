"""The linear map of every layer: x W^T + b, its weight laid out for the processor once it no longer changes."""

from __future__ import annotations

import threading
import weakref
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


class Room:
    """Copies of weights in the processor's own layout: those made last stay, as many as `most` bytes hold.

    A copy is as large as its weight and made in the time of reading it twice, so a model that nobody has used for a while does
    without. Whoever multiplies holds his copy meanwhile. Safe to use from many threads.
    """

    def __init__(self, most: int) -> None:
        self.most, self.nbytes = most, 0
        self._lock = threading.RLock()  # the interpreter may call `forget` in the midst of anything
        self._copies: dict[int, tuple[Tensor, int]] = {}

    def copy(self, laid: PackedWeight) -> Tensor:
        """The weight in the processor's layout."""
        found = self._copies.get(id(laid))
        return found[0] if found else self._made(laid)

    def _made(self, laid: PackedWeight) -> Tensor:
        with lasting():
            copy = torch.ops.mkldnn._reorder_linear_weight(laid.weight, 32)
        with self._lock:
            self.forget(id(laid))  # two asked at once
            self._copies[id(laid)] = copy, laid.weight.nbytes
            self.nbytes += laid.weight.nbytes
            while self.nbytes > self.most and len(self._copies) > 1:
                self.forget(next(iter(self._copies)))
        return copy

    def forget(self, name: int) -> None:
        """Of a weight that is gone, its copy goes too."""
        with self._lock:
            self.nbytes -= self._copies.pop(name, (None, 0))[1]


ROOM = Room(2**26)


class PackedWeight:
    """A frozen weight (out, in), multiplied in the processor's own layout where torch offers one (oneDNN on CPU).

    A single vector, as in decoding step by step, is multiplied by numpy's BLAS with the weight as it lies in memory: such a
    product is nearly as fast as the weight can be read, and torch's reads it at half the speed or less.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        with lasting():
            self.weight, self.bias = weight.detach(), None if bias is None else bias.detach()
        self.fits = weight.device.type == "cpu" and weight.dtype == torch.float32 and _offered()
        weakref.finalize(self, ROOM.forget, id(self)).atexit = False

    def vector(self, x: Tensor) -> Tensor:
        """The product with one vector (in,) that no gradient is asked of."""
        found = torch.from_numpy(self.weight.numpy().dot(x.numpy()))
        return found if self.bias is None else found.add_(self.bias)

    def __call__(self, x: Tensor) -> Tensor:
        if not self.fits or x.dtype != torch.float32 or torch.is_autocast_enabled("cpu") or x.requires_grad:
            return F.linear(x, self.weight, self.bias)
        if x.numel() == x.shape[-1]:
            return self.vector(x.reshape(-1)).view(*x.shape[:-1], -1)
        return torch.ops.mkldnn._linear_pointwise(x, ROOM.copy(self), self.bias, "none", [], "")


class Linear(nn.Linear):
    """`nn.Linear` that multiplies with a laid-out copy of its weight while that is frozen (x and y are (.., d)).

    >>> layer = Linear(2, 3)
    >>> y = layer(torch.ones(1, 2))
    >>> torch.allclose(layer.requires_grad_(False)(torch.ones(1, 2)), y)
    True
    """

    _laid: tuple[State, PackedWeight] | None = None

    def forward(self, input: Tensor) -> Tensor:
        laid = self.laid()
        return F.linear(input, self.weight, self.bias) if laid is None else laid(input)

    def laid(self) -> PackedWeight | None:
        """The laid-out weight, kept until it changes; None while it is being learnt."""
        weight, bias = self._parameters["weight"], self._parameters["bias"]
        state = state_of(weight, bias)
        if state is None:
            return None
        if self._laid is None or self._laid[0] != state:
            self._laid = (state, PackedWeight(self.weight, self.bias))
        return self._laid[1]
