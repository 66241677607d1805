"""Claims of the exhibit on residual and norm about its runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache

import numpy as np

from core.serving.engine import default
from viz.course.transformer import depth, residuals
from viz.course.transformer.residual_norm import maths, norms, sums
from viz.course.transformer.residual_norm.params import Params
from viz.course.transformer.residuals import Sum

Promises = Mapping[str, Callable[[Params, Sum], bool]]
SMALL = 0.1


@cache
def growth(order: str, size: float, lot: int, *, residual: bool = True) -> tuple[float, float]:
    """Return the factors by which signal and gradient change through the random stack, from its input on."""
    found = depth.by_depth(order, residual=residual, size=size, n_layers=sums.LAYERS, lot=lot)
    return float(found.signal[-1] / found.signal[0]), float(found.gradient[0] / found.gradient[-1])


def word_cosine(data: Sum, word: int) -> float:
    """Return the cosine of a word before and after the addition of attention."""
    before, after = data.before[word], data.after[word]
    return float(before @ after / (np.linalg.norm(before) * np.linalg.norm(after)))


def fades(params: Params, _: Sum) -> bool:
    """Return whether signal and gradient fade without sums, and neither does with them."""
    bare, summed = (growth("none", params.size, params.draw, residual=kept) for kept in (False, True))
    return max(bare) < 0.01 and min(summed) >= 1


@cache
def trained(text: str, residual: bool) -> residuals.StreamRun:
    """Return the trained model on a text, with its sums or without."""
    return residuals.run_stream(default().open(sums.MODEL), text, residual=residual)


def relies(params: Params, _: Sum) -> bool:
    """Return whether the trained model is worse than a uniform guess without its sums, its words all alike."""
    kept, bare = (trained(params.text, residual) for residual in (True, False))
    return (
        bare.surprise > math.log(default().open(sums.MODEL).config.n_vocab) > kept.surprise + 1
        and bare.depths.mean_cosine[-1] > 0.9 > kept.depths.mean_cosine[-1] + 0.2
    )


def normed(params: Params, data: Sum) -> bool:
    """Return whether the norm gives mean 0 and variance 1, and as printed a variance of one over their number."""
    x = norms.numbers_of(params, data)
    y, printed = maths.layer_norm(x), maths.layer_norm(x, printed=True)
    return abs(y.mean()) < 1e-9 and abs(y.var() - 1) < 0.001 and abs(printed.var() * len(x) - 1) < 0.001


def whom_it_moves(params: Params, data: Sum) -> bool:
    """Return whether one pushed number moves one word under layer norm, and all under batch norm."""
    rows = min(norms.ROWS, len(data.tokens))
    found = norms.tables(data, min(params.at_word(data.tokens), rows - 1), params.push, rows)
    moved = {
        name: int((maths.row_changes(found[f"{name} before"], found[f"{name} now"]) > 1e-9).sum())
        for name in ("layer", "batch")
    }
    return moved == {"layer": 1, "batch": rows}


def notices_size(params: Params, _: Sum) -> bool:
    """Return whether small sub-layers change what comes out of two orders, and not of the third."""
    ends = {
        order: [growth(order, size, params.draw)[0] for size in (SMALL, 1.0)] for order in ("pre", "worded")
    }
    return ends["pre"][1] > 2 * ends["pre"][0] and math.isclose(*ends["worded"], rel_tol=1e-6)


ADD: Promises = {
    "before and added make what the model passes on": lambda params, data: data.gap < 1e-4,
    "the word is moved, not replaced: the cosine of sum and word is 0.7 and more": lambda params, data: (
        word_cosine(data, params.at_word(data.tokens)) >= 0.7
    ),
}
NO_SUMS: Promises = {"without sums less than a hundredth gets through, with them nothing is lost": fades}
REAL: Promises = {"without its sums the model is worse than a uniform guess, and its words are alike": relies}
NORM: Promises = {"mean 0 and variance 1; as printed one over the number of numbers": normed}
WHICH_AXIS: Promises = {
    "one number moves one word under layer norm and every word under batch norm": whom_it_moves
}
ORDERS: Promises = {
    "post-norm keeps the signal at 1 and its gradient shrinks, pre-norm lets the signal grow": lambda params, data: (
        abs(depth.by_depth("post", size=params.size, n_layers=sums.LAYERS, lot=params.draw).signal[-1] - 1)
        < 0.01
        and growth("post", params.size, params.draw)[1] < growth("pre", params.size, params.draw)[1]
        and growth("pre", params.size, params.draw)[0] > 1
    ),
    "x + LN(f(x)) does not notice how small a sub-layer is, pre-norm does": notices_size,
}
