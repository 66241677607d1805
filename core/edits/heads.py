"""Edits of the outputs of heads. At `*_attn.heads` (batch head query d_head)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core.edits._parts import check_index, replace_at, to_tensor
from core.errors import InputError


@dataclass(frozen=True)
class ScaleHead:
    """An edit that multiplies the output of one head by `factor`.

    >>> ScaleHead("layer.0.self_attn.heads", head=1, factor=0.5)(torch.ones(1, 2, 1, 1)).flatten().tolist()
    [1.0, 0.5]
    """

    leaf: ClassVar[str] = "heads"
    where: str
    head: int
    factor: float = 1.0

    def __call__(self, heads: Tensor) -> Tensor:
        weight = torch.ones(heads.shape[1], dtype=heads.dtype, device=heads.device)
        weight[check_index(self.head, heads.shape[1], "head", self.where)] = self.factor
        return heads * weight[None, :, None, None]


@dataclass(frozen=True)
class ZeroHead:
    """An edit that sets the output of one head to 0."""

    leaf: ClassVar[str] = "heads"
    where: str
    head: int

    def __call__(self, heads: Tensor) -> Tensor:
        return ScaleHead(self.where, self.head, 0.0)(heads)


@dataclass(frozen=True)
class MeanHead:
    """Replace the output of one head by its mean, the same for every query.

    Zero misleads: later layers have learned to read a stream in which this head always writes something, and many heads
    write much the same wherever they are (Wang et al. 2022). The mean keeps that and takes away only what
    the head says about this text. Which mean? `vector` (d_head) is the mean over other texts
    (`core.analysis.attribution.means.mean_outputs`): it knows nothing of this one, so it is the right one to give. Without a vector it
    is the mean over the queries of this run: it still knows which words the text has, and under a causal mask it lets
    early rows hear of later words. `over` says where a vector comes from, for links and for people.

    >>> MeanHead("layer.0.self_attn.heads", head=0)(torch.tensor([[[[1.0], [3.0]]]])).flatten().tolist()
    [2.0, 2.0]
    """

    leaf: ClassVar[str] = "heads"
    where: str
    head: int
    vector: tuple[float, ...] | None = field(default=None, repr=False)
    over: str = ""

    def __call__(self, heads: Tensor) -> Tensor:
        head = check_index(self.head, heads.shape[1], "head", self.where)
        if self.vector is None:
            return replace_at(heads, (slice(None), head), heads[:, head].mean(1, keepdim=True))
        if len(self.vector) != heads.shape[-1]:
            raise InputError(
                "The mean has {n} numbers, a head at '{where}' has {width}.",
                "A mean belongs to one head of one model.",
                "Compute it again for this model.",
                n=len(self.vector),
                where=self.where,
                width=heads.shape[-1],
            )
        return replace_at(heads, (slice(None), head), torch.tensor(self.vector, dtype=heads.dtype))


@dataclass(frozen=True)
class PatchHead:
    """An edit that replaces the output of one head by its output in another run, row by row: (query, d_head), or (head, query, d_head) as `other.trace[where]` gives it.

    Equality and hash go by `where`, `head` and `recipe` (how the source was made), never by the bytes of the tensor.
    Raises InputError where this run has another number of rows.
    """

    leaf: ClassVar[str] = "heads"
    where: str
    head: int
    value: Tensor | NDArray[np.float32] = field(compare=False, repr=False)
    recipe: tuple[object, ...] = ()

    def __call__(self, heads: Tensor) -> Tensor:
        head = check_index(self.head, heads.shape[1], "head", self.where)
        value = to_tensor(self.value)
        if value.ndim == heads.ndim - 1 and len(value) == heads.shape[1]:
            value = value[head]  # of all heads, as a trace has them
        if value.shape != heads.shape[2:]:
            raise InputError(
                "The value at '{where}' is {shape}, that of a head here {here}.",
                "A patch goes row by row.",
                "Choose a text of as many tokens.",
                where=self.where,
                shape=tuple(value.shape),
                here=tuple(heads.shape[2:]),
            )
        return replace_at(heads, (slice(None), head), value.to(heads.dtype))
