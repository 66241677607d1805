"""Edits of whole values: the residual stream, the embeddings of tokens and of positions, anything that was recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core.edits._parts import check_index, replace_at, to_tensor
from core.errors import InputError


@dataclass(frozen=True)
class Scale:
    """An edit that multiplies a whole value, e.g. the scores by 2 (a softmax temperature of one half)."""

    where: str
    factor: float

    def __call__(self, value: Tensor) -> Tensor:
        return value * self.factor


@dataclass(frozen=True)
class Patch:
    """An edit that replaces a value by that of another run, a tensor or the array that `other.trace[where]` gives.

    Equality and hash go by `where` and `recipe` (how the source was made, e.g. the other run's request),
    never by the bytes of the tensor.
    """

    where: str
    value: Tensor | NDArray[np.float32] = field(compare=False, repr=False)
    recipe: tuple[object, ...] = ()

    def __call__(self, value: Tensor) -> Tensor:
        new = to_tensor(self.value).to(value.dtype)
        try:
            return new.expand_as(value)
        except RuntimeError:
            raise InputError(
                "The value for '{where}' is {shape}, the one here {here}.",
                "A patch replaces each number by another.",
                "Take it from a run of a text with as many tokens.",
                where=self.where,
                shape=tuple(new.shape),
                here=tuple(value.shape[1:]),
            ) from None


@dataclass(frozen=True)
class AddVector:
    """An edit that adds a vector to the residual stream at one position (None: at all). At `resid_*` (batch pos d_model)."""

    where: str
    vector: Sequence[float]
    position: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "vector", tuple(float(x) for x in self.vector))

    def __call__(self, resid: Tensor) -> Tensor:
        vector = torch.tensor(self.vector, dtype=resid.dtype)
        if len(vector) != resid.shape[-1]:
            raise InputError(
                "The vector has {n} numbers, what stands at '{where}' has {width}.",
                "A vector is added to another of the same width.",
                "Give one of this model.",
                n=len(vector),
                where=self.where,
                width=resid.shape[-1],
            )
        if self.position is None:
            return resid + vector
        position = check_index(self.position, resid.shape[1], "position", self.where)
        return replace_at(resid, (slice(None), position), resid[:, position] + vector)


@dataclass(frozen=True)
class NoPositions:
    """An edit that sets the position vectors to 0, so that the network does not know the order of the tokens. At `*embed.position` (pos d_model)."""

    leaf: ClassVar[str] = "position"
    where: str

    def __call__(self, positions: Tensor) -> Tensor:
        return torch.zeros_like(positions)


@dataclass(frozen=True)
class SwapPositions:
    """An edit that swaps the position vectors of two tokens, which stay in their rows. At `*embed.position` (pos d_model).

    >>> SwapPositions("embed.position", 0, 2)(torch.tensor([[1.0], [2.0], [3.0]])).flatten().tolist()
    [3.0, 2.0, 1.0]
    """

    leaf: ClassVar[str] = "position"
    where: str
    first: int
    second: int

    def __call__(self, positions: Tensor) -> Tensor:
        a, b = (
            check_index(place, positions.shape[-2], "position", self.where)
            for place in (self.first, self.second)
        )
        order = torch.arange(positions.shape[-2])
        order[a], order[b] = b, a
        return positions[..., order, :]


@dataclass(frozen=True)
class ReplaceToken:
    """An edit that puts another token at one position. At `*embed.token` (batch pos d_model).

    `token` is its text, with the space in front where it has one (" young"). `vector` is the row of a table for it, unless given that of
    the model that runs; equality and hash go by the token. The run is that of the text with this token in the place, but keeps its tokens
    by name, so that before and after can be compared.
    """

    leaf: ClassVar[str] = "token"
    where: str
    position: int
    token: str
    vector: Tensor | NDArray[np.float32] | None = field(default=None, compare=False, repr=False)

    def of_model(self, model: Any) -> ReplaceToken:
        """Return the edit with the vector of its token in this model. Raises InputError for a text that is not one token."""
        return self if self.vector is not None else replace(self, vector=model.token_vector(self.token))

    def __call__(self, words: Tensor) -> Tensor:
        position = check_index(self.position, words.shape[1], "position", self.where)
        if self.vector is None:
            raise InputError(
                "“{token}” has no vector here.",
                "It is a row of the table of a model.",
                "Give the edit to model.run, or give its vector.",
                token=self.token,
            )
        return replace_at(words, (slice(None), position), to_tensor(self.vector).to(words.dtype))


@dataclass(frozen=True, eq=False)
class Function:
    """An edit by any function of a value, for notebooks: it cannot be compared, stored or written in a link, so pages refuse it.

    >>> Function("layer.*.self_attn.scores", lambda scores: scores.clamp(max=0.0)).where
    'layer.*.self_attn.scores'
    """

    where: str
    fn: Callable[[Tensor], Tensor] = field(repr=False)

    def __call__(self, value: Tensor) -> Tensor:
        try:
            return self.fn(value)
        except Exception as error:
            raise InputError(
                "The function of the edit at '{where}' raises {name}: {error}",
                "It is given the value as a tensor, batch axis included, and returns one of the same shape and dtype.",
                "Mend the function.",
                where=self.where,
                name=type(error).__name__,
                error=str(error),
            ) from error
