"""Position vectors beyond the learned ones, fitted so that the first heads treat them as the old ones.

Rows used again (Beltagy et al. 2020, section 5) make every n_old-th position one and the same: a head that looks at the word
before looks at all of its copies. Here each new row is chosen, with all other weights as they are, so that what the heads
of the first layers give to a distance goes on beyond the old end.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from core.models import Batch
from core.trace import record

LAYERS = 3
"""Heads that go by position are in the first layers; what is above reads what these found."""
STEPS, ROWS, RATE = 300, 96, 0.2
NOISE = 0.5
"""A new row begins so far from a copy of an old one, in standard deviations of the old rows."""
PRIOR = 0.1
"""How much it counts that new rows vary as the old ones do (a Gaussian): without it they fitted the distances better and
cost bert-mini words, since what reads words then met vectors that no position had."""
TEXTS, FIRST_WORD = 32, 5
EDGE = 8
"""This many positions at either end are next to special tokens, so they are not counted."""
REACH = 0.8
"""Beyond this share of the old length a distance has few pairs; from there on a head gives what it gives far away."""


def more_positions(network: Any, n_old: int, n: int, *, steps: int = STEPS, seed: int = 0) -> Tensor:
    """Return a position table (n d_model) whose first `n_old` rows are the network's and whose other rows are fitted to continue them.

    By position alone, the query at i and the key at j are those of x_i = mean + s (p_i - mean p), where the mean over
    texts and the share s of each feature are measured in each layer. A head's score of a distance is the mean of
    q_i k_j / sqrt(d_head) over old pairs with j - i = that distance. The new rows go down the cross-entropy of
    softmax of their scores with softmax of these means, plus PRIOR times their squared distance from the old rows' Gaussian.

    >>> from core.models.bert import BERT, BERTConfig
    >>> net = BERT(BERTConfig(n_layers=3, n_heads=2, d_model=6, d_ff=5, n_vocab=11, n_ctx=40)).eval()
    >>> found = more_positions(net, 20, 40, steps=5)
    >>> found.shape, bool((found[:20] == net.embed["position"].weight[:20]).all())
    (torch.Size([40, 6]), True)
    """
    draw = torch.Generator().manual_seed(seed)
    old = network.embed["position"].weight.detach()[:n_old]
    away, mean = old - old.mean(0), old.mean(0)
    values, vectors = torch.linalg.eigh(away.T @ away / n_old)
    size = (values + 0.05 * values.mean()).sqrt()
    root, inverse = vectors * size @ vectors.T, vectors / size @ vectors.T
    heads = [
        _Heads(layer.self_attn, position_heads, away)
        for layer, position_heads in zip(
            network.layers[:LAYERS], _by_position(network, n_old, draw), strict=True
        )
    ]
    wanted = [_further(each.profile(away), n_old, n) for each in heads]
    copies = (away @ inverse).repeat(-(-n // n_old), 1)[n_old:n]
    noise = torch.randn(copies.shape, generator=draw).to(copies)
    new = ((1 - NOISE**2) ** 0.5 * copies + NOISE * noise).requires_grad_()
    optim = torch.optim.Adam([new])
    for step in range(steps):
        rows = torch.randperm(n, generator=draw)[:ROWS]
        table, lost = torch.cat((away, new @ root)), PRIOR * new.square().mean()
        for each, profile in zip(heads, wanted, strict=True):
            given, want = each.scores(table, rows), profile.unfold(-1, n, 1)[:, n - 1 - rows]
            lost = lost + F.cross_entropy(given.flatten(0, 1), want.flatten(0, 1).softmax(-1)) / len(heads)
        optim.param_groups[0]["lr"] = RATE * min(1.0, 2 - 2 * step / steps)
        optim.zero_grad()
        lost.backward()
        optim.step()
    return torch.cat((old, mean + (new @ root).detach()))


@torch.no_grad()
def _by_position(network: Any, n: int, draw: torch.Generator) -> Tensor:
    """Return the input of the first layers at each position, the mean over texts of random words (layer pos d_model)."""
    ids = torch.randint(FIRST_WORD, network.cfg.n_vocab, (TEXTS, n), generator=draw)
    ids = ids.to(network.embed["position"].weight.device)
    keep = ["embed.out", *(f"layer.{i}.resid_out" for i in range(len(network.layers[:LAYERS]) - 1))]
    _, trace = record(network, Batch(ids=ids, real=torch.ones_like(ids, dtype=torch.bool)), keep=keep)
    return torch.stack([trace[path].mean(0) for path in keep])


class _Heads:
    """Heads of one layer that read positions alone. `away` (pos d_model): rows less their mean."""

    def __init__(self, attention: Any, states: Tensor, away: Tensor) -> None:
        self.attention, inner = attention, slice(EDGE, len(states) - EDGE)
        self.mean = states[inner].mean(0)
        moved, from_ = states[inner] - self.mean, away[inner]
        self.share = (moved * from_).sum(0) / from_.square().sum(0)

    def scores(self, away: Tensor, rows: Tensor) -> Tensor:
        """Return the scores (head row pos) of these rows as queries with all as keys."""
        x = self.mean + away * self.share
        q, k = self._per_head(self.attention.to_q, x[rows]), self._per_head(self.attention.to_k, x)
        return q @ k.mT / self.attention.d_head**0.5

    def profile(self, away: Tensor) -> Tensor:
        """Return the mean score of each distance from 1 - n to n - 1, rows centred (head 2 n - 1)."""
        n = len(away)
        scores = self.scores(away, torch.arange(n))
        scores = scores - scores.mean(-1, keepdim=True)
        return torch.stack([scores.diagonal(d, 1, 2).mean(-1) for d in range(1 - n, n)], -1).detach()

    def _per_head(self, linear: Any, x: Tensor) -> Tensor:
        bias = None if linear.bias is None else linear.bias.detach()
        return (
            F.linear(x, linear.weight.detach(), bias)
            .unflatten(-1, (self.attention.n_heads, -1))
            .transpose(0, 1)
        )


def _further(profile: Tensor, n_old: int, n: int) -> Tensor:
    """Return a profile of distances below `n_old` continued to n (head 2 n - 1); far away it is flat.

    Far away are n / n_old times as many keys as before: log(n / n_old) less, together they get what they got.

    >>> _further(torch.tensor([[9.0, 1.0, 2.0, 5.0, 2.0, 1.0, 9.0]]), 4, 8)[0, 4:-4]
    tensor([0.3069, 1.0000, 2.0000, 5.0000, 2.0000, 1.0000, 0.3069])
    """
    reach, middle = round(REACH * (n_old - 1)), n_old - 1
    near = profile[:, middle - reach : middle + reach + 1]
    side = max(1, reach // 4)
    left, right = (
        each.mean(-1, keepdim=True) - math.log(n / n_old) for each in (near[:, :side], near[:, -side:])
    )
    more = n - 1 - reach
    return torch.cat((left.expand(-1, more), near, right.expand(-1, more)), -1)
