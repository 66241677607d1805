"""Tokens of a batch that are read part by part, as sentences of a document are: which belong together, and how they lie as rows."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

GROUPS = 4
"""Parts are put together by length in so many groups, so that little of what is computed is padding."""


def begins(parts: Tensor, *, backward: bool = False) -> Tensor:
    """True where a part begins, for a reader from the front or from the `backward` end: parts (batch pos) -> (batch pos).

    >>> begins(torch.tensor([[0, 0, 1]])).tolist(), begins(torch.tensor([[0, 0, 1]]), backward=True).tolist()
    ([[True, False, True]], [[False, True, True]])
    """
    edge = torch.ones_like(parts[:, :1], dtype=torch.bool)
    turns = parts[:, 1:] != parts[:, :-1]
    return torch.cat((turns, edge) if backward else (edge, turns), dim=1)


def members(parts: Tensor, real: Tensor) -> Tensor:
    """Return a mask of the tokens of each part: parts and real (batch pos) -> (batch part pos), padding in none.

    >>> members(torch.tensor([[0, 0, 1]]), torch.ones(1, 3, dtype=torch.bool)).int().tolist()
    [[[1, 1, 0], [0, 0, 1]]]
    """
    n = int(torch.where(real, parts, 0).max()) + 1
    return (parts[:, None] == torch.arange(n, device=parts.device)[:, None]) & real[:, None]


def rows(parts: Tensor, real: Tensor, *, backward: bool = False) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the parts of all rows as new rows, in groups of about one length: each token's index, and a mask of real tokens.

    parts and real (batch pos), the tokens of a part side by side. Each of a pair is (row pos): indices into the flattened
    batch, in the order of reading, and False where a row is filled up.

    >>> [place.tolist() for place, _ in rows(torch.tensor([[0, 0, 1]]), torch.ones(1, 3, dtype=torch.bool))]
    [[[2]], [[0, 1]]]
    """
    first = (begins(parts) & real).flatten().nonzero().squeeze(1)
    lengths = members(parts, real).sum(-1)
    lengths = lengths[lengths > 0]
    order = lengths.argsort()
    for some in order.tensor_split(min(GROUPS, len(order))):
        length = lengths[some, None]
        place = torch.arange(int(length.max()), device=parts.device)
        inside = place < length
        step = torch.where(inside, length - 1 - place if backward else place, 0)
        yield first[some, None] + step, inside
