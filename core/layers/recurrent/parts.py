"""Texts that are read part by part, as a document by its sentences: the tokens of each part, as masks and as rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from jaxtyping import Bool, Int


GROUPS = 4
"""Parts are put together by length in so many groups, so that little of what is computed is padding."""


def part_starts(parts: Int[Tensor, "batch pos"], *, backward: bool = False) -> Bool[Tensor, "batch pos"]:
    """Return True at the first token of each part, or at the last for a reader that goes `backward`.

    >>> part_starts(torch.tensor([[0, 0, 1]])).tolist(), part_starts(torch.tensor([[0, 0, 1]]), backward=True).tolist()
    ([[True, False, True]], [[False, True, True]])
    """
    edge = torch.ones_like(parts[:, :1], dtype=torch.bool)
    turns = parts[:, 1:] != parts[:, :-1]
    return torch.cat((turns, edge) if backward else (edge, turns), dim=1)


def part_masks(
    parts: Int[Tensor, "batch pos"], real: Bool[Tensor, "batch pos"]
) -> Bool[Tensor, "batch part pos"]:
    """Return a mask of the tokens of each part; padding belongs to none.

    >>> part_masks(torch.tensor([[0, 0, 1]]), torch.ones(1, 3, dtype=torch.bool)).int().tolist()
    [[[1, 1, 0], [0, 0, 1]]]
    """
    n = int(torch.where(real, parts, 0).max()) + 1
    return (parts[:, None] == torch.arange(n, device=parts.device)[:, None]) & real[:, None]


def rows(
    parts: Int[Tensor, "batch pos"], real: Bool[Tensor, "batch pos"], *, backward: bool = False
) -> Iterator[tuple[Int[Tensor, "row pos"], Bool[Tensor, "row pos"]]]:
    """Yield the parts of all rows as new rows, in groups of about one length: each token's index, and a mask of real tokens.

    The tokens of a part are neighbours. The indices are into the flattened batch, in the order of reading; the mask is False
    where a row is filled up.

    >>> [place.tolist() for place, _ in rows(torch.tensor([[0, 0, 1]]), torch.ones(1, 3, dtype=torch.bool))]
    [[[2]], [[0, 1]]]
    """
    first = (part_starts(parts) & real).flatten().nonzero().squeeze(1)
    lengths = part_masks(parts, real).sum(-1)
    lengths = lengths[lengths > 0]
    order = lengths.argsort()
    for some in order.tensor_split(min(GROUPS, len(order))):
        length = lengths[some, None]
        place = torch.arange(int(length.max()), device=parts.device)
        inside = place < length
        step = torch.where(inside, length - 1 - place if backward else place, 0)
        yield first[some, None] + step, inside
