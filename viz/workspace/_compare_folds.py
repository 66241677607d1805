"""The folds of Compare: the divergence with these numbers, how to read the pictures, tables, lines of Python."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.heads import WORDS, Heads
from core.analysis.measures import distance, entropy
from viz.labels import head_name, visible
from viz.pages import Page
from viz.ui import parts
from viz.workspace import _look_heads as chooser
from viz.workspace._compare_data import LETTERS, Compared, Pair, Pane

DIVERGENCE = r"\mathrm{JSD}(a, b) = H\left(\tfrac{a + b}{2}\right) - \tfrac{1}{2}\left(H(a) + H(b)\right)"
LIKENESS = r"\mathrm{cosine} = \frac{\sum_{ij} a_{ij} b_{ij}}{\lVert a \rVert \, \lVert b \rVert}, \qquad \mathrm{correlation} = \text{the same after taking off the means}"
LOOKING = (
    "Rows are the words that look (queries), columns the words looked at (keys). All patterns share one scale from 0 to 1; the difference is centred: "
    "one colour where the first gives more, the other where the second does. Hatched cells are forbidden, or belong to a word that one of the two lacks.\n\n"
    "The divergence is 0 bits for equal rows and 1 bit for rows that have no word in common; weight on a word that the other lacks counts as apart. "
    "Where two models cut a text into different pieces, pieces that share letters are put opposite each other: weights are added up over the pieces looked at "
    "and averaged over those that look. Two different texts are put opposite each other word by word so that as many words as possible are the same "
    "(Needleman and Wunsch 1970).\n\n"
    "Heads of a layer work at the same time and are equal in rank: none comes second, and none looks at pairs of words (the survey of 2020 suggests that)."
)
PANE = """{name} = core.open_model({model!r}).run({text!r}{more}).attention({kind!r}, by={by!r}{writing})"""
CODE = """import core
from core.analysis.align import aligned, by_words
from core.analysis.likeness import likeness

{panes}
rows, columns = by_words({one}.queries, {two}.queries), by_words({one}.keys, {two}.keys)
a, b = aligned([{one}.weights[{at_one}], {two}.weights[{at_two}]], rows, columns)
print(likeness(a, b))   # bits a row and over all, correlation, cosine"""


def show(page: Page, found: Compared, pair: Pair, by: str) -> None:
    with parts.fold(parts.EQUATION, "compare.equation") as fold:
        if fold.open:
            _equation(found, pair)
    with parts.fold(parts.LOOKING, "compare.looking") as fold:
        if fold.open:
            st.markdown(LOOKING)
    parts.documents(page)
    parts.as_table(lambda: table(found, pair), "compare")
    with parts.fold("Every head of A in figures", "compare.figures") as fold:
        if fold.open:
            pane = found.panes[0]
            attention = chooser.look(pane.run, pane.view.kind)
            st.dataframe(figures(pane.heads[pane.view.kind], attention.weights), hide_index=True, key="compare.heads")
    parts.take_away(lambda: _arrays(found, pair), code(found.panes[pair.a], found.panes[pair.b], pair, by), key="compare")


def table(found: Compared, pair: Pair) -> pd.DataFrame:
    """Every row of the two: its words, how far apart, where each looks most."""
    rows = [row for row in range(len(found.rows)) if row in pair.order]

    def column(pane: int) -> dict[str, list[object]]:
        best = [int(found.weights[pane][row].argmax()) for row in rows]
        letter = LETTERS[pane]
        return {
            f"word, {letter}": [visible(found.word("queries", row, pane)) for row in rows],
            f"{letter} looks most at": [visible(found.word("keys", key, pane)) for key in best],
            f"with, {letter}": [round(float(found.weights[pane][row, key]), 4) for row, key in zip(rows, best, strict=True)],
        }

    return pd.DataFrame(column(pair.a) | column(pair.b) | {"divergence in bits": [round(float(pair.likeness.rows[row]), 4) for row in rows]})


def figures(measured: Heads, w: np.ndarray) -> pd.DataFrame:
    """Every head in figures: its habit on the battery, entropy and distance on this sentence."""
    places = [(i, j) for i in range(w.shape[0]) for j in range(w.shape[1])]
    bits, far = entropy(w).mean(-1) / np.log(2), distance(w)
    return pd.DataFrame({
        "head": [head_name(*p) for p in places], "habit": [measured.word(*p) for p in places],
        "entropy here, bits": [round(float(bits[p]), 2) for p in places], "mean distance here, words": [round(float(far[p]), 2) for p in places],
        **{f"on {WORDS[name]}, battery": [round(float(score[p]), 2) for p in places] for name, score in measured.scores.items()},
    })  # fmt: skip


def _equation(found: Compared, pair: Pair) -> None:
    parts.equation(DIVERGENCE)
    parts.equation(LIKENESS)
    if not pair.order:
        return
    row = pair.order[0]
    a, b = (found.weights[pane][row] / found.weights[pane][row].sum() for pane in (pair.a, pair.b))
    h = [float(entropy(p) / np.log(2)) for p in ((a + b) / 2, a, b)]
    word = visible(found.word("queries", row, pair.a))
    st.text(f"At “{word}”: {h[0]:.4f} \u2212 ({h[1]:.4f} + {h[2]:.4f}) / 2 = {h[0] - (h[1] + h[2]) / 2:.4f} bits. "
            f"The mean over {len(pair.order)} rows is {pair.likeness.bits:.4f} bits.")  # fmt: skip


def _arrays(found: Compared, pair: Pair) -> dict[str, np.ndarray]:
    named = {LETTERS[pane]: weights for pane, weights in enumerate(found.weights)}
    return named | {"difference": pair.difference, "bits": pair.likeness.rows}


def code(a: Pane, b: Pane, pair: Pair, by: str) -> str:
    """Lines that compute the same comparison in a notebook."""
    one, two = (LETTERS[place].lower() + "_run" for place in (pair.a, pair.b))

    def line(pane: Pane, name: str) -> str:
        given = {"target": pane.run.target_text if pane.view.strategy and pane.run.source else pane.view.target, "pair": pane.view.pair}
        more = "".join(f", {key}={value!r}" for key, value in given.items() if value)
        text = pane.run.source.text if pane.run.source else pane.run.side.text
        writing = ", writing=True" if chooser.crosses(pane.view.kind) else ""
        return PANE.format(name=name, model=pane.view.model, text=text, more=more, kind=pane.view.kind, by=by, writing=writing)

    def at(pane: Pane) -> str:
        return f"{pane.view.layer}, {pane.view.head}" if isinstance(pane.view.head, int) else f"{pane.view.layer}].{'max' if pane.view.head == 'max' else 'mean'}(0)[:"

    return CODE.format(panes="\n".join(line(pane, name) for pane, name in ((a, one), (b, two))), one=one, two=two, at_one=at(a), at_two=at(b))
