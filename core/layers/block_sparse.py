"""Attention in blocks: each block of queries reads a few blocks of keys, so that time and memory grow with n, not n^2.

Zaheer et al. 2020 (BigBird): a window of neighbouring blocks, global blocks that read all and are read by all, random

"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from core import masks
from core.layers.attention import masked_softmax
from core.layers.cache import NO_STORE, Store
from core.layers.linear import outside_inference_mode
from core.layers.packed_attention import PackedAttention
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int, Shaped


PARTS = ("window", "global", "random")
DRAWS = ("each", "first")


@dataclass(frozen=True, eq=False)
class Layout:
    """The blocks of keys that each block of queries reads, of which kind: `parts` are (head block block), 0 or 1.

    Only where a random block is sampled several times is a number larger; it then counts as often in the softmax.
    """

    parts: dict[str, Tensor]

    @cached_property
    def times(self) -> Int[Tensor, "head block block"]:
        """Return how often each block of queries reads each block of keys."""
        near = (self.parts["window"] + self.parts["global"]).clamp(max=1)
        return near + self.parts["random"]

    def open(self, part: str) -> Bool[Tensor, "head block block"]:
        """Return True where a part lets a block read another; one matrix, expanded, where all heads are alike."""
        times = self.parts[part]
        return (times[:1] > 0).expand_as(times) if times.stride(0) == 0 else times > 0

    @property
    def n_blocks(self) -> int:
        return self.times.shape[-1]

    @cached_property
    def wide(self) -> Int[Tensor, " row"]:
        """Return the blocks of queries that read everything once, in every head: they are computed as a whole."""
        return self._rows(True)

    @cached_property
    def narrow(self) -> Int[Tensor, " row"]:
        """Return the other blocks of queries: keys are gathered for them."""
        return self._rows(False)

    def _rows(self, full: bool) -> Tensor:
        with outside_inference_mode():
            return torch.nonzero((self.times == 1).all(-1).all(0) == full)[:, 0]

    @cached_property
    def gathered(self) -> tuple[Int[Tensor, "head row slot"], Bool[Tensor, "head row slot"]]:
        """Return for each narrow row the block of keys in each slot, and whether the slot is used."""
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
        with outside_inference_mode():
            return torch.from_numpy(index), torch.from_numpy(used)

    @property
    def saves(self) -> bool:
        """Return whether an ordinary row reads less than half of the blocks: otherwise gathering costs more than it saves."""
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

    A row of blocks reads the `window` blocks around itself (an odd number) and `n_global` global blocks, half of them at
    the beginning and half at the end, so that 2 are the first and the last, as in the authors' program. Of the other
    blocks it reads `n_random` at random, or all if there are fewer. With `draw` = "first" it reads the first block
    `n_random` times instead, as the transformers library does with a model that is not being trained.

    >>> int(layout(64).times.sum()), layout(4, n_global=0, n_random=0).times[0].tolist()
    (622, [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 1, 1]])
    """
    with outside_inference_mode():
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
                        n_blocks, block=1, count=n_random, seed=seed * n_heads + head, occupied=there
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
    """A mask in blocks, for `BlockSparseAttention`: `real` (batch pos) is True at tokens that are not padding.

    Each text of the batch has a layout of its own length, so that padding after it changes nothing.
    """

    layouts: tuple[Layout, ...]
    block: int
    real: Tensor

    def is_sparse(self, tap: Tap = OFF) -> bool:
        """Return whether scores and pattern need not be formed: no tap records or edits them, and the blocks save time."""
        parts = (f"allowed.{name}" for name in PARTS)
        return any(each.saves for each in self.layouts) and not tap.wants(
            "scores", "allowed", "pattern", *parts
        )

    def dense(self, tap: Tap = OFF) -> Bool[Tensor, "batch head query key"]:
        """Return the mask over tokens, the union of its three parts."""
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
    def key_counts(self) -> Int[Tensor, "batch head query key"] | None:
        """Return how often a key counts; None where none is read more than once."""
        if not any(bool((each.times > 1).any()) for each in self.layouts):
            return None
        return self._cells(lambda each: each.times).clamp(min=1)

    def sparse(
        self,
        q: Float[Tensor, "batch head pos d_head"],
        k: Float[Tensor, "batch head pos d_head"],
        v: Float[Tensor, "batch head pos d_head"],
    ) -> Float[Tensor, "batch head pos d_head"]:
        """Return the output of each head without forming the pattern: texts of one layout together, each as long as its layout."""
        if len(set(self.layouts)) == 1 and self.layouts[0].n_blocks * self.block >= q.shape[2]:
            return sparse(q, k, v, self.layouts[0], self.block, self.real)
        outputs = torch.zeros_like(q)
        for each in dict.fromkeys(self.layouts):
            rows = torch.tensor([row for row, own in enumerate(self.layouts) if own is each], device=q.device)
            n = min(q.shape[2], each.n_blocks * self.block)
            few = [side[rows, :, :n] for side in (q, k, v)]
            some = sparse(few[0], few[1], few[2], each, self.block, self.real[rows, :n])
            outputs = outputs.index_put((rows,), F.pad(some, (0, 0, 0, q.shape[2] - n)))
        return outputs

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


