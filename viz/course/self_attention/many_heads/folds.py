"""What each step of the exhibit on many heads puts into the folds: equations with this run's numbers, words, table, arrays, code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from viz.charts.curves import number
from viz.course.self_attention.many_heads import maths as lessons
from viz.course.shared.shown import Shown

SLUG = "many_heads."
GUESS = "Guess first: then the numbers are here."
LATER = pd.DataFrame({"": [GUESS]})
GRIDS = (
    "A grid is one tensor, its first sentence: a cell is a number, its colour the head it belongs to; grey belongs to no head. Above a grid stand its name, its shape "
    "(B sentences, n words, d numbers, h heads of p = d / h) and how it is written in PyTorch. "
)
LOOKING = {
    "read": GRIDS + "The projection has a weight for every pair of an incoming and an outgoing number, so each outgoing number has read the whole word. Beigy's slides of 2021 and 2024 say that the *input* is split: it is "
    "not. The split is only logical, one matrix serves all heads. **Try** h = 1: then there is nothing to split.",
    "split": GRIDS + "In a cell stands the word it was made for. Rows are words until the transpose; after it there is one slice per head, and from here on the heads are like sentences of a batch: "
    "what is computed for one never touches another. **Try** d = 12 and h = 5.",
    "attend": GRIDS + "In a cell stands its number. A row of scores is one word looking at all n words; softmax makes it shares. The weights are drawn, not learned, so that nothing here has a meaning; "
    "the page on the heads of a trained model is the next one. What is merged later are the outputs, not the scores.",
    "merge": GRIDS + "In a cell stands the word it was made for. With the transpose each row of the merged grid has its own word in all cells, and all colours. Without it a row has one colour and many words. "
    "Only one head, or one word, survives that. **Try** n = h.",
    "redraw": GRIDS + "In a cell stands its number. The bars are the largest change of a number of each head's output. That a head does not notice the others is why they can be computed at the same "
    "time, and why one can be switched off. **Try** h = 8.",
    "several": "Each of the k parts of a word's output is wanted from another word: part 1 from the word before, part 2 from the one before that, and so on. Words are random and independent, and "
    "the matrices behind the weights are the best there are (least squares). A head that mixes k words gets each of them blurred by the others; a head that looks at one word gets one part. The bars "
    "show the squared error as a share of everything.",
}


def _code(params: Any, more: str) -> str:
    return (
        "from viz.course.self_attention.many_heads.maths import Sizes, changed, followed, lost, measured_loss, stages\n\n"
        f"sizes = Sizes({params.b}, {params.n}, {params.d}, {params.h})\nway = followed(sizes, lot={params.lot})\n" + more
    )


def _frame(way: lessons.Followed, swapped: bool = True) -> pd.DataFrame:
    found = lessons.stages(way, swapped)
    return pd.DataFrame({
        "step": [s.name for s in found], "in PyTorch": [s.code for s in found], "shape": [str(s.shape) for s in found],
        "numbers": [s.value.size for s in found], "first numbers": [", ".join(number(float(x), 3) for x in s.value.ravel()[:4]) for s in found],
    })  # fmt: skip


def _arrays(way: lessons.Followed) -> dict[str, np.ndarray]:
    return {name: getattr(way, name) for name in ("x", "project", "q", "k", "v", "scores", "pattern", "heads", "merged", "out", "out_unswapped")}


def _shown(params: Any, data: Any, step: str, equations: Mapping[str, Mapping[str, str]], numbers: tuple[str, ...], more: str, told: bool = True) -> Shown:
    return Shown(
        equations if told else {}, numbers if told else (r"\text{" + GUESS + "}",), LOOKING[step] if told else GUESS,
        lambda: _frame(data.way) if told else LATER, _arrays(data.way), _code(params, more),
    )  # fmt: skip


def _vector(values: np.ndarray, places: int = 2) -> str:
    some = [f"{value:.{places}f}" for value in values[:6]]
    return "(" + ",\\ ".join([*some, *([r"\dots"] if len(values) > 6 else [])]) + ")"


def of_reading(params: Any, data: Any, told: bool) -> Shown:
    """Eqs. (19)-(21) and the first query in numbers."""
    size, way = params.sizes, data.way
    weight = lessons.layer(size, params.lot).to_q
    w, b = weight.weight[0].numpy(), float(weight.bias[0])
    numbers = (
        r"x_1 = " + _vector(way.x[0, 0]) + r",\quad w = " + _vector(w),
        rf"q_{{1,1}} = \sum_{{c=1}}^{{{size.d}}} w_c\, x_{{1c}} + b = {float(way.x[0, 0] @ w):.3f} + ({b:.3f}) = {way.project[0, 0, 0]:.3f}",
        rf"W_{{Q,i}} \in \mathbb{{R}}^{{{size.d} \times {size.p}}},\quad Q_i, K_i \in \mathbb{{R}}^{{p \times n}} = \mathbb{{R}}^{{{size.p} \times {size.n}}},\quad V_i \in \mathbb{{R}}^{{r \times n}},\ r = p = {size.p}",
    )
    more = "print(way.x.shape, way.project.shape)\nprint(way.project[0, 0])  # all heads of the first word side by side"
    return _shown(params, data, "read", {"heads.query": {}, "heads.key": {}, "heads.value": {}}, numbers, more, told)


def of_splitting(params: Any, data: Any) -> Shown:
    """No equation: the same numbers, arranged anew."""
    size = params.sizes
    numbers = (
        rf"\text{{view}}[b, i, k, c] = \text{{project}}[b, i, k \cdot {size.p} + c]",
        r"\text{swap}[b, k, i, c] = \text{view}[b, i, k, c]",
        rf"\text{{view}}[0, 1, {size.h - 1}, 0] = \text{{project}}[0, 1, {size.p * (size.h - 1)}] = {data.way.view[0, 1, -1, 0]:.3f}",
    )
    return _shown(params, data, "split", {"heads.query": {}}, numbers, "for stage in stages(way)[1:4]:\n    print(stage.name, stage.code, stage.shape)")


def of_attending(params: Any, data: Any) -> Shown:
    """Eq. (16) in each head, the first row of head 1 in numbers."""
    way, p = data.way, params.sizes.p
    numbers = (
        rf"s_{{11}} = q_1 \cdot k_1 / \sqrt{{{p}}} = {float(way.q[0, 0, 0] @ way.k[0, 0, 0]):.3f} / {p**0.5:.3f} = {way.scores[0, 0, 0, 0]:.3f}",
        r"a_1 = \mathrm{softmax}(s_1) = " + _vector(way.pattern[0, 0, 0]),
        r"z_1 = \sum_j a_{1j} v_j = " + _vector(way.heads[0, 0, 0]),
    )
    return _shown(params, data, "attend", {"self.scores": {}, "self.matrix": {}}, numbers, "print(way.pattern[0, 0])  # the weights of head 1\nprint(way.pattern.sum(-1))")


def of_merging(params: Any, data: Any, told: bool) -> Shown:
    """Eq. (22), and how far off the output is without the swap."""
    size = params.sizes
    numbers = (
        rf"\text{{with the transpose: row }} i, \text{{ column }} k \cdot {size.p} + c \quad\leftarrow\quad Z_k[i, c]",
        rf"\text{{without: block }} k \cdot {size.n} + i \text{{ in place of }} i \cdot {size.h} + k; \text{{ the same for }} {lessons.in_place(size)} \text{{ of }} {size.n * size.d} \text{{ numbers}}",
        rf"\max |Z_t - Z_t^{{\text{{forgot}}}}| = {data.way.off:.3f}",
    )
    more = "print(stages(way, swapped=False)[-1].value - way.out)\nprint(way.off)"
    return _shown(params, data, "merge", {"heads.merge": {}}, numbers, more, told)


def of_redrawing(params: Any, data: Any, told: bool) -> Shown:
    """The change of each head."""
    moved = lessons.changed(data.way, data.anew)
    numbers = tuple(rf"\max |Z_{{{k + 1}}} - Z_{{{k + 1}}}'| = " + (f"{value:.3f}" if value else "0") for k, value in enumerate(moved))
    more = f"anew = followed(sizes, lot={params.lot}, redrawn={params.redrawn})\nprint(changed(way, anew))  # exactly 0 for heads 2 to h"
    return _shown(params, data, "redraw", {"heads.query": {}, "heads.merge": {}}, numbers, more, told)


def of_several(params: Any, values: np.ndarray, told: bool) -> Shown:
    """Parameters, and the share that is lost."""
    d, k = params.sizes.d, params.wanted
    numbers = (
        rf"4\,(d^2 + d) = 4\,({d}^2 + {d}) = {lessons.parameters(d)}",
        rf"\text{{lost}} = \frac{{1}}{{k}} \sum_{{r=1}}^{{k}} \left(1 - \frac{{a_r^2}}{{\sum_s a_s^2}}\right) = \frac{{k - 1}}{{k}} = \frac{{{k - 1}}}{{{k}}} \text{{ for one head, however it shares its weight }} a \text{{ among these words}}",
    )
    frame = pd.DataFrame(values, columns=["closed form", "measured"], index=[f"{m + 1} heads" for m in range(len(values))]).round(4)
    code = _code(params, f"for heads in range(1, {k + 1}):\n    print(heads, lost({k}, heads), measured_loss({k}, heads, lot={params.lot}))")
    return Shown(
        {"heads.merge": {}} if told else {}, numbers if told else (r"\text{" + GUESS + "}",), LOOKING["several"] if told else GUESS, lambda: frame if told else LATER,
        {"lost": values} if told else {}, code,
    )  # fmt: skip
