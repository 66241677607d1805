"""Several heads in one layer, followed number by number.

Rows are words. x (batch, n, d); in each of h heads queries, keys and values of size p = d / h; scores (batch, h, n, n);
outputs of the heads (batch, h, n, p), merged (batch, n, d). Ghojogh and Ghodsi 2020, Eqs. (19)-(22); Vaswani et al. 2017,
section 3.2.2. Everything is computed by the layer that the models use, `core.layers.attention`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core import masks
from core.errors import InputError
from core.layers.attention import MultiHeadAttention
from core.maths import max_difference
from core.trace import Recorder

Array = NDArray[np.float64]
NOBODY = -1
"""The head of a number that belongs to no head: of the input, and of the output of W_O."""
REDRAWN = 10_000
"""First seed of re-initialised weights; seeds of the first weights begin at 0."""


@dataclass(frozen=True)
class Sizes:
    """Numbers of sentences, words, numbers per word and heads.

    >>> Sizes(1, 4, 8, 2).p
    4
    """

    batch: int = 2
    n: int = 4
    d: int = 8
    h: int = 2

    @property
    def p(self) -> int:
        """Return the size of a head. Raises InputError where the heads do not divide d."""
        if self.d % self.h:
            below, above = self.d // self.h * self.h, (self.d // self.h + 1) * self.h
            offers = " or ".join(f"d = {size}" for size in (below, above) if size)
            raise InputError(
                f"{self.d} numbers cannot be divided among {self.h} heads: {self.d} / {self.h} leaves a remainder of {self.d % self.h}.",
                "Each head gets d / h numbers of every word, so d must be divisible by h.",
                f"With {self.h} heads take {offers}, or choose another number of heads.",
            )
        return self.d // self.h


def layer(sizes: Sizes, lot: int = 0, redrawn: int = 0) -> MultiHeadAttention:
    """Return a multi-head attention layer in float64 with random weights from seed `lot`; `redrawn` >= 1 gives head 1 other
    weights.

    >>> one, other = layer(Sizes()), layer(Sizes(), redrawn=1)
    >>> [bool((one.to_q.weight[rows] == other.to_q.weight[rows]).all()) for rows in (slice(0, 4), slice(4, 8))]
    [False, True]
    """
    size = sizes.p
    attend = MultiHeadAttention(sizes.d, sizes.h).double().requires_grad_(False)
    for name, weight in _random_weights(attend, lot).items():
        attend.get_parameter(name).copy_(weight)
    if redrawn:
        for name, weight in _random_weights(attend, REDRAWN + redrawn).items():
            if not name.startswith("to_out"):
                attend.get_parameter(name)[:size] = weight[:size]
    return attend


def _random_weights(attend: MultiHeadAttention, lot: int) -> dict[str, Tensor]:
    """Return random parameters of a layer: rows of a matrix have length about 1, numbers of a bias are about 0.1."""
    source = np.random.default_rng(lot)
    return {
        name: torch.from_numpy(
            source.standard_normal(tuple(weight.shape))
            * (weight.shape[-1] ** -0.5 if weight.ndim > 1 else 0.1)
        )
        for name, weight in attend.named_parameters()
    }


@dataclass(frozen=True)
class LayerRun:
    """Every tensor of one run of the layer, batch axis first.

    x, project, merged, unswapped, out, out_unswapped (batch, n, d); view, back (batch, n, h, p); q, k, v, heads (batch, h, n,
    p); scores, pattern (batch, h, n, n). `unswapped`: the outputs of the heads flattened without the transpose.
    """

    sizes: Sizes
    x: Array
    project: Array
    view: Array
    q: Array
    k: Array
    v: Array
    scores: Array
    pattern: Array
    heads: Array
    back: Array
    merged: Array
    out: Array
    unswapped: Array
    out_unswapped: Array
    parameters: int

    @property
    def off(self) -> float:
        """Return the error of the output without the transpose: the largest difference of a number."""
        return max_difference(self.out, self.out_unswapped)


def run_layer(sizes: Sizes, lot: int = 0, redrawn: int = 0) -> LayerRun:
    """Run the layer on sentences of random words. Raises InputError for sizes that do not fit."""
    with torch.inference_mode():
        attend, tap = layer(sizes, lot, redrawn), Recorder()
        x = torch.from_numpy(np.random.default_rng([lot, 1]).standard_normal((sizes.batch, sizes.n, sizes.d)))
        out = attend(x, x, masks.full(sizes.n), tap)
        trace = tap.close()
        found = {name: trace[name] for name in ("q", "k", "v", "scores", "pattern", "heads")}
        view, back, wrong = (
            found["q"].transpose(1, 2),
            found["heads"].transpose(1, 2),
            forgotten(found["heads"]),
        )
        found |= {"x": x, "project": view.flatten(-2), "view": view, "back": back, "merged": back.flatten(-2)}
        found |= {"out": out, "unswapped": wrong, "out_unswapped": attend.to_out(wrong)}
        arrays = {name: value.numpy().copy() for name, value in found.items()}
        return LayerRun(sizes, **arrays, parameters=parameters(sizes.d))


@dataclass(frozen=True)
class Ways:
    """The run of the layer, the same with head 1 re-initialised, and `chunk`."""

    way: LayerRun
    reinitialised: LayerRun
    chunk: float


def ways(sizes: Sizes, lot: int, redrawn: int) -> Ways:
    """Return both runs of the layer, and `chunk`. Raises InputError where the heads do not divide d."""
    return Ways(run_layer(sizes, lot), run_layer(sizes, lot, redrawn), chunk(sizes, lot))


def forgotten(heads: Tensor) -> Tensor:
    """Reshape (batch, h, n, p) -> (batch, n, h p) without the transpose: it runs, and mixes words and heads.

    >>> forgotten(torch.arange(4).view(1, 2, 2, 1)).tolist(), torch.arange(4).view(1, 2, 2, 1).transpose(1, 2).flatten(-2).tolist()
    ([[[0, 1], [2, 3]]], [[[0, 2], [1, 3]]])
    """
    batch, h, n, p = heads.shape
    return heads.reshape(batch, n, h * p)


def parameters(d: int) -> int:
    """Return 4 (d^2 + d): W_Q, W_K, W_V, W_O with a bias each, for any number of heads.

    >>> parameters(512)
    1050624
    """
    return 4 * (d * d + d)


@dataclass(frozen=True)
class Stage:
    """One stage of the run: its name, its PyTorch code, the tensor, and head and word of each number.

    `head_of` (of the shape of `value`) is the head or NOBODY, `word_of` the word whose row the number was computed for.
    """

    name: str
    code: str
    value: Array
    head_of: NDArray[np.int64]
    word_of: NDArray[np.int64]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape


NAMES = ("x", "project", "view", "swap", "scores", "softmax", "out", "transpose back", "flatten", "W_O")


def stages(way: LayerRun, swapped: bool = True) -> tuple[Stage, ...]:
    """Return the input and the nine stages. Without the transpose back, the last two are its result.

    >>> [stage.shape for stage in stages(run_layer(Sizes(1, 3, 4, 2)))][3:5]
    [(1, 2, 3, 2), (1, 2, 3, 3)]
    """
    sizes = way.sizes
    head, word = _labels(sizes)
    cut = [each.reshape(way.view.shape) for each in (head, word)]
    by_head = [np.moveaxis(each, 2, 1) for each in cut]
    pairs = [each[..., :1].repeat(sizes.n, -1) for each in by_head]
    nobody = np.full_like(head, NOBODY)
    back = [np.moveaxis(each, 1, 2) for each in by_head] if swapped else by_head
    flat = [each.reshape(head.shape) for each in back]
    if swapped:
        code, values = (".transpose(1, 2)", ".flatten(-2)"), (way.back, way.merged, way.out)
    else:
        code = ("forgotten", f".reshape(B, n, {sizes.d})")
        values = (way.heads, way.unswapped, way.out_unswapped)
    last = (
        Stage("transpose back", code[0], values[0], *back),
        Stage("flatten", code[1], values[1], *flat),
        Stage("W_O", "to_out(..)", values[2], nobody, word),
    )
    return (
        Stage("x", "x", way.x, nobody, word),
        Stage("project", "to_q(x)", way.project, head, word),
        Stage("view", f".view(B, n, {sizes.h}, {sizes.p})", way.view, *cut),
        Stage("swap", ".transpose(1, 2)", way.q, *by_head),
        Stage("scores", "q @ k.mT / p ** 0.5", way.scores, *pairs),
        Stage("softmax", ".softmax(-1)", way.pattern, *pairs),
        Stage("out", "weights @ v", way.heads, *by_head),
        *last,
    )


def _labels(sizes: Sizes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return head and word of every number of the projected queries, (batch, n, d) each."""
    head, word = np.arange(sizes.d) // sizes.p, np.arange(sizes.n)[:, None]
    first, second = (np.broadcast_to(each, (sizes.batch, sizes.n, sizes.d)).copy() for each in (head, word))
    return first, second


