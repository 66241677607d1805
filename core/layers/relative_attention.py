"""Attention with a term for the distance of query and key in its scores; every step named."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.layers.cache import NO_STORE, KeysValues, Store
from core.layers.from_scores import FromScores
from core.layers.init import normal
from core.layers.linear import Linear
from core.layers.score_terms import CONTENT_POSITION, POSITION_CONTENT, Term, product, scale
from core.trace import OFF, Tap

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int


def buckets(distance: Int[Tensor, "*shape"], *, both: bool, n: int, furthest: int) -> Int[Tensor, "*shape"]:
    """Return the bucket of each distance (key minus query, whole numbers): near ones have their own, farther ones share them.

    Raffel et al. 2020, section 2.1. With `both` half of the n buckets are for keys after the query, otherwise all are for
    those before it, and those after it share the first. Half of a side's buckets have one distance each; the others grow with
    its logarithm up to `furthest`, beyond which all share the last.

    >>> buckets(torch.tensor([-9, -1, 0, 1, 9]), both=True, n=8, furthest=8).tolist()
    [3, 1, 0, 5, 7]
    """
    first, away = torch.zeros_like(distance), -distance.clamp(max=0)
    if both:
        n //= 2
        first, away = (distance > 0).long() * n, distance.abs()
    exact = n // 2
    share = torch.log(away.clamp(min=1).float() / exact) / math.log(furthest / exact)
    far = (exact + (share * (n - exact)).long()).clamp(max=n - 1)
    return first + torch.where(away < exact, away, far)


class RelativeBias(nn.Module):
    """A learned number for each head and each bucket of distances: ``weight`` (bucket head), shared by the layers of a stack.

    >>> RelativeBias(8, 3, both=True, furthest=16)(2, 5).shape
    torch.Size([1, 3, 2, 5])
    """

    def __init__(self, n_buckets: int, n_heads: int, *, both: bool, furthest: int) -> None:
        super().__init__()
        self.both, self.furthest, self.endless = both, furthest, True
        self.weight = nn.Parameter(normal(n_buckets, n_heads, std=0.02))

    def forward(self, n_query: int, n_key: int) -> Float[Tensor, "one head query key"]:
        """Return the bias of `n_query` queries, the last of `n_key` positions."""
        places = torch.arange(n_key, device=self.weight.device)
        distance = places[None, :] - places[n_key - n_query :, None]
        return F.embedding(self.bucket(distance), self.weight).permute(2, 0, 1)[None]

    def bucket(self, distance: Int[Tensor, "*shape"]) -> Int[Tensor, "*shape"]:
        """Return the row of the table for each distance (key minus query)."""
        return buckets(distance, both=self.both, n=len(self.weight), furthest=self.furthest)


class RelativeAttention(FromScores):
    """softmax(Q K^T / divisor + bias) V in each head, heads merged by W_O.

    `divisor` is sqrt(d_head) where scores are `scaled`, otherwise 1 (T5, GPT-Neo). The bias is that of the stack; a layer
    without one gets None, and its `addition`, the term of the bias, is None too.

    >>> attend = RelativeAttention(6, 4, 2, scaled=False)
    >>> x = torch.ones(1, 3, 6)
    >>> attend(x, x, torch.ones(3, 3, dtype=torch.bool), torch.zeros(1, 4, 3, 3)).shape
    torch.Size([1, 3, 6])
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_head: int,
        *,
        scaled: bool = True,
        bias: bool = False,
        out_bias: bool = False,
        addition: Term | None = None,
    ) -> None:
        super().__init__()
        self.n_heads, self.d_head, self.scaled, self.addition = n_heads, d_head, scaled, addition
        self.divisor = math.sqrt(d_head) if scaled else 1.0
        self.to_q, self.to_k, self.to_v = (Linear(d_model, n_heads * d_head, bias=bias) for _ in range(3))
        self.to_out = Linear(n_heads * d_head, d_model, bias=out_bias)

    def forward(
        self,
        x: Float[Tensor, "batch query d_model"],
        source: Float[Tensor, "batch pos d_model"],
        allowed: Bool[Tensor, "... #query key"],
        bias: Float[Tensor, "... #query key"] | None = None,
        tap: Tap = OFF,
        store: Store = NO_STORE,
    ) -> Float[Tensor, "batch query d_model"]:
        q = tap("q", self.split(self.to_q(x)), "batch head query d_head")
        k, v = store(self._project, source)
        k = tap("k", k, "batch head key d_head")
        v = tap("v", v, "batch head key d_head")
        scores = q @ k.mT / self.divisor
        if bias is not None:
            scores = scores + tap("bias", bias.expand_as(scores), "batch head query key")
        return self.attend(scores, allowed, v, tap)

    def score_terms(self) -> tuple[Term, ...]:
        """Return the terms of a score, in the order in which they are computed."""
        scales = (scale(self.d_head, self.d_head),) if self.scaled else ()
        return product(), *scales, *((self.addition,) if self.addition else ())

    def _project(self, source: Tensor) -> KeysValues:
        return self.split(self.to_k(source)), self.split(self.to_v(source))


