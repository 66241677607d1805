"""Edits of single cells of attention: of masks, scores and patterns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from core.edits._parts import check_index, replace_at
from core.errors import InputError


@dataclass(frozen=True)
class SetAllowed:
    """An edit that replaces the whole mask. At `*_attn.allowed` (batch head query key); True = may attend.

    `rows` is the query x key matrix as a tuple of tuples of bool.
    """

    leaf: ClassVar[str] = "allowed"
    where: str
    rows: tuple[tuple[bool, ...], ...]

    def __post_init__(self) -> None:
        if len(set(map(len, self.rows))) != 1:
            raise InputError(
                "The rows of the mask are of unlike length.",
                "A mask has one row per query and one column per key.",
                "Give rows of one length.",
            )

    def __call__(self, allowed: Tensor) -> Tensor:
        mask = torch.tensor(self.rows, dtype=torch.bool, device=allowed.device)
        if mask.shape != allowed.shape[-2:]:
            raise InputError(
                "The mask is {mask} but '{where}' is {here}.",
                "A mask has one row per query and one column per key.",
                "Make it again for this text.",
                mask=tuple(mask.shape),
                where=self.where,
                here=tuple(allowed.shape[-2:]),
            )
        return mask.expand_as(allowed).clone()


@dataclass(frozen=True)
class Forbid:
    """An edit that masks one cell, a row (`key=None`) or a column (`query=None`). At `*_attn.allowed`."""

    leaf: ClassVar[str] = "allowed"
    where: str
    query: int | None = None
    key: int | None = None
    head: int | None = None

    def __call__(self, allowed: Tensor) -> Tensor:
        _, n_heads, n_queries, n_keys = allowed.shape
        index = (
            slice(None),
            slice(None) if self.head is None else check_index(self.head, n_heads, "head", self.where),
            slice(None) if self.query is None else check_index(self.query, n_queries, "query", self.where),
            slice(None) if self.key is None else check_index(self.key, n_keys, "key", self.where),
        )
        return replace_at(allowed, index, False)


@dataclass(frozen=True)
class DropToken:
    """An edit that masks one key for every query, in every head: attention proceeds as if the token were not there. At `*.allowed`.

    The others keep their places and the word its own row, so this is not the text without the word: that is another
    text. In an encoder-decoder "encoder.*.allowed|*.cross_attn.allowed" drops a word of the source.
    """

    leaf: ClassVar[str] = "allowed"
    where: str
    key: int

    def __call__(self, allowed: Tensor) -> Tensor:
        return replace_at(allowed, (..., check_index(self.key, allowed.shape[-1], "key", self.where)), False)


@dataclass(frozen=True)
class ForceCell:
    """An edit that gives all of a query's attention to one key, in one head or in all. At `*_attn.allowed`.

    It forbids the query all other keys, so the weight is exactly 1 and the mask is still obeyed.
    Raises InputError for a key that the mask forbids.

    >>> ForceCell("x", query=1, key=0)(torch.ones(2, 2, dtype=torch.bool).tril()[None, None]).int().tolist()
    [[[[1, 0], [1, 0]]]]
    """

    leaf: ClassVar[str] = "allowed"
    where: str
    query: int
    key: int
    head: int | None = None

    def __call__(self, allowed: Tensor) -> Tensor:
        _, n_heads, n_queries, n_keys = allowed.shape
        head = slice(None) if self.head is None else check_index(self.head, n_heads, "head", self.where)
        query, key = (
            check_index(self.query, n_queries, "query", self.where),
            check_index(self.key, n_keys, "key", self.where),
        )
        row = allowed[:, head, query]
        only = torch.zeros_like(row)
        only[..., key] = True
        if not bool(row[..., key].all()):
            raise InputError(
                "At '{where}' query {query} may not attend to key {key}.",
                "A row can be forced only onto a key that its mask allows.",
                "Choose an allowed key.",
                where=self.where,
                query=query,
                key=key,
            )
        return replace_at(allowed, (slice(None), head, query), row & only)


@dataclass(frozen=True)
class SetPattern:
    """An edit that replaces one row of weights. At `*_attn.pattern`; the weights are >= 0 and sum to 1."""

    leaf: ClassVar[str] = "pattern"
    where: str
    query: int
    weights: tuple[float, ...]
    head: int | None = None

    def __post_init__(self) -> None:
        if min(self.weights, default=-1.0) < 0 or abs(sum(self.weights) - 1) > 1e-4:
            raise InputError(
                "The weights sum to {total:.4f} (smallest {least:.4f}).",
                "A row of attention is at least 0 everywhere and sums to 1.",
                "Divide the weights by their sum.",
                total=sum(self.weights),
                least=min(self.weights, default=0),
            )

    def __call__(self, pattern: Tensor) -> Tensor:
        if len(self.weights) != pattern.shape[-1]:
            raise InputError(
                "{n} weights were given for {keys} keys at '{where}'.",
                "A row has one weight per key.",
                "Give as many weights as there are tokens.",
                n=len(self.weights),
                keys=pattern.shape[-1],
                where=self.where,
            )
        query = check_index(self.query, pattern.shape[2], "query", self.where)
        head = (
            slice(None) if self.head is None else check_index(self.head, pattern.shape[1], "head", self.where)
        )
        return replace_at(
            pattern, (slice(None), head, query), torch.tensor(self.weights, dtype=pattern.dtype)
        )


@dataclass(frozen=True)
class Uniform:
    """An edit that spreads the attention of one head, or of all, evenly over the allowed keys: every score is 0. At `*_attn.scores`."""

    leaf: ClassVar[str] = "scores"
    where: str
    head: int | None = None

    def __call__(self, scores: Tensor) -> Tensor:
        head = (
            slice(None) if self.head is None else check_index(self.head, scores.shape[1], "head", self.where)
        )
        return replace_at(scores, (slice(None), head), 0.0)


@dataclass(frozen=True)
class Temperature:
    """An edit that divides the scores by a softmax temperature T. At `*_attn.scores`.

    Below 1 rows grow sharper, above 1 more even; 1 is the model as it is.

    >>> Temperature("x", 2.0)(torch.tensor([[[[4.0]]]])).item()
    2.0
    """

    leaf: ClassVar[str] = "scores"
    where: str
    temperature: float
    head: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.temperature < math.inf:
            raise InputError(
                "The temperature is {temperature:g}.",
                "Scores are divided by it: it is above 0.",
                "Choose 1 for the model as it is.",
                temperature=self.temperature,
            )

    def __call__(self, scores: Tensor) -> Tensor:
        head = (
            slice(None) if self.head is None else check_index(self.head, scores.shape[1], "head", self.where)
        )
        return replace_at(scores, (slice(None), head), scores[:, head] / self.temperature)


@dataclass(frozen=True)
class NoScale:
    """An edit that leaves out the factor 1 / sqrt(d_head) of the scores (Vaswani et al. 2017, section 3.2.1): they are
    larger, so rows grow sharper. At `*_attn.scores`.
    """

    leaf: ClassVar[str] = "scores"
    where: str
    d_head: int

    def __post_init__(self) -> None:
        if self.d_head < 1:
            raise InputError(
                "The width of a head is {d_head}.",
                "Scores were divided by its root: it is at least 1.",
                "Give that of the model.",
                d_head=self.d_head,
            )

    def __call__(self, scores: Tensor) -> Tensor:
        return scores * math.sqrt(self.d_head)
