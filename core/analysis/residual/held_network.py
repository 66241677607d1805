"""A network with everything between its parts held linear: what one part writes to the residual stream can be followed to whatever reads it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from core.layers.linear import Linear
from core.layers.norm import LayerNorm, RMSNorm
from core.trace import Tap, matches

EMBEDDINGS = {"token": "token embedding", "position": "position embedding", "segment": "segment embedding"}
WRITERS = "|".join([*(f"*embed.{name}" for name in EMBEDDINGS), "*.heads", "*.ffn.out", "*.gated"])
"""The paths of what is added to a residual stream, in the names of all families."""
Forward = Callable[[Any, Tap], Tensor]
"""Computes something with a network and a tap."""


class HeldNetwork:
    """A network, weights shared, whose first run records the scale of every norm and the gate of every activation; later runs use those.

    So every later run is an affine function of what the parts write (`StreamTap`), and equal to the first where they write the same.
    """

    def __init__(self, network: nn.Module) -> None:
        self._recorded: list[Tensor] = []
        self._position: int | None = None
        self.network: Any = self._twin(network)

    def run(self, forward: Forward, tap: StreamTap) -> Tensor | None:
        """Return what `forward` computes, or None where the tap has seen all that it waits for before."""
        try:
            return forward(self.network, tap)
        except _AllSeen:
            return None
        finally:
            self._position = 0

    def hold(self, compute: Callable[[], Tensor]) -> Tensor:
        """Return the value of a scale or a gate: computed and stored in the first run, and returned again for the same call in every later run."""
        if self._position is None:
            self._recorded.append(compute().detach())
            return self._recorded[-1]
        self._position += 1
        return self._recorded[self._position - 1]

    def _twin(self, module: nn.Module) -> nn.Module:
        if isinstance(module, (LayerNorm, RMSNorm)):
            return _HeldNorm(module, self)
        twin = copy.copy(module)
        if isinstance(module, Linear):
            twin.__class__ = _PlainLinear
        if callable(activation := getattr(module, "activation", None)):
            twin.__dict__["activation"] = _HeldActivation(cast(Any, activation), self)
        twin.__dict__["_modules"] = {
            # what a feed-forward network gives is met by the tap, so nothing inside needs to be held
            name: child if child is None or name == "ffn" else self._twin(child)
            for name, child in module._modules.items()
            if name != "activation"
        }
        return twin


class StreamTap(Tap):
    """A tap that meets every value that is added to the stream; it keeps the values at the paths `ends` and stops the run after the last.

    Without `replaced_by` each value is made a leaf of the gradient. With it, each is zero but at the paths in `replaced_by`, whose functions make
    another of the same shape.
    """

    __slots__ = ("end_values", "ends", "leaves", "prefix", "replaced_by")

    def __init__(
        self, ends: tuple[str, ...] = (), replaced_by: Mapping[str, Callable[[Tensor], Tensor]] | None = None
    ) -> None:
        self.ends, self.replaced_by, self.prefix = ends, replaced_by, ""
        self.leaves: dict[str, tuple[Tensor, str]] = {}
        self.end_values: dict[str, Tensor] = {}

    def __truediv__(self, part: str) -> StreamTap:
        child = copy.copy(self)
        child.prefix = f"{self.prefix}{part}."
        return child

    def __call__(self, name: str, value: Tensor, axes: str) -> Tensor:
        path = self.prefix + name
        if matches(path, WRITERS):
            if self.replaced_by is not None:
                return self.replaced_by.get(path, torch.zeros_like)(value)
            self.leaves[path] = value.detach().clone().requires_grad_(), axes
            return self.leaves[path][0]
        if path in self.ends:
            self.end_values[path] = value
            if len(self.end_values) == len(self.ends):
                raise _AllSeen
        return value

    def wants(self, *names: str) -> bool:
        return True


class _AllSeen(Exception):
    """The last value that a tap waits for has been computed."""


class _HeldNorm(nn.Module):
    def __init__(self, norm: LayerNorm | RMSNorm, owner: HeldNetwork) -> None:
        super().__init__()
        self.norm, self.hold = norm, owner.hold

    def forward(self, x: Tensor) -> Tensor:
        centred = x if isinstance(self.norm, RMSNorm) else x - x.mean(-1, keepdim=True)
        scale = self.hold(lambda: (centred.square().mean(-1, keepdim=True) + self.norm.eps).sqrt())
        y = centred / scale * self.norm.weight
        bias = getattr(self.norm, "bias", None)
        return y if bias is None else y + bias


class _HeldActivation(nn.Module):
    """An activation as a gate, act(x) / x, held."""

    def __init__(self, activation: Callable[[Tensor], Tensor], owner: HeldNetwork) -> None:
        super().__init__()
        self.activation, self.hold = activation, owner.hold

    def forward(self, x: Tensor) -> Tensor:
        return x * self.hold(lambda: torch.where(x == 0, 0.0, self.activation(x) / x))


class _PlainLinear(Linear):
    """A linear map of which many gradients can be asked at once: a weight in half precision is float32 while it is used."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.linear(input, self.weight, self.bias)
