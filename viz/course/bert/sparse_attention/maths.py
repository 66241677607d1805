"""BigBird's mask in numbers: its three parts, the pairs that they allow, the layers between two words, the attention of a head
on each part.

Everything is counted on `core.layers.block_sparse.layout`, the mask that the model itself has.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from core.layers.block_sparse import PARTS, Layout, layout
from core.scoring.cost import Cost, attention_costs

Bools = NDArray[np.bool_]
Array = NDArray[np.float64]
HEADS, NUMBER = 12, 4
"""BERT base has 12 heads; a score in float32 has 4 bytes."""
WIDTH = 32
"""Numbers of a query of the measured head."""
LENGTHS = (256, 512, 1024, 2048, 4096)
DRAWN_PARTS = {
    "all": ("window", "global", "random"),
    "window": ("window",),
    "global": ("global",),
    "random": ("random",),
}
"""The parts of the mask in a picture, by the picture's name."""


@dataclass(frozen=True)
class Shape:
    """A text of n tokens in blocks, and the three numbers of the mask, in blocks; `seed` draws the random ones."""

    n: int = 1024
    block: int = 64
    window: int = 3
    n_global: int = 2
    n_random: int = 3
    seed: int = 0

    @property
    def n_blocks(self) -> int:
        return -(-self.n // self.block)

    def layout(self) -> Layout:
        """Return the blocks that one head reads."""
        return layout(
            self.n_blocks,
            window=self.window,
            n_global=self.n_global,
            n_random=self.n_random,
            seed=self.seed,
        )


@dataclass(frozen=True, eq=False)
class Mask:
    """The three parts over blocks, (query key) each."""

    parts: Mapping[str, Bools]

    @classmethod
    def from_shape(cls, shape: Shape) -> Mask:
        """Return the parts of one head's mask.

        >>> mask = Mask.from_shape(Shape(4096))
        >>> int(mask.union().sum()), mask.union().size
        (622, 4096)
        """
        found = shape.layout().parts
        return cls({name: found[name][0].numpy() > 0 for name in PARTS})

    def union(self, parts: Sequence[str] = PARTS) -> Bools:
        """Return the pairs of blocks that any of these parts allows."""
        return np.logical_or.reduce([self.parts[name] for name in parts])

    def counts(self) -> dict[str, int]:
        """Return the number of blocks of each part; window and global share some, so they sum to more than the union."""
        return {name: int(part.sum()) for name, part in self.parts.items()}


def share(shape: Shape) -> float:
    """Return the share of all pairs of blocks that is allowed.

    >>> round(100 * share(Shape(4096)), 1)
    15.2
    """
    return float(Mask.from_shape(shape).union().mean())


def score_bytes(n: int, kept_share: float = 1.0, heads: int = HEADS) -> float:
    """Return the memory in bytes of the scores of a layer, of which a share is allowed.

    >>> score_bytes(4096) / 2**20, score_bytes(512) / 2**20
    (768.0, 12.0)
    """
    return heads * n * n * NUMBER * kept_share


@lru_cache(maxsize=64)
def shares(shape: Shape, lengths: tuple[int, ...] = LENGTHS) -> tuple[float, ...]:
    """Return the allowed share at each length, the rest of the shape the same."""
    return tuple(share(replace(shape, n=n)) for n in lengths)


@dataclass(frozen=True, eq=False)
class Way:
    """The path from block `source` to block `target`: the shortest one, and the part that allows each step.

    `reached` (layer + 1, block) is True where a block's vector after that many layers may depend on the source. `steps` is None
    where it never arrives; then path and parts are empty.
    """

    source: int
    target: int
    path: tuple[int, ...]
    parts: tuple[str, ...]
    reached: Bools

    @property
    def steps(self) -> int | None:
        return len(self.path) - 1 if self.path else None


def way(mask: Mask, source: int, target: int, parts: Sequence[str] = PARTS) -> Way:
    """Return the shortest path of information from block `source` to block `target`: one layer per step, each row reads its
    columns.

    >>> way(Mask.from_shape(Shape(1024, n_global=0, n_random=0)), 0, 5).steps, way(Mask.from_shape(Shape(1024)), 3, 9).steps
    (5, 2)
    """
    kept = mask.union(parts) | np.eye(len(mask.parts["window"]), dtype=bool)
    back = _reach(kept, source)
    path = [target] if back[target] >= 0 or target == source else []
    while path and path[0] != source:
        path.insert(0, int(back[path[0]]))
    named = tuple(
        next(name for name in parts if mask.parts[name][after, before]) for before, after in pairwise(path)
    )
    reached = [np.eye(len(kept), dtype=bool)[source]]
    for _ in range(max(1, len(path) - 1)):
        reached.append(kept @ reached[-1])
    return Way(source, target, tuple(path), named, np.array(reached))


def _reach(allowed: Bools, source: int) -> NDArray[np.int64]:
    """Return for each block the one before it on a shortest path from the source, -1 for none."""
    back = np.full(len(allowed), -1)
    seen, open_ = {source}, deque([source])
    while open_:
        at = open_.popleft()
        for row in np.flatnonzero(allowed[:, at]):
            if row not in seen:
                seen.add(int(row))
                back[row] = at
                open_.append(int(row))
    return back


def distances(allowed: Bools) -> NDArray[np.int64]:
    """Return the layers from each block (column) to each (row); 0 to itself, -1 where there is no path.

    >>> distances(np.tri(3, dtype=bool) & ~np.tri(3, k=-2, dtype=bool)).tolist()
    [[0, -1, -1], [1, 0, -1], [2, 1, 0]]
    """
    n = len(allowed)
    reads, reached = (allowed | np.eye(n, dtype=bool)).astype(np.float32), np.eye(n, dtype=bool)
    found = np.where(reached, 0, -1)
    for layer in range(1, n + 1):
        wider = reads @ reached > 0
        if (wider == reached).all():
            break
        found[wider & ~reached] = layer
        reached = wider
    return found


@dataclass(frozen=True)
class Far:
    """Over all pairs of different blocks: the mean and the largest number of layers, and the number of pairs without a path."""

    mean: float
    most: int
    n_unreachable: int


def far(mask: Mask, parts: Sequence[str]) -> Far:
    """Return the distances between blocks with these parts alone.

    >>> far(Mask.from_shape(Shape(1024)), PARTS).most
    2
    """
    found = distances(mask.union(parts))[~np.eye(len(mask.parts["window"]), dtype=bool)]
    near = found[found > 0]
    return Far(float(near.mean()) if len(near) else 0.0, int(near.max(initial=0)), int((found < 0).sum()))


@dataclass(frozen=True)
class Timing:
    """One head over n tokens: all pairs, and the blocks alone."""

    n: int
    full: Cost
    blocks: Cost


def measure(
    n: int, block: int, window: int, n_global: int, n_random: int, seed: int, budget: float = 0.12
) -> Timing:
    """Measure time and tensor memory of one head, with all pairs and with blocks; both are computed step by step."""
    shape = Shape(n, block, window, n_global, n_random, seed)
    return Timing(n, *attention_costs(shape.layout(), block, WIDTH, budget))


def by_block(pattern: NDArray[np.float32], block: int) -> Array:
    """Return (query key) weights of tokens as those of blocks: the weight of a block's rows on each block of keys, on average.

    >>> by_block(np.array([[0.5, 0.5, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32), 2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    cuts = np.arange(0, len(pattern), block)
    sums = np.add.reduceat(np.add.reduceat(pattern.astype(np.float64), cuts, 0), cuts, 1)
    return sums / np.diff(np.append(cuts, len(pattern)))[:, None]


def attention_by_part(pattern: NDArray[np.float32], parts: Mapping[str, Bools]) -> dict[str, float]:
    """Return the share of a head's attention on each part, by token masks (query key); pairs of both window and global count as
    window."""
    seen, found = np.zeros(pattern.shape, bool), {}
    for name in PARTS:
        found[name] = float(pattern[parts[name] & ~seen].sum() / len(pattern))
        seen |= parts[name]
    return found
