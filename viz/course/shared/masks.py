"""Arithmetic of a mask on a row of scores, number by number, and the named masks of the exhibit on masks.

Scores are those after the division by sqrt(d_head). Rows are queries, columns keys; True = may attend.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core import masks
from core.maths import softmax
from viz.languages import mark

Array = NDArray[np.float64]
Allowed = NDArray[np.bool_]

KINDS: dict[str, str] = {
    "causal": mark("causal"),
    "padding": mark("padding"),
    "window": mark("window"),
    "sparse": mark("global + random blocks"),
    "prefix": mark("prefix"),
    "strict": mark("strict"),
    "full": mark("full"),
}
"""The masks one can choose by name, with the words that a page uses for them."""

_SAFE = 700.0  # math.exp overflows a little above


@dataclass(frozen=True)
class Recipe:
    """Mask described by a name and numbers.

    `radius` belongs to window and sparse, `n_global`, `block`, `count`, `seed` to sparse, `length` to prefix, `padded`
    (how many of the last positions count as padding) to padding. `past_only` hides the future as well (`& causal`)
    in those three kinds that do not settle it themselves.

    >>> Recipe("window", radius=1).allowed(3).astype(int).tolist()
    [[1, 0, 0], [1, 1, 0], [0, 1, 1]]
    """

    kind: str = "causal"
    radius: int = 2
    n_global: int = 1
    block: int = 2
    count: int = 1
    seed: int = 0
    length: int = 3
    padded: int = 2
    past_only: bool = True

    def allowed(self, n: int) -> Allowed:
        """Build the mask for n words (query key). Raises ValueError for a name that is not in `KINDS`."""
        if self.kind not in KINDS:
            raise ValueError(f"kind={self.kind!r} is not one of {', '.join(KINDS)}")
        if self.kind in ("causal", "strict", "full"):
            return getattr(masks, self.kind)(n).numpy()
        if self.kind == "prefix":
            return masks.prefix(n, self.length).numpy()
        mask = {"padding": self._padding, "window": self._window, "sparse": self._sparse}[self.kind](n)
        return (mask & masks.causal(n)).numpy() if self.past_only else mask.numpy()

    def code(self) -> str:
        """Return the Python source that builds the mask as `mask`.

        >>> Recipe("window").code()
        'mask = masks.window(n, radius=2) & masks.causal(n)'
        """
        past = " & masks.causal(n)" if self.past_only else ""
        window = f"masks.window(n, radius={self.radius})"
        if self.kind == "padding":
            return f"real = torch.arange(n) < max(1, n - {self.padded})\nmask = masks.not_padding(real[None])[0, 0].expand(n, n){past}"
        if self.kind == "window":
            return f"mask = {window}{past}"
        if self.kind == "sparse":
            blocks = f"block={self.block}, count={self.count}, seed={self.seed}, occupied=there"
            return (
                f"there = {window} | masks.global_tokens(n, range(min(n, {self.n_global})))\n"
                f"mask = there | masks.random_blocks(n, {blocks})"
            ) + (f"\nmask = mask{past}" if past else "")
        length = f", length={self.length}" if self.kind == "prefix" else ""
        return f"mask = masks.{self.kind}(n{length})"

    def _padding(self, n: int) -> Tensor:
        real = torch.arange(n) < max(1, n - self.padded)
        return masks.not_padding(real[None])[0, 0].expand(n, n)

    def _window(self, n: int) -> Tensor:
        return masks.window(n, self.radius)

    def _sparse(self, n: int) -> Tensor:
        there = self._window(n) | masks.global_tokens(n, range(min(n, self.n_global)))
        blocks = {"block": self.block, "count": self.count, "seed": self.seed}
        return there | masks.random_blocks(n, **blocks, occupied=there)


@dataclass(frozen=True)
class Row:
    """One row of attention, each step a list over the keys: score s, mask M (0 or -inf), s + M, e^(s + M), weight.

    `total` is the sum of the exponentials. `shift` was subtracted from each score before the exponential; it is 0
    unless e^s would overflow, and it changes no weight. Where nothing is allowed `total` is 0 and the weights are 0.
    """

    scores: tuple[float, ...]
    mask: tuple[float, ...]
    summed: tuple[float, ...]
    exponentials: tuple[float, ...]
    total: float
    weights: tuple[float, ...]
    shift: float = 0.0

    @property
    def empty(self) -> bool:
        """Return whether every key is masked."""
        return self.total == 0

    @property
    def hidden(self) -> float:
        """Return the share of the weight that the scores alone would give to the masked keys.

        >>> row([0.0, 0.0], [True, False]).hidden
        0.5
        """
        top = max(self.scores)
        alone = [math.exp(s - top) for s in self.scores]
        return sum(e for e, m in zip(alone, self.mask, strict=True) if m) / sum(alone)


def row(scores: Any, allowed: Any) -> Row:
    """Compute one row of masked softmax step by step: e^0 = 1 keeps, e^-inf = 0 removes.

    Ghojogh and Ghodsi 2020, Eqs. (28), (29): softmax(s + M) with M = 0 where allowed and -inf elsewhere.
    Shapes: scores (key), allowed (key).

    >>> row([1.0, 5.0], [True, False]).exponentials
    (2.718281828459045, 0.0)
    >>> row([1.0, 5.0], [False, False]).weights
    (0.0, 0.0)
    """
    values = tuple(float(s) for s in scores)
    mask = tuple(0.0 if may else -math.inf for may in allowed)
    summed = tuple(s + m for s, m in zip(values, mask, strict=True))
    top = max(summed)
    shift = top if math.isfinite(top) and abs(top) > _SAFE else 0.0
    exponentials = tuple(math.exp(x - shift) for x in summed)
    total = math.fsum(exponentials)
    weights = tuple(e / total if total else 0.0 for e in exponentials)
    return Row(values, mask, summed, exponentials, total, weights, shift)


@dataclass(frozen=True)
class MaskedFavourite:
    """Row whose highest-weighted key is masked: that key lost `weight`, all others grew by `factor`; `other` is one example."""

    query: int
    key: int
    weight: float
    factor: float
    other: int
    before: float
    after: float


def mask_favourite(scores: Any, allowed: Any, query: int) -> MaskedFavourite | None:
    """Mask the highest-weighted key of a row; None when no row allows two keys.

    The row is `query`, or the one that allows most if that has fewer than two. Shapes: (query key).

    >>> found = mask_favourite([[0.0, 0.0, 0.0]], [[True, True, True]], 0)
    >>> round(found.weight, 3), round(found.factor, 3), round(found.after, 3)
    (0.333, 1.5, 0.5)
    """
    rows, may = np.asarray(scores, dtype=np.float64), np.asarray(allowed, dtype=bool)
    at = query if may[query].sum() >= 2 else int(may.sum(-1).argmax())
    if may[at].sum() < 2:
        return None
    before = row(rows[at], may[at]).weights
    key, other = (int(i) for i in np.argsort(before)[::-1][:2])
    after = row(rows[at], may[at] & (np.arange(len(before)) != key)).weights
    return MaskedFavourite(
        at, key, before[key], after[other] / before[other], other, before[other], after[other]
    )


@dataclass(frozen=True)
class Filled:
    """Weights (query key) when forbidden scores get a finite number added, and how much of them leaks.

    `leaks` holds each row's weight on forbidden keys.
    """

    weights: Array
    leaks: Array

    @property
    def worst(self) -> tuple[int, float]:
        """Return the row that leaks most, and its leak."""
        at = int(self.leaks.argmax())
        return at, float(self.leaks[at])


def filled(scores: Any, allowed: Any, fill: float, *, p: int, inside: bool) -> Filled:
    """Compute softmax((q.k + M) / sqrt(p)) or softmax(q.k / sqrt(p) + M), with M = fill at masked cells.

    `inside` puts M under the 1/sqrt(p), as Eq. (28) of Ghojogh and Ghodsi 2020 prints it: no difference for -inf, and
    sqrt(p) times less effect for a finite number. A row with nothing allowed leaks everything, whatever the number.
    Shapes: scores (query key), already divided by sqrt(p).

    >>> [round(filled([[0.0, 0.0]], [[True, False]], -10, p=64, inside=i).worst[1], 6) for i in (True, False)]
    [0.2227, 4.5e-05]
    """
    rows, may = np.asarray(scores, dtype=np.float64), np.asarray(allowed, dtype=bool)
    weights = softmax(rows + np.where(may, 0.0, fill / math.sqrt(p) if inside else fill))
    return Filled(weights, np.where(may, 0.0, weights).sum(-1))


def leak_curve(scores: Any, allowed: Any, fills: Any, *, p: int) -> dict[str, Array]:
    """Return the largest leak of any row that has an allowed key, for each number in `fills`, under and beside the 1/sqrt(p).

    Shapes: (fill) each; all zeros when no row both allows and forbids.

    >>> {k: v.round(4).tolist() for k, v in leak_curve([[0.0, 0.0]], [[True, False]], [-1, -100], p=4).items()}
    {'inside': [0.3775, 0.0], 'outside': [0.2689, 0.0]}
    """
    rows = np.asarray(allowed, dtype=bool).any(-1)

    def largest(fill: float, inside: bool) -> float:
        return float(filled(scores, allowed, fill, p=p, inside=inside).leaks[rows].max(initial=0.0))

    return {
        name: np.array([largest(float(fill), name == "inside") for fill in fills])
        for name in ("inside", "outside")
    }


def looks_back(patterns: Iterable[Any]) -> Array:
    """Measure how sharply each head attends to one earlier word that is neither the first, the previous nor the word itself.

    The mean, over sentences and rows from the fourth on, of the largest such weight: where a mask has something to
    take away. Shapes: patterns (layer head query key) each; (layer head). Zeros without such a row.

    >>> pattern = np.zeros((1, 2, 4, 4)); pattern[0, 1, 3, 1] = 0.75
    >>> looks_back([pattern]).tolist()
    [[0.0, 0.75]]
    >>> looks_back([np.ones((1, 2, 3, 3))]).tolist()
    [[0.0, 0.0]]
    """
    found = []
    for weights in map(np.asarray, patterns):
        rows = [weights[..., i, 1 : i - 1].max(-1) for i in range(3, weights.shape[-2])]
        found.append(np.mean(rows, axis=0) if rows else np.zeros(weights.shape[:2]))
    return np.mean(found, axis=0)
