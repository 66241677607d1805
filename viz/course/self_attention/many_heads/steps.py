"""The first steps of the exhibit on many heads: from the words to the heads, through them, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import streamlit as st

from viz.course.exhibit import Folds
from viz.course.self_attention.many_heads import maths
from viz.course.self_attention.many_heads.grids import grids, select_stages, shapes
from viz.course.self_attention.many_heads.maths import Ways
from viz.course.self_attention.many_heads.params import SLUG, WORDS, Params
from viz.labels import percent
from viz.number_text import MINUS, number, row_of_numbers
from viz.widgets import exhibit_parts, page_parts

TENSORS = ("x", "project", "q", "k", "v", "scores", "pattern", "heads", "merged", "out", "out_unswapped")
"""Names of the exported tensors."""


def read(params: Params, data: Ways) -> Folds:
    """Ask how much of a word a head reads, then draw the projection: every head reads all of it, because the split comes later."""
    size, way, found = params.sizes, data.way, maths.stages(data.way)
    whole = f"All {size.d} numbers"
    piece = f"Its own piece, {size.p} of {size.d}" if size.h > 1 else "None of them"
    heads = f"{size.h} heads" if size.h > 1 else "One head"
    known = exhibit_parts.predict(
        f"{SLUG}.first",
        f"A word has {size.d} numbers, and {heads} will read it. How much of it does head 1 read?",
        (piece, whole, "The mean of the others" if size.h > 1 else "Half of them"),
        whole if data.chunk > 1e-9 or size.h == 1 else piece,
        f"Each of its {size.p} numbers is a sum over all {size.d}; computed from the first {size.p} alone it "
        f"would be off by up to {number(data.chunk)}.",
    )
    grids("read", select_stages(found, "x", "project"), values=True, covered=() if known else ("project",))
    x, sentences = found[0], f"One sentence of {size.n} words."
    if size.batch > 1:
        sentences = f"{size.batch} sentences of {size.n} words; the first is drawn."
    page_parts.summary(
        f"x has {' × '.join(map(str, x.shape))} = {x.value.size} numbers. One matrix, {size.d} × {size.d}, "
        f"computes the queries of all heads at once: columns 1 to {size.p} are head 1's."
        if known
        else f"{sentences} Guess first, then its queries are shown."
    )
    shapes(found, ("x", "project"), None if known else 1)
    weight = maths.layer(size, params.draw).to_q
    w, b = weight.weight[0].numpy(), float(weight.bias[0])
    d_p, p_n = rf"{size.d} \times {size.p}", rf"{size.p} \times {size.n}"
    return folds(
        data,
        ("heads.query", "heads.key", "heads.value"),
        (
            r"x_1 = " + vector(way.x[0, 0]) + r",\quad w = " + vector(w),
            rf"q_{{1,1}} = \sum_{{c=1}}^{{{size.d}}} w_c\, x_{{1c}} + b = {float(way.x[0, 0] @ w):.3f} + "
            rf"({b:.3f}) = {way.project[0, 0, 0]:.3f}",
            rf"W_{{Q,i}} \in \mathbb{{R}}^{{{d_p}}},\quad Q_i, K_i \in \mathbb{{R}}^{{p \times n}} = "
            rf"\mathbb{{R}}^{{{p_n}}},\quad V_i \in \mathbb{{R}}^{{r \times n}},\ r = p = {size.p}",
        ),
        known,
    )


def split(params: Params, data: Ways) -> Folds:
    """Draw view and transpose, which compute nothing."""
    size, way, found = params.sizes, data.way, maths.stages(data.way)
    names = ("project", "view", "swap")
    grids("split", select_stages(found, *names), below_question=False)
    stays = int((way.q.ravel() == way.project.ravel()).sum())
    page_parts.summary(
        f"All {way.q.size} numbers are still there, unchanged. The view cuts each word's {size.d} into "
        f"{size.h} × {size.p}; the transpose brings the heads to the front. Read one after the other, "
        f"{stays} of {way.q.size} keep their index."
    )
    shapes(found, names)
    return folds(
        data,
        ("heads.query",),
        (
            rf"\text{{view}}[b, i, k, c] = \text{{project}}[b, i, k \cdot {size.p} + c]",
            r"\text{swap}[b, k, i, c] = \text{view}[b, i, k, c]",
            rf"\text{{view}}[0, 1, {size.h - 1}, 0] = \text{{project}}[0, 1, {size.p * (size.h - 1)}] = "
            rf"{way.view[0, 1, -1, 0]:.3f}",
        ),
    )


def attend(params: Params, data: Ways) -> Folds:
    """Draw scores, softmax and output of each head."""
    size, way, found = params.sizes, data.way, maths.stages(data.way)
    names = ("swap", "scores", "softmax", "out")
    grids("attend", select_stages(found, *names), values=True, below_question=False)
    looks = [(k, int(way.pattern[0, k, 0].argmax())) for k in range(size.h)]
    told = [
        f"head {k + 1} attends most to “{WORDS[j]}” ({percent(way.pattern[0, k, 0, j])})"
        for k, j in looks[:4]
    ]
    page_parts.summary(
        f"Reading “{WORDS[0]}”, {', '.join(told)}. {size.h} × {size.n} rows of weights, each adding up to "
        f"{way.pattern[0].sum(-1).mean():.2f}; the scores of different heads are never combined."
    )
    shapes(found, names)
    dot, p = float(way.q[0, 0, 0] @ way.k[0, 0, 0]), size.p
    return folds(
        data,
        ("self.scores", "self.matrix"),
        (
            rf"s_{{11}} = q_1 \cdot k_1 / \sqrt{{{p}}} = {dot:.3f} / {p**0.5:.3f} = "
            rf"{way.scores[0, 0, 0, 0]:.3f}",
            r"a_1 = \mathrm{softmax}(s_1) = " + vector(way.pattern[0, 0, 0]),
            r"z_1 = \sum_j a_{1j} v_j = " + vector(way.heads[0, 0, 0]),
        ),
    )


def merge(params: Params, data: Ways) -> Folds:
    """Ask how many numbers are at the right index without the transpose, then draw transpose back, flatten and W_O."""
    size, room, off = params.sizes, exhibit_parts.presenting(), number(data.way.off)
    every, right = size.n * size.d, maths.in_place(size)
    alone = "head 1 alone" if size.n >= size.h else f"heads 1 to {-(-size.h // size.n)}"
    known = exhibit_parts.predict_number(
        f"{SLUG}.merge",
        f"Flatten without transposing back: how many of the {every} numbers are at the right index?",
        0,
        every,
        right,
        "One head is one slice: there the transpose moves nothing."
        if size.h == 1
        else f"Row “{WORDS[0]}” then has the numbers of {alone}, from several words. The output is off by up to {off}, "
        "and there is no error message.",
        max(1.0, every / 16),
    )
    forgot = known and params.forgot
    found = maths.stages(data.way, not forgot)
    names = ("out", "transpose back", "flatten", "W_O")[: 3 if room else 4]
    grids("merge", select_stages(found, *names), note=str(forgot))
    # before a room the switch stands beside the sentence
    said, switch = (
        st.columns([5, 2], vertical_alignment="center") if room else (st.container(), st.container())
    )
    with said:
        rest = "." if room else ": from here on no number belongs to one head."
        numbers, after = ("", "") if room else (" numbers", "after W_O ")
        page_parts.summary(
            f"Without the transpose {right} of {every}{numbers} are at the right index; {after}the output is "
            f"off by up to {off}."
            if forgot
            else f"Each row is one word again, {size.h} pieces of {size.p} side by side. "
            f"W_O, {size.d} × {size.d}, mixes them{rest}"
        )
    if known:
        with switch:
            params.show(SLUG, "forgot")
    shapes(found, names)
    return folds(
        data,
        ("heads.merge",),
        (
            rf"\text{{with the transpose: row }} i, \text{{ column }} k \cdot {size.p} + c "
            r"\quad\leftarrow\quad Z_k[i, c]",
            rf"\text{{without: block }} k \cdot {size.n} + i \text{{ in place of }} i \cdot {size.h} + k; "
            rf"\text{{ the same for }} {right} \text{{ of }} {every} \text{{ numbers}}",
            rf"\max |Z_t - Z_t^{{\text{{forgot}}}}| = {data.way.off:.3f}",
        ),
        known,
        {"off": data.way.off},
    )


def folds(
    data: Ways,
    equations: Sequence[str],
    latex: Sequence[str],
    revealed: bool = True,
    also: Mapping[str, object] | None = None,
) -> Folds:
    """Return the folds of a step: every stage as a row, every tensor, and `also` what the step measured."""

    def table() -> pd.DataFrame:
        rows = [
            {
                "step": stage.name,
                "in PyTorch": stage.code,
                "shape": str(stage.shape),
                "numbers": stage.value.size,
                "first numbers": ", ".join(number(float(x), 3) for x in stage.value.ravel()[:4]),
            }
            for stage in maths.stages(data.way)
        ]
        return pd.DataFrame(rows)

    def arrays() -> dict[str, object]:
        return {name: getattr(data.way, name) for name in TENSORS} | dict(also or {})

    return Folds(table, arrays, {}, revealed, {key: {} for key in equations}, latex)


def vector(values: np.ndarray, places: int = 2) -> str:
    """Return the first six numbers in brackets, in LaTeX."""
    more = r",\ \dots" if len(values) > 6 else ""
    first = row_of_numbers(values[:6], places, r",\ ").replace(MINUS, "-")
    return f"({first}{more})"
