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
    """Distances, key minus query, that share one number a head: from `first` to `last`; None is without end."""

    number: int
    first: int | None
    last: int | None

    @property
    def near(self) -> int:
        """The one of them that is nearest to the query.

        >>> Bucket(0, None, -8).near, Bucket(1, 3, 5).near
        (-8, 3)
        """
        ends = [end for end in (self.first, self.last) if end is not None]
        return min(ends, key=abs)

    @property
    def alone(self) -> bool:
        """Whether it is of one distance."""
        return self.first == self.last


@dataclass(frozen=True)
class ByDistance:
    """The buckets from the keys furthest before the query to those furthest behind, and what is added: (head, bucket).

    `shared`: the distance from which on all are in one bucket. The numbers are those of all layers of the stack.
    """

    buckets: tuple[Bucket, ...]
    values: NDArray[np.float32]

    @property
    def endless(self) -> bool:
        """Whether the farthest distances share a number; otherwise the table goes on as it begins (ALiBi)."""
        return self.buckets[0].first is None

    @property
    def shared(self) -> int:
        return abs(self.buckets[0].near)

    @property
    def alone(self) -> int:
        """Up to which distance before the query each has a bucket of its own."""
        before = [bucket for bucket in reversed(self.buckets) if bucket.near <= 0]
        return abs(list(takewhile(lambda bucket: bucket.alone, before))[-1].near)


def by_distance(model: Model, kind: str) -> ByDistance | None:
    """The table of a kind of attention of this model, by distance; None where nothing is added for it.

    T5 (Raffel et al. 2020, section 2.1) and MPNet: score = q . k (T5) or q . k / sqrt d (MPNet) + b[bucket of j - i, head];
    Bloom, MPT, Falcon, jina v2: q . k / sqrt d - m[head] |i - j| (ALiBi, Press et al. 2022), whose nearest distances are given.
    Distances that no key can have (behind the query in a decoder) are left out.

    >>> import core
    >>> by_distance(core.open_model("bert-mini"), "self") is None
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
    return ByDistance(tuple(found), values)