def in_place(sizes: Sizes) -> int:
    """Count the numbers of a sentence, of n d, that are at the right index although the transpose was forgotten.

    Head k of word i belongs at block i h + k and is at block k n + i.

    >>> in_place(Sizes(1, 4, 8, 2)), in_place(Sizes(1, 4, 8, 1))
    (8, 32)
    """
    return sizes.p * sum(i * sizes.h + k == k * sizes.n + i for i in range(sizes.n) for k in range(sizes.h))


def changed(before: LayerRun, after: LayerRun) -> Array:
    """Return the largest difference of each head's output, (h,): exactly 0 where every bit is the same."""
    return np.abs(before.heads - after.heads).max((0, 2, 3))


def chunk(sizes: Sizes, lot: int = 0) -> float:
    """Return the largest error of head 1's query if it is computed from its own slice of each word alone: "split, then
    project"."""
    way = run_layer(sizes, lot)
    with torch.inference_mode():
        attend, part = layer(sizes, lot), slice(0, sizes.p)
        query = torch.from_numpy(way.x[..., part]) @ attend.to_q.weight[part, part].T + attend.to_q.bias[part]
    return max_difference(query.numpy(), way.q[:, 0])


# ------------------------------------------------------------------ one against several


def lost_share(n_parts: int, heads: int) -> float:
    """Return the smallest possible loss, as a share, if each of `n_parts` parts of an output should come from another word.

    A head has one set of weights for all its numbers. With weights a over the wanted words, independent of each other,
    least squares leaves 1 - a_r^2 / |a|^2 of part r, in sum wanted - 1, wherever the one head looks. Each head more saves
    one part more.

    >>> lost_share(2, 1), lost_share(2, 2), lost_share(4, 1)
    (0.5, 0.0, 0.75)
    """
    return max(0.0, (n_parts - heads) / n_parts)


