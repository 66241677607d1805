"""Attention in blocks: each block of queries reads a few blocks of keys, so that time and memory grow with n, not n^2.

Zaheer et al. 2020 (BigBird): a window of neighbouring blocks, global blocks that read all and are read by all, random

"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from core import masks
from core.layers.attention import masked_softmax
from core.layers.linear import lasting
from core.trace import OFF, Tap

PARTS = ("window", "global", "random")
DRAWS = ("each", "first")


@dataclass(frozen=True, eq=False)
class Layout:
    """The blocks of keys that each block of queries reads. `parts` are (head block block), how many times: 0 or 1.

    Only where the same block is drawn several times may a number be larger; it then counts as often in the softmax.
    """

    parts: dict[str, Tensor]

    @cached_property
    def times(self) -> Tensor:
        """(head block block): how often a block of queries reads a block of keys."""
        near = (self.parts["window"] + self.parts["global"]).clamp(max=1)
        return near + self.parts["random"]

    def open(self, part: str) -> Tensor:
        """(head block block), True where a part lets a block read another; one for all heads where they are alike."""
        times = self.parts[part]
        return (times[:1] > 0).expand_as(times) if times.stride(0) == 0 else times > 0

    @property
    def n_blocks(self) -> int:
        return self.times.shape[-1]

    @cached_property
    def wide(self) -> Tensor:
        """Return the blocks of queries that read everything once, in every head: they are computed as a whole."""
        return self._rows(True)

    @cached_property
    def narrow(self) -> Tensor:
        """Return the other blocks of queries: keys are gathered for them."""
        return self._rows(False)

    def _rows(self, full: bool) -> Tensor:
        with lasting():
            return torch.nonzero((self.times == 1).all(-1).all(0) == full)[:, 0]

    @cached_property
    def gathered(self) -> tuple[Tensor, Tensor]:
        """For each narrow row (head row slot): the block of keys in each slot, and whether the slot is used."""
        times = self.times[:, self.narrow].numpy()
        most = int(times.sum(-1).max(initial=1))
        index, used = (
            np.zeros((*times.shape[:2], most), dtype=np.int64),
            np.zeros((*times.shape[:2], most), bool),
        )
        blocks = np.arange(self.n_blocks)
        for place in np.ndindex(times.shape[:2]):
            read = np.repeat(blocks, times[place])
            index[place][: len(read)], used[place][: len(read)] = read, True
        with lasting():
            return torch.from_numpy(index), torch.from_numpy(used)

    @property
    def saves(self) -> bool:
        """Return whether at most half of the blocks are read by an ordinary row: below that, gathering costs more than it spares."""
        return 2 * self.gathered[0].shape[-1] < self.n_blocks


@lru_cache(maxsize=128)
def layout(
    n_blocks: int,
    n_heads: int = 1,
    *,
    window: int = 3,
    n_global: int = 2,
    n_random: int = 3,
    seed: int = 0,
    draw: str = "each",
) -> Layout:
    """Return the layout of three parts (window, global, random) over `n_blocks` blocks; the random one differs from head to head.

    A row reads the `window` blocks round itself (an odd number), and the global blocks: of `n_global` every other one
    from the beginning and from the end, so that 2 are the first and the last, as in the authors' program. Of the blocks
    that are left it reads `n_random`, or all if they are fewer; with `draw` = "first" the first block in their place,
    so many times over: what the transformers library does with a model that is not being trained.

    >>> int(layout(64).times.sum()), layout(4, n_global=0, n_random=0).times[0].tolist()
    (622, [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 1, 1]])
    """
    with lasting():
        near = masks.window(n_blocks, window // 2)
        first = min(n_blocks, -(-n_global // 2))
        last = range(max(first, n_blocks - n_global // 2), n_blocks)
        everywhere = masks.global_tokens(n_blocks, [*range(first), *last])
        there = near | everywhere
        if draw == "first":
            drawn = torch.zeros(1, n_blocks, n_blocks, dtype=torch.int64)
            drawn[:, ~there.all(-1), 0] = n_random
        else:
            drawn = torch.stack(
                [
                    masks.random_blocks(
                        n_blocks, block=1, count=n_random, seed=seed * n_heads + head, besides=there
                    )
                    for head in range(n_heads)
                ]
            ).long()
        shape = (n_heads, n_blocks, n_blocks)
        parts = (near.long().expand(shape), everywhere.long().expand(shape), drawn.expand(shape))
        return Layout(dict(zip(PARTS, parts, strict=True)))


@lru_cache(maxsize=128)
def everything(n_blocks: int, n_heads: int = 1) -> Layout:
    """Return the layout in which each block reads each: the window is as wide as the text."""
    return layout(n_blocks, n_heads, window=2 * n_blocks + 1, n_global=0, n_random=0)


@dataclass(frozen=True, eq=False)
class BlockMask:
    """A mask in blocks, for `MultiHeadAttention`: `real` (batch pos) is True at tokens that are no padding.

    Each text of the batch has a layout of its own length, so that padding behind it changes nothing. Unless someone
    wants scores, mask or pattern, or the blocks spare nothing, they are never formed: `sparse`. Both ways give the
    same numbers, to the last digits of float32.
    """

    layouts: tuple[Layout, ...]
    block: int
    real: Tensor

    def mixed(self, q: Tensor, k: Tensor, v: Tensor, tap: Tap = OFF) -> Tensor | None:
        """Return the output of each head, of the shape of q, k and v (batch head pos d_head); None where the whole pattern is to be formed."""
        parts = (f"allowed.{name}" for name in PARTS)
        if any(each.saves for each in self.layouts) and not tap.wants("scores", "allowed", "pattern", *parts):
            return self.sparse(q, k, v)
        return None

    def dense(self, tap: Tap = OFF) -> Tensor:
        """Return the mask over tokens (batch head query key), the union of its three parts."""
        window, all_over, random = (
            tap(
                f"allowed.{name}",
                self._cells(lambda each, name=name: each.open(name)),
                "batch head query key",
            )
            for name in PARTS
        )
        return (window | all_over | random) & masks.not_padding(self.real)

    @property
    def times(self) -> Tensor | None:
        """Return how often a key counts (batch head query key); None where none is read more than once."""
        if not any(bool((each.times > 1).any()) for each in self.layouts):
            return None
        return self._cells(lambda each: each.times).clamp(min=1)

    def sparse(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Return the same as by the whole mask, without it: texts of one layout together, each as long as its layout."""
        if len(set(self.layouts)) == 1 and self.layouts[0].n_blocks * self.block >= q.shape[2]:
            return sparse(q, k, v, self.layouts[0], self.block, self.real)
        found = torch.zeros_like(q)
        for each in dict.fromkeys(self.layouts):
            rows = torch.tensor([row for row, own in enumerate(self.layouts) if own is each], device=q.device)
            n = min(q.shape[2], each.n_blocks * self.block)
            few = [side[rows, :, :n] for side in (q, k, v)]
            some = sparse(few[0], few[1], few[2], each, self.block, self.real[rows, :n])
            found = found.index_put((rows,), F.pad(some, (0, 0, 0, q.shape[2] - n)))
        return found

    def _cells(self, value_of: Callable[[Layout], Tensor]) -> Tensor:
        """Return the values of pairs of blocks, spread over their pairs of tokens; zero beyond the end of a text."""
        whole = max(each.n_blocks for each in self.layouts)
        place = (torch.arange(self.real.shape[1]) // self.block).clamp(max=whole - 1)
        cells: dict[Layout, Tensor] = {}
        for each in dict.fromkeys(self.layouts):
            value = value_of(each)
            one = value[:1] if value.stride(0) == 0 else value  # all heads alike: laid out once
            wide = F.pad(one, (0, whole - each.n_blocks) * 2)[:, place[:, None], place]
            cells[each] = wide.to(self.real.device).expand(len(value), -1, -1)
        if len(cells) == 1:
            return cells[self.layouts[0]].expand(len(self.layouts), -1, -1, -1)
        return torch.stack([cells[each] for each in self.layouts])


def sparse(q: Tensor, k: Tensor, v: Tensor, layout: Layout, block: int, real: Tensor) -> Tensor:
    """softmax(q k^T / sqrt(d_head)) v over the blocks that are read, and nothing else.

    For each block of queries the blocks of keys and values are laid side by side; what then is computed grows with n.
    q, k, v (batch head pos d_head), real (batch pos) -> (batch head pos d_head).

    >>> q, real = torch.randn(1, 2, 40, 4), torch.ones(1, 40, dtype=torch.bool)
    >>> mask = BlockMask((layout(20, 2),), 2, real)
    >>> torch.allclose(sparse(q, q, q, layout(20, 2), 2, real), over_all_pairs(q, q, q, mask.dense()), atol=1e-6)
    True
    """
    n, n_blocks = q.shape[2], layout.n_blocks
    if wider := n_blocks * block - n:
        q, k, v = (F.pad(side, (0, 0, 0, wider)) for side in (q, k, v))
        real = F.pad(real, (0, wider))
    wide, narrow, index, used = (each.to(q.device) for each in (layout.wide, layout.narrow, *layout.gathered))
    cut = [side.unflatten(2, (n_blocks, block)) for side in (q, k, v)]
    found, place = [], torch.cat((wide, narrow)).argsort()
    if len(wide):
        rows = cut[0].index_select(2, wide).flatten(2, 3)
        found.append(_weighed(rows, k, v, masks.not_padding(real)).unflatten(2, (len(wide), block)))
    if len(narrow):
        near = real.unflatten(1, (n_blocks, block))[:, index] & used[..., None]  # batch head row slot token
        rows = cut[0].index_select(2, narrow)
        found.append(
            _weighed(rows, _gathered(cut[1], index), _gathered(cut[2], index), near.flatten(-2)[..., None, :])
        )
    return torch.cat(found, 2).index_select(2, place).flatten(2, 3)[:, :, :n]


def over_all_pairs(q: Tensor, k: Tensor, v: Tensor, allowed: Tensor, times: Tensor | None = None) -> Tensor:
    """Return the same over all pairs: every score is formed, and forbidden ones are thrown away.

    >>> one = torch.ones(1, 1, 2, 4)
    >>> over_all_pairs(one, one, one, torch.ones(2, 2, dtype=torch.bool)).shape
    torch.Size([1, 1, 2, 4])
    """
    return _weighed(q, k, v, allowed, times)


def _gathered(side: Tensor, index: Tensor) -> Tensor:
    """(batch head block token d_head), index (head row slot) -> (batch head row slot * token d_head)."""
    n_batch, n_heads, n_blocks, block, d_head = side.shape
    rows = (index + torch.arange(n_heads, device=index.device)[:, None, None] * n_blocks).flatten()
    found = side.flatten(1, 2).index_select(1, rows)
    return found.view(n_batch, n_heads, index.shape[1], index.shape[2] * block, d_head)


def _weighed(q: Tensor, k: Tensor, v: Tensor, allowed: Tensor, times: Tensor | None = None) -> Tensor:
    """(.. query d_head) over (.. key d_head)."""
    weights = masked_softmax(q * q.shape[-1] ** -0.5 @ k.mT, allowed, times)
    return weights.to(v.dtype) @ v
