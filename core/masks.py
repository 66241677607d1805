"""Masks as pure functions: boolean, True = may attend, rows are queries, columns are keys.

Every mask broadcasts to `batch head query key`; masks combine with `&` and `|`.

>>> (causal(3) & window(3, radius=1)).int().tolist()
[[1, 0, 0], [1, 1, 0], [0, 1, 1]]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from jaxtyping import Bool


def full(n_queries: int, n_keys: int | None = None) -> Bool[Tensor, "query key"]:
    """Return the mask (query, key) with everything allowed: that of an encoder, and of cross-attention."""
    return torch.ones(n_queries, n_queries if n_keys is None else n_keys, dtype=torch.bool)


def causal(n: int, *, past: int = 0) -> Bool[Tensor, "query key"]:
    """Return the mask with key j <= query i. With `past` positions already read, query i is at past + i.

    Ghojogh and Ghodsi 2020, Eq. (29): M(i, j) = 0 where j <= i, -inf elsewhere.
    """
    return torch.ones(n, past + n, dtype=torch.bool).tril(past)


def strict(n: int) -> Bool[Tensor, "query key"]:
    """Return the mask with key j < query i: the word itself left out. Row 0 has nothing allowed; its weights are zeros."""
    return torch.ones(n, n, dtype=torch.bool).tril(-1)


def window(n: int, radius: int) -> Bool[Tensor, "query key"]:
    """Return the mask with |i - j| <= radius: sliding-window (local) attention."""
    pos = torch.arange(n)
    return (pos[:, None] - pos[None, :]).abs() <= radius


def global_tokens(n: int, positions: Sequence[int]) -> Bool[Tensor, "query key"]:
    """Return a mask of positions that attend everywhere and are attended from everywhere (BigBird, Longformer)."""
    chosen = torch.zeros(n, dtype=torch.bool)
    chosen[list(positions)] = True
    return chosen[:, None] | chosen[None, :]


def random_blocks(
    n: int, *, block: int, count: int, seed: int, occupied: Bool[Tensor, "query key"] | None = None
) -> Bool[Tensor, "query key"]:
    """Return the mask (query, key) in which every block of queries attends to `count` randomly sampled blocks of keys, none twice (BigBird).

    `occupied` (query, key) is a mask to add to, for instance window and global tokens: a block that it touches is not
    sampled. Where fewer than `count` blocks are free, all of them are used. A block has `block` positions; the same
    seed gives the same blocks.

    >>> random_blocks(4, block=2, count=1, seed=0).sum(1).tolist()
    [2, 2, 2, 2]
    >>> random_blocks(3, block=1, count=1, seed=0, occupied=window(3, radius=0) | causal(3)).int().tolist()
    [[0, 0, 1], [0, 0, 1], [0, 0, 0]]
    """
    n_blocks = -(-n // block)
    generator = torch.Generator().manual_seed(seed)
    taken = (
        torch.zeros(n_blocks, n_blocks, dtype=torch.bool)
        if occupied is None
        else _occupied_blocks(occupied, block, n_blocks)
    )
    chosen = torch.zeros(n_blocks, n_blocks, dtype=torch.bool)
    for row in range(n_blocks):
        order = torch.randperm(n_blocks, generator=generator)
        chosen[row, order[~taken[row, order]][:count]] = True
    return chosen.repeat_interleave(block, 0).repeat_interleave(block, 1)[:n, :n]


def _occupied_blocks(mask: Tensor, block: int, n_blocks: int) -> Tensor:
    """Return True for each pair of blocks that has an allowed cell: (block block)."""
    whole = torch.zeros(n_blocks * block, n_blocks * block, dtype=torch.bool)
    whole[: mask.shape[0], : mask.shape[1]] = mask
    return whole.view(n_blocks, block, n_blocks, block).any(3).any(1)


def prefix(n: int, length: int) -> Bool[Tensor, "query key"]:
    """Return the causal mask with the first `length` positions open to all (prefix language model)."""
    return causal(n) | (torch.arange(n) < length)[None, :]


def not_padding(real: Bool[Tensor, "batch key"]) -> Bool[Tensor, "batch one one key"]:
    """Return a mask that is False at padded keys, from `real`, which is True at tokens that are not padding."""
    return real[:, None, None, :]