def measured_loss(n_parts: int, heads: int, lot: int = 0, n: int = 4000, size: int = 4) -> float:
    """Measure the same by least squares: head r attends r + 1 words back, the last one to all the rest uniformly.

    The output of word i is made of `wanted` parts, part r being the word r + 1 places back.
    """
    back = _words_back(n_parts, lot, n, size)
    heads = min(heads, n_parts)
    return _left_over([*back[: heads - 1], np.mean(back[heads - 1 :], axis=0)], back)


def measured_spread(weights: Sequence[float], lot: int = 0, n: int = 4000, size: int = 4) -> float:
    """Measure the share that one head loses with these weights on the words of which an output is made.

    >>> [round(measured_spread(weights), 1) for weights in ((1, 0), (0.5, 0.5), (0.8, 0.2))]
    [0.5, 0.5, 0.5]
    """
    back = _words_back(len(weights), lot, n, size)
    return _left_over([np.tensordot(np.asarray(weights, dtype=float), np.stack(back), 1)], back)


def spreads(n_parts: int, lot: int = 0) -> dict[str, float]:
    """Measure the loss of one head that attends to one of the words, to all uniformly, and to one more than the others.

    >>> losses = spreads(4)
    >>> list(losses), all(abs(loss - (1 - 1 / 4)) < 0.01 for loss in losses.values())
    (['all on one word', 'the same on each', 'half on one'], True)
    """
    one = np.eye(n_parts)[0]
    ways = {"all on one word": one, "the same on each": np.full(n_parts, 1 / n_parts)}
    ways["half on one"] = 0.5 * one + 0.5 * np.append(0.0, np.full(n_parts - 1, 1 / (n_parts - 1)))
    return {name: measured_spread(weights.tolist(), lot) for name, weights in ways.items()}


def _words_back(n_parts: int, lot: int, n: int, size: int) -> list[Array]:
    """Sample words and return those 1 to `n_parts` positions before each: (n, size) each."""
    words = np.random.default_rng([lot, n_parts]).standard_normal((n + n_parts, size))
    return [words[n_parts - r - 1 : n_parts - r - 1 + n] for r in range(n_parts)]


def _left_over(looks: Sequence[Array], parts: Sequence[Array]) -> float:
    """Return the squared error, as a share, of the best linear fit of all parts from the contexts that the heads read."""
    read, target = np.concatenate(looks, 1), np.concatenate(parts, 1)
    fitted = read @ np.linalg.lstsq(read, target, rcond=None)[0]
    return float(((target - fitted) ** 2).sum() / (target**2).sum())
