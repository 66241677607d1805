"""The proof below the equation: a case to check by hand, and this run's numbers."""

from __future__ import annotations

import numpy as np
import streamlit as st

from viz.course.kit import equation_view
from viz.course.self_attention.permutation import maths
from viz.course.self_attention.permutation.params import SLUG
from viz.number_text import number, tiny
from viz.widgets import page_parts


def equivariant() -> None:
    """Show the claim in symbols, with their counterparts in the picture."""
    equation_view.show(
        "permutation.equivariant", SLUG, marks={"Pi": "the lines of the picture", "X": "the words"}
    )


def by_hand(reordering: maths.Reordering) -> None:
    """Show three words with two numbers each, and the error of this run."""
    x, order = np.array([[1, 0], [1, 2], [0, 1]]), (2, 0, 1)
    p = maths.matrix(order).astype(int)
    st.markdown(
        "**Small enough to check by hand.** Three words with two numbers each, scores without weights, S = "
        "X Xᵀ:"
    )
    page_parts.equation(rf"X = {_latex(x)}, \quad P = {_latex(p)}, \quad P X = {_latex(p @ x)}")
    turned = _latex((p @ x) @ (p @ x).T)
    page_parts.equation(rf"S = {_latex(x @ x.T)}, \qquad (PX)(PX)^\top = {turned} = P S P^\top")
    st.markdown(
        "Softmax works row by row and does not depend on the column that a score is in, so A′ = P A Pᵀ; "
        "and A′ (P V) = P A Pᵀ P V = P (A V), because Pᵀ P is the identity."
    )
    st.text(f"This run: the largest difference between f(PX) and P f(X) is {tiny(reordering.largest)}.")


def pooled(reordering: maths.Reordering) -> None:
    """Show the mean of all rows, before and after."""
    old, after = reordering.pooled
    first = [number(float(value), 3) for value in old[:3]]
    equation_view.show("permutation.pooled", SLUG, values={"m": first, "n": str(len(reordering.origin))})
    st.text(f"After: {', '.join(number(float(value), 3) for value in after[:3])}, …")


def repeated(data: maths.Measured) -> None:
    """Show the weights of a repeated word, in the first row of the head."""
    n, twice = len(data.order), data.twice
    word = twice if twice < n else 0
    row = data.patterns[0][data.head, 0]
    counts = [2 if twice in (i, n) else 1 for i in range(n)]
    after = maths.repeated(row, counts)
    values = {
        "b_j": number(float(after[word]), 4),
        "c_j": str(counts[word]),
        "a_j": number(float(row[word]), 4),
        "n": str(n),
    }
    equation_view.show("permutation.repeat", SLUG, values=values)
    st.text(
        f"Head {data.head}, the row of “{data.names[0]}”: “{data.names[word]}” weighs {row[word]:.4f} once, "
        f"and {after[word]:.4f} with all its copies. The layer agrees, up to {tiny(data.counted)}."
    )


def _latex(values: np.ndarray) -> str:
    rows = (r"&".join(str(value) for value in row) for row in values)
    return r"\begin{bmatrix}" + r"\\".join(rows) + r"\end{bmatrix}"
