"""Interventions as frozen data: applied before recording, hashable, printable, fit for a URL.

Each edit has `where`, the path (or path pattern) of the value it replaces, and is called with that value,
batch axis included. Heads, queries and keys count from 0; a negative index counts from the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from core.errors import InputError


def _checked(index: int, size: int, word: str, where: str) -> int:
    if not -size <= index < size:
        raise InputError(f"There is no {word} {index} at '{where}'.", f"It has {size}, counted from 0.", f"Choose 0 to {size - 1}.")
    return index % size


def _replaced(value: Tensor, index: Any, new: Tensor | float | bool) -> Tensor:
    copy = value.clone()
    copy[index] = new
    return copy


@dataclass(frozen=True)
class ScaleHead:
    """Multiply what one head hands on. At `*_attn.heads` (batch head query d_head).

    >>> ScaleHead("layer.0.self_attn.heads", head=1, factor=0.5)(torch.ones(1, 2, 1, 1)).flatten().tolist()
    [1.0, 0.5]
    """

    where: str
    head: int
    factor: float = 1.0

    def __call__(self, heads: Tensor) -> Tensor:
        weight = torch.ones(heads.shape[1], dtype=heads.dtype, device=heads.device)
        weight[_checked(self.head, heads.shape[1], "head", self.where)] = self.factor
        return heads * weight[None, :, None, None]


@dataclass(frozen=True)
class ZeroHead:
    """Switch one head off. At `*_attn.heads` (batch head query d_head)."""

    where: str
    head: int

    def __call__(self, heads: Tensor) -> Tensor:
        return ScaleHead(self.where, self.head, 0.0)(heads)


@dataclass(frozen=True)
class Scale:
    """Multiply a whole value, e.g. the scores by 2 (a softmax temperature of one half)."""

    where: str
    factor: float

    def __call__(self, value: Tensor) -> Tensor:
        return value * self.factor


@dataclass(frozen=True)
class SetAllowed:
    """Put a whole mask in place. At `*_attn.allowed` (batch head query key); True = may attend.

    `rows` is the query x key matrix as a tuple of tuples of bool.
    """

    where: str
    rows: tuple[tuple[bool, ...], ...]

    def __call__(self, allowed: Tensor) -> Tensor:
        mask = torch.tensor(self.rows, dtype=torch.bool, device=allowed.device)
        if mask.shape != allowed.shape[-2:]:
            raise InputError(
                f"The mask is {tuple(mask.shape)} but '{self.where}' is {tuple(allowed.shape[-2:])}.",
                "A mask has one row a query and one column a key.",
                "Make it anew for this text.",
            )
        return mask.expand_as(allowed).clone()


@dataclass(frozen=True)
class Forbid:
    """Forbid one cell, a row (`key=None`) or a column (`query=None`). At `*_attn.allowed`."""

    where: str
    query: int | None = None
    key: int | None = None
    head: int | None = None

    def __call__(self, allowed: Tensor) -> Tensor:
        _, n_heads, n_queries, n_keys = allowed.shape
        index = (
            slice(None),
            slice(None) if self.head is None else _checked(self.head, n_heads, "head", self.where),
            slice(None) if self.query is None else _checked(self.query, n_queries, "query", self.where),
            slice(None) if self.key is None else _checked(self.key, n_keys, "key", self.where),
        )
        return _replaced(allowed, index, False)


@dataclass(frozen=True)
class SetPattern:
    """Put one row of weights in place. At `*_attn.pattern`; the weights are >= 0 and sum to 1."""

    where: str
    query: int
    weights: tuple[float, ...]
    head: int | None = None

    def __post_init__(self) -> None:
        if min(self.weights, default=-1.0) < 0 or abs(sum(self.weights) - 1) > 1e-4:
            raise InputError(
                f"The weights sum to {sum(self.weights):.4f} (smallest {min(self.weights, default=0):.4f}).",
                "A row of attention is at least 0 everywhere and sums to 1.",
                "Divide the weights by their sum.",
            )

    def __call__(self, pattern: Tensor) -> Tensor:
        if len(self.weights) != pattern.shape[-1]:
            raise InputError(
                f"{len(self.weights)} weights were given for {pattern.shape[-1]} keys at '{self.where}'.",
                "A row has one weight a key.",
                "Give as many weights as there are tokens.",
            )
        query = _checked(self.query, pattern.shape[2], "query", self.where)
        head = slice(None) if self.head is None else _checked(self.head, pattern.shape[1], "head", self.where)
        return _replaced(pattern, (slice(None), head, query), torch.tensor(self.weights, dtype=pattern.dtype))


@dataclass(frozen=True)
class Patch:
    """Replace a value by one of another run.

    Equality and hash go by `where` and `recipe` (how the source was made, e.g. the other run's request),
    never by the bytes of the tensor.
    """

    where: str
    value: Tensor = field(compare=False, repr=False)
    recipe: tuple[object, ...] = ()

    def __call__(self, value: Tensor) -> Tensor:
        return self.value.to(value.dtype).expand_as(value)


@dataclass(frozen=True)
class AddVector:
    """Add a vector to the residual stream at one position (None: at all). At `resid_*` (batch pos d_model)."""

    where: str
    vector: Sequence[float]
    position: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "vector", tuple(float(x) for x in self.vector))

    def __call__(self, resid: Tensor) -> Tensor:
        vector = torch.tensor(self.vector, dtype=resid.dtype)
        if self.position is None:
            return resid + vector
        position = _checked(self.position, resid.shape[1], "position", self.where)
        return _replaced(resid, (slice(None), position), resid[:, position] + vector)
