"""The heads of fine-tuned models: one or two linear maps of the last layer's output, at one position or at each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from core.layers.feedforward import ACTIVATIONS
from core.layers.linear import Linear
from core.layers.norm import LayerNorm
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Shaped


AXES: Mapping[str, str] = {
    "classes": "batch class",
    "score": "batch class",
    "tags": "batch pos tag",
    "answer": "batch pos edge",
}
"""The possible outputs of a head, with their axes: classes or one score of a text, tags of its tokens, the edges of an answer (its beginning and end)."""
BENDS: Mapping[str, Callable[[Tensor], Tensor]] = {**ACTIVATIONS, "tanh": torch.tanh}


def first(
    hidden: Float[Tensor, "batch pos d_model"], _: Shaped[Tensor, "..."]
) -> Float[Tensor, "batch d_model"]:
    """Return the vector of the first position.

    >>> first(torch.tensor([[[3.0], [5.0]]]), torch.ones(1, 2, dtype=torch.bool)).tolist()
    [[3.0]]
    """
    return hidden[:, 0]


def last(
    hidden: Float[Tensor, "batch pos d_model"], real: Bool[Tensor, "batch pos"]
) -> Float[Tensor, "batch d_model"]:
    """Return the vector of the last position that is not padding."""
    return hidden[torch.arange(len(hidden), device=hidden.device), real.sum(-1) - 1]


def mean(
    hidden: Float[Tensor, "batch pos d_model"], real: Bool[Tensor, "batch pos"]
) -> Float[Tensor, "batch d_model"]:
    """Return the mean over the positions that are not padding.

    >>> mean(torch.tensor([[[3.0], [5.0]]]), torch.ones(1, 2, dtype=torch.bool)).tolist()
    [[4.0]]
    """
    share = real.to(hidden.dtype)
    return (hidden * share[..., None]).sum(1) / share.sum(-1, keepdim=True)


def largest(
    hidden: Float[Tensor, "batch pos d_model"], real: Bool[Tensor, "batch pos"]
) -> Float[Tensor, "batch d_model"]:
    """Return the largest value of each feature over the positions that are not padding."""
    return hidden.masked_fill(~real[..., None], -torch.inf).amax(1)


POOLS: Mapping[str, Callable[[Tensor, Tensor], Tensor]] = {
    "first": first,
    "last": last,
    "mean": mean,
    "max": largest,
    "": lambda hidden, _: hidden,
}
"""The ways in which a head reads the output of the last layer: one position, a mean, a maximum, or ("") all of it."""


@dataclass(frozen=True)
class Map:
    """A linear map after a pooling, with its activation: a key of `BENDS`, or "" for none."""

    d_in: int
    d_out: int
    activation: str = ""
    bias: bool = True


@dataclass(frozen=True)
class Pooling:
    """The way from a text to one vector in a sentence embedder: a key of `POOLS`, the maps after it, and whether its length is made 1.

    >>> Pooling("max", True).sentence_vector(torch.tensor([[[3.0, 0.0], [0.0, 4.0]]]), torch.ones(1, 2, dtype=torch.bool)).tolist()
    [[0.6000000238418579, 0.800000011920929]]
    """

    pool: str
    normalized: bool
    maps: tuple[Map, ...] = ()

    @property
    def adds_up(self) -> bool:
        """Return whether the vector of a text is the mean of a vector of each token."""
        return self.pool == "mean" and not any(each.activation for each in self.maps)

    def sentence_vector(
        self,
        hidden: Float[Tensor, "batch pos d_model"],
        real: Bool[Tensor, "batch pos"],
        mapped: nn.Module | None = None,
    ) -> Float[Tensor, "batch feature"]:
        pooled = POOLS[self.pool](hidden, real)
        pooled = pooled if mapped is None else mapped(pooled)
        return nn.functional.normalize(pooled, dim=-1) if self.normalized else pooled


class PooledMaps(nn.Module):
    """The maps after a pooling, one after the other.

    >>> PooledMaps((Map(2, 5, "tanh"), Map(5, 3)))(torch.zeros(1, 2)).shape
    torch.Size([1, 3])
    """

    def __init__(self, maps: tuple[Map, ...]) -> None:
        super().__init__()
        self.maps = maps
        self.each = nn.ModuleList(Linear(one.d_in, one.d_out, bias=one.bias) for one in maps)

    def forward(self, x: Float[Tensor, "*batch d_in"]) -> Float[Tensor, "*batch d_out"]:
        for one, layer in zip(self.maps, self.each, strict=True):
            x = layer(x)
            x = BENDS[one.activation](x) if one.activation else x
        return x


@dataclass(frozen=True, kw_only=True)
class Head:
    """The shape of a head, and the names of its classes.

    `width` is that of a first map, 0 without one; its output goes through `activation` and, where `eps` is not 0, a norm.
    `pooled`: it reads the network's own pooled output. `several`: more than one class may hold (sigmoid instead of softmax).
    `biases` are those of the first map, the norm and the last map.
    """

    output: str
    n_out: int
    pool: str = ""
    pooled: bool = False
    d_in: int
    width: int = 0
    activation: str = "tanh"
    eps: float = 0.0
    biases: tuple[bool, bool, bool] = (True, True, True)
    names: tuple[str, ...] = ()
    several: bool = False


class TaskHead(nn.Module):
    """The network of a `Head`: from the last layer's output, or the pooled one, to the scores of `Head.output`.

    >>> head = TaskHead(Head(output="classes", n_out=3, pool="last", d_in=4, width=5))
    >>> head(torch.zeros(2, 7, 4), real=torch.ones(2, 7, dtype=torch.bool)).shape
    torch.Size([2, 3])
    """

    def __init__(self, head: Head) -> None:
        super().__init__()
        self.head = head
        first_map, norm, last_map = head.biases
        self.dense = Linear(head.d_in, head.width, bias=first_map) if head.width else None
        self.norm = LayerNorm(head.width, eps=head.eps, bias=norm) if head.width and head.eps else None
        self.out = Linear(head.width or head.d_in, head.n_out, bias=last_map)

    def forward(
        self, hidden: Float[Tensor, "batch *pos d_model"], tap: Tap = OFF, *, real: Bool[Tensor, "batch pos"]
    ) -> Float[Tensor, "batch ..."]:
        x = POOLS[self.head.pool](hidden, real)
        if self.dense is not None:
            x = BENDS[self.head.activation](self.dense(x))
            x = x if self.norm is None else self.norm(x)
        return tap(self.head.output, self.out(x), AXES[self.head.output])
