"""The folds of the exhibit on another order of the words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from viz.charts.curves import number
from viz.course.self_attention.permutation import maths as lesson_of
from viz.course.self_attention.permutation.steps import MASK, MEAN, PLACES, SET, SLUG, shown, tiny
from viz.shell import links
from viz.widgets import lesson, parts

LOOKING = (
    "Each coloured strip is the output of one word: the first numbers of its row, blue positive, orange negative. The layer is the first attention layer of bert-mini with its trained "
    "weights, all heads together, calculated in 64-bit numbers. It reads the words of the sentence, without [CLS] and [SEP]. A blue line joins a word to itself where all its "
    "numbers are the same after (up to rounding), an orange one where they are not; after the word stands how far its row moved, as a share of its length."
)
MORE = (
    "**Without positions** “the dog saw the man” and “the man saw the dog” are one and the same bag of outputs: nothing downstream can tell who saw whom. "
    "**With positions** every row changes, also that of a word that kept its position: its neighbours are other vectors now. **Under a causal mask** a row depends on the words up to it, "
    "so the order leaves a trace; this is how a decoder without positions can still learn some order. **Try** a sentence with a word that is there twice: without positions its two rows are equal."
)
DOCUMENTS = (
    "The slides of 2024 ask two questions and leave the answers as homework. **Is self-attention permutation-invariant?** No: it is permutation-equivariant, f(PX) = P f(X). Its mean is invariant. "
    "**Is it a set operation?** It needs no order, as a set does; but a word that is there twice counts twice. So it works on a multiset, and of that only the proportions matter: the whole sentence said "
    "twice changes nothing. The survey and its slides say that a model without recurrence and convolution has no sense of order: true of this layer, and not of one with a causal mask."
)


def show(info: Any, data: Any, params: Any, step: int, known: bool) -> None:
    """The five usual folds."""
    with parts.fold(parts.EQUATION, f"{SLUG}equation") as opened:
        if opened.open:
            _equation(data, step, known)
    with parts.fold(parts.LOOKING, f"{SLUG}looking") as opened:
        if opened.open:
            st.markdown(LOOKING)
            st.markdown(MORE)
    parts.documents(info, _documents)
    parts.as_table(lambda: table(data, step, known), "permutation")
    parts.take_away(lambda: arrays(data), code(params, data), key="permutation")


def _documents() -> None:
    st.markdown(DOCUMENTS)
    links.to("homework", "Both questions, with two more, on the homework page", icon=":material/arrow_forward:")


def _equation(data: Any, step: int, known: bool) -> None:
    """The claim in symbols, a case that one can check by hand, and the numbers of this run."""
    n = len(data.order)
    lesson.equation("permutation.equivariant", SLUG, marks={"Pi": "the lines of the picture", "X": "the words"})
    if step == MEAN:
        old, after = shown(data, step).pooled
        lesson.equation("permutation.pooled", SLUG, values={"m": [number(float(value), 3) for value in old[:3]], "n": str(n)})
        st.text(f"After: {', '.join(number(float(value), 3) for value in after[:3])}, …")
    elif step == SET and known:
        _repeat(data)
    elif step == PLACES:
        lesson.equation("positions.add", SLUG)
    elif step == MASK:
        lesson.equation("causal.prefix", SLUG)
    st.markdown("**Small enough to check by hand.** Three words with two numbers each, scores without weights, S = X Xᵀ:")
    x, order = np.array([[1, 0], [1, 2], [0, 1]]), (2, 0, 1)
    p = lesson_of.matrix(order).astype(int)
    parts.equation(rf"X = {_latex(x)}, \quad P = {_latex(p)}, \quad P X = {_latex(p @ x)}")
    parts.equation(rf"S = {_latex(x @ x.T)}, \qquad (PX)(PX)^\top = {_latex((p @ x) @ (p @ x).T)} = P S P^\top")
    st.markdown("Softmax works row by row and does not ask in which column a score stands, so A′ = P A Pᵀ; and A′ (P V) = P A Pᵀ P V = P (A V), because Pᵀ P is the identity.")
    if step not in (SET, MASK) or known:
        st.text(f"This run: the largest difference between f(PX) and P f(X) is {tiny(shown(data, step).largest)}.")


def _repeat(data: Any) -> None:
    n, twice = len(data.order), data.twice
    word = twice if twice < n else 0
    row = data.patterns[0][data.head, 0]
    counts = [2 if twice in (i, n) else 1 for i in range(n)]
    after = lesson_of.repeated(row, counts)
    lesson.equation("permutation.repeat", SLUG, values={"b_j": number(float(after[word]), 4), "c_j": str(counts[word]), "a_j": number(float(row[word]), 4), "n": str(n)})
    st.text(f"Head {data.head}, the row of “{data.names[0]}”: “{data.names[word]}” weighs {row[word]:.4f} once, and {after[word]:.4f} with all its copies. The layer agrees, up to {tiny(data.counted)}.")


def _latex(values: np.ndarray) -> str:
    return r"\begin{bmatrix}" + r"\\".join("&".join(str(value) for value in row) for row in values) + r"\end{bmatrix}"


def table(data: Any, step: int, known: bool) -> pd.DataFrame:
    """Each word after: where it stood, how far its row moved."""
    moved = shown(data, step)
    frame = pd.DataFrame({"word": [data.names[i] for i in moved.origin], "position before": list(moved.origin), "position after": range(len(moved.origin))})
    return frame.assign(**{"change of its row": moved.change, "largest difference": np.abs(moved.after - moved.along).max(1)}) if known else frame


def arrays(data: Any) -> dict[str, np.ndarray]:
    """Everything that was measured."""
    found = {"order": np.array(data.order), "weights": data.patterns[0], "weights_after": data.patterns[1]}
    for name in ("plain", "placed", "causal", "said"):
        moved = getattr(data, name)
        found |= {f"{name}_before": moved.before, f"{name}_after": moved.after}
    return found


def code(params: Any, data: Any) -> str:
    """The lines that make the same numbers in a notebook."""
    return (
        "import core\nfrom viz.course.self_attention.permutation import maths as lesson\n\n"
        f"model = core.open_model('bert-mini')\nids = model.tokenizer.encode({params.text!r}).ids\norder = {data.order}\n"
        "new, places = [ids[i] for i in order], range(1, len(ids) + 1)\nlayer = lesson.in_double(model.network.layers[0].self_attn)\n"
        "plain = lesson.reordered(layer, lesson.rows_of(model.network, ids), lesson.rows_of(model.network, new), order)\n"
        "placed = lesson.reordered(layer, lesson.rows_of(model.network, ids, places), lesson.rows_of(model.network, new, places), order)\n"
        "print(plain.kind, plain.largest, plain.pooled_largest)\nprint(placed.kind, placed.largest, placed.change)"
    )