class BlockSparseAttention(PackedAttention):
    """Multi-head attention whose mask may be in blocks: scores and pattern are then formed only where a tap wants them.

    Both ways give the same numbers, to the last digits of float32.

    >>> mask = BlockMask((layout(20, 3),), 2, torch.ones(1, 40, dtype=torch.bool))
    >>> attention, x = BlockSparseAttention(d_model=6, n_heads=3), torch.rand(1, 40, 6)
    >>> torch.allclose(attention(x, x, mask), attention(x, x, mask.dense()), atol=1e-6)
    True
    """

    def forward(
        self,
        x: Float[Tensor, "batch pos d_model"],
        source: Float[Tensor, "batch pos d_model"],
        allowed: Bool[Tensor, "... #query key"] | BlockMask,
        tap: Tap = OFF,
        store: Store = NO_STORE,
    ) -> Float[Tensor, "batch pos d_model"]:
        """Return the output at each query; with a mask in blocks, queries and keys are the positions of one text."""
        if isinstance(allowed, Tensor):
            return super().forward(x, source, allowed, tap, store)
        q, project = self.projections(x, source)
        q = tap("q", q, "batch head query d_head")
        k, v = project(source)
        k = tap("k", k, "batch head key d_head")
        v = tap("v", v, "batch head key d_head")
        heads = tap("heads", self.mix_blocks(q, k, v, allowed, tap), "batch head query d_head")
        return tap("out", self.to_out(self.merge(heads)), "batch query d_model")

    def mix_blocks(
        self,
        q: Float[Tensor, "batch head pos d_head"],
        k: Float[Tensor, "batch head pos d_head"],
        v: Float[Tensor, "batch head pos d_head"],
        allowed: BlockMask,
        tap: Tap = OFF,
    ) -> Float[Tensor, "batch head pos d_head"]:
        """Return for each query the values, mixed with its attention weights."""
        if allowed.is_sparse(tap):
            return allowed.sparse(q, k, v)
        mask, times = allowed.dense(tap), allowed.key_counts
        if times is None:
            return self.mix(q, k, v, mask, tap)
        scores = tap("scores", q @ k.mT / math.sqrt(self.d_head), "batch head query key")
        mask = tap("allowed", mask.expand_as(scores), "batch head query key")
        weights = masked_softmax(scores, mask, times)
        return tap("pattern", weights, "batch head query key").to(v.dtype) @ v


def sparse(
    q: Float[Tensor, "batch head pos d_head"],
    k: Float[Tensor, "batch head pos d_head"],
    v: Float[Tensor, "batch head pos d_head"],
    layout: Layout,
    block: int,
    real: Bool[Tensor, "batch pos"],
) -> Float[Tensor, "batch head pos d_head"]:
    """Return softmax(q k^T / sqrt(d_head)) v over the blocks that are read, and nothing else.

    For each block of queries the blocks of keys and values are put side by side; what is then computed grows with n, not n^2.

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
    outputs, place = [], torch.cat((wide, narrow)).argsort()
    if len(wide):
        rows = cut[0].index_select(2, wide).flatten(2, 3)
        outputs.append(_weighed(rows, k, v, masks.not_padding(real)).unflatten(2, (len(wide), block)))
    if len(narrow):
        near = real.unflatten(1, (n_blocks, block))[:, index] & used[..., None]  # batch head row slot token
        rows = cut[0].index_select(2, narrow)
        outputs.append(
            _weighed(rows, _gathered(cut[1], index), _gathered(cut[2], index), near.flatten(-2)[..., None, :])
        )
    return torch.cat(outputs, 2).index_select(2, place).flatten(2, 3)[:, :, :n]


def over_all_pairs(
    q: Float[Tensor, "batch head query d_head"],
    k: Float[Tensor, "batch head key d_head"],
    v: Float[Tensor, "batch head key d_head"],
    allowed: Bool[Tensor, "... #query key"],
    times: Shaped[Tensor, "... #query key"] | None = None,
) -> Float[Tensor, "batch head query d_head"]:
    """Return the same output as `sparse`, from the scores of all pairs of positions: masked ones are computed and thrown away.

    >>> one = torch.ones(1, 1, 2, 4)
    >>> over_all_pairs(one, one, one, torch.ones(2, 2, dtype=torch.bool)).shape
    torch.Size([1, 1, 2, 4])
    """
    return _weighed(q, k, v, allowed, times)


def _gathered(side: Tensor, index: Tensor) -> Tensor:
    """Return the blocks of `index` (head row slot) side by side: (batch head block token d_head) -> (batch head row slot*token d_head)."""
    n_batch, n_heads, n_blocks, block, d_head = side.shape
    rows = (index + torch.arange(n_heads, device=index.device)[:, None, None] * n_blocks).flatten()
    blocks = side.flatten(1, 2).index_select(1, rows)
    return blocks.view(n_batch, n_heads, index.shape[1], index.shape[2] * block, d_head)


def _weighed(q: Tensor, k: Tensor, v: Tensor, allowed: Tensor, times: Tensor | None = None) -> Tensor:
    weights = masked_softmax(q * q.shape[-1] ** -0.5 @ k.mT, allowed, times)
    return weights.to(v.dtype) @ v
