"""The relative bias of each head: the table of numbers that it adds to its scores by the distance of key and query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
import torch
from numpy.typing import NDArray

from core.layers.positions import Alibi
from core.layers.relative_attention import RelativeBias
from core.model import Model


@dataclass(frozen=True)
class Bucket:
    """Distances, key minus query, that share one number per head: from `first` to `last`; None is unbounded."""

    number: int
    first: int | None
    last: int | None

    @property
    def nearest(self) -> int:
        """Return the distance of the bucket that is nearest to the query.

        >>> Bucket(0, None, -8).nearest, Bucket(1, 3, 5).nearest
        (-8, 3)
        """
        ends = [end for end in (self.first, self.last) if end is not None]
        return min(ends, key=abs)

    @property
    def is_single(self) -> bool:
        """Return whether the bucket has only one distance."""
        return self.first == self.last


@dataclass(frozen=True)
class BiasByDistance:
    """The buckets from the keys farthest before the query to those farthest after it, and the bias of each: (head, bucket).

    `shared_from`: the distance from which on all are in one bucket. The numbers are those of all layers of the stack.
    """

    buckets: tuple[Bucket, ...]
    values: NDArray[np.float32]

    @property
    def endless(self) -> bool:
        """Return whether the farthest distances share a number; otherwise the table continues as it begins (ALiBi)."""
        return self.buckets[0].first is None

    @property
    def shared_from(self) -> int:
        return abs(self.buckets[0].nearest)

    @property
    def exact_distance(self) -> int:
        """Return the largest distance before the query up to which each has a bucket of its own."""
        before = [bucket for bucket in reversed(self.buckets) if bucket.nearest <= 0]
        return abs(list(takewhile(lambda bucket: bucket.is_single, before))[-1].nearest)


def bias_by_distance(model: Model, kind: str) -> BiasByDistance | None:
    """Return the bias of a kind of attention by distance; None where the model adds none.

    T5 (Raffel et al. 2020, section 2.1) and MPNet: score = q . k (T5) or q . k / sqrt d (MPNet) + b[bucket of j - i, head];
    Bloom, MPT, Falcon, jina v2: q . k / sqrt d - m[head] |i - j| (ALiBi, Press et al. 2022), whose nearest distances are given.
    Distances that no key can have (behind the query in a decoder) are left out.

    >>> import core
    >>> bias_by_distance(core.open_model("bert-mini"), "self") is None
    True
    """
    biases: Mapping[str, RelativeBias | Alibi] = getattr(model.network, "biases", {})
    if kind not in biases:
        return None
    table = biases[kind]
    furthest = table.furthest + 1
    distances = torch.arange(-furthest, furthest + 1 if table.both else 1)
    rows = table.bucket(distances).tolist()
    found: list[Bucket] = []
    for distance, row in zip(distances.tolist(), rows, strict=True):
        if found and found[-1].number == row:
            found[-1] = Bucket(row, found[-1].first, distance)
        else:
            found.append(Bucket(row, distance, distance))
    if table.endless:
        found[0] = Bucket(found[0].number, None, found[0].last)
    if table.endless and table.both:
        found[-1] = Bucket(found[-1].number, found[-1].first, None)
    values = table.weight.detach()[[bucket.number for bucket in found]].T.float().cpu().numpy()
    return BiasByDistance(tuple(found), values)