def log_buckets(distance: Int[Tensor, "*shape"], *, n: int, furthest: int) -> Int[Tensor, "*shape"]:
    """Return the bucket of each distance (query minus key): near ones their own, farther ones shared, up to n - 1 either way.

    He et al. 2021 (DeBERTa's second version; its code): a distance up to n / 2 is its own bucket; beyond, buckets grow with the
    logarithm, the one of `furthest` - 1 is n - 1.

    >>> log_buckets(torch.tensor([-9, -1, 0, 1, 9]), n=8, furthest=16).tolist()
    [-6, -1, 0, 1, 6]
    """
    middle = n // 2
    away = distance.abs().clamp(min=middle)  # nearer ones are not asked for
    share = torch.log(away / middle) / torch.log(torch.tensor((furthest - 1) / middle))
    far = (torch.ceil(share * (middle - 1)) + middle).long()
    return torch.where(distance.abs() <= middle, distance, far * distance.sign())


class DisentangledAttention(FromScores):
    """softmax((Q K^T + Q K_r^T + K Q_r^T) / sqrt(parts d_head)) V in each head (He et al. 2021, Eqs. (2)-(4)).

    Each distance has a vector, mapped to a query and a key as tokens are: `content_position` is the query of a token times
    the key of the distance, `position_content` the query of the distance times the key of a token. Either may be missing;
    `parts` is how many products a score has. With `shared` distances use the maps of tokens, else they have their own.
    `places` are the vectors of the 2 n - 1 distances from 1 - n on (query minus key). In the trace `content` and the other
    two add up to `scores`.

    >>> attend = DisentangledAttention(6, 3)
    >>> attend(torch.ones(1, 4, 6), torch.ones(7, 6), torch.ones(4, 4, dtype=torch.bool)).shape
    torch.Size([1, 4, 6])
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        to_place: bool = True,
        from_place: bool = True,
        shared: bool = True,
    ) -> None:
        super().__init__()
        self.n_heads, self.d_head = n_heads, d_model // n_heads
        self.to_q, self.to_k, self.to_v, self.to_out = (Linear(d_model, d_model) for _ in range(4))
        self.to_place_k = None if shared or not to_place else Linear(d_model, d_model)
        self.to_place_q = None if shared or not from_place else Linear(d_model, d_model)
        there = {CONTENT_POSITION: to_place, POSITION_CONTENT: from_place}
        self.additions = tuple(term for term, present in there.items() if present)
        self.under = (1 + len(self.additions)) * self.d_head

    def forward(
        self,
        x: Float[Tensor, "batch pos d_model"],
        places: Float[Tensor, "distance d_model"],
        allowed: Bool[Tensor, "... #pos key"],
        tap: Tap = OFF,
    ) -> Float[Tensor, "batch pos d_model"]:
        q = tap("q", self.split(self.to_q(x)), "batch head query d_head")
        k = tap("k", self.split(self.to_k(x)), "batch head key d_head")
        v = tap("v", self.split(self.to_v(x)), "batch head key d_head")
        divisor = math.sqrt(self.under)
        scores = tap("content", q @ k.mT / divisor, "batch head query key")
        at = torch.arange(x.shape[1], device=x.device)
        apart = (at[:, None] - at + len(at) - 1).expand_as(scores)  # the row of `places` for query and key
        if CONTENT_POSITION in self.additions:
            place_k = self.split((self.to_place_k or self.to_k)(places)[None])
            found = (q @ place_k.mT).gather(-1, apart) / divisor
            scores = scores + tap("content_position", found, "batch head query key")
        if POSITION_CONTENT in self.additions:
            place_q = self.split((self.to_place_q or self.to_q)(places)[None])
            found = (k @ place_q.mT).gather(-1, apart.mT).mT / divisor
            scores = scores + tap("position_content", found, "batch head query key")
        return self.attend(scores, allowed, v, tap)

    def score_terms(self) -> tuple[Term, ...]:
        """Return the terms of a score, in the order in which they are computed."""
        return product(), scale(self.under, self.d_head), *self.additions
