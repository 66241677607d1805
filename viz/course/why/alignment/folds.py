"""The folds of the exhibit on alignment: our own words around numbers of the run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis.arithmetic.cell import lines_of, needed_lines
from viz.charts.curves import number
from viz.course.why.alignment import maths as asking
from viz.course.why.alignment import pictures
from viz.instruments import arithmetic, heatmap
from viz.labels import formulas, visible
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

LOOKING = (
    "Each row of the matrix belongs to a token that the decoder writes, each column to a token of the English sentence that it has read; most tokens are "
    "whole words. A row is one softmax: its weights add up to 1. The last row writes END. The states h_j are those of the encoder, both "
    "directions side by side; a tile is one state, its numbers in rows, from −1 to 1. A dark cell says how much of h_j is mixed into c_i, not "
    "that the words mean the same: h_j has also read the neighbours. Where the two languages order their words alike, the dark cells lie on "
    "the diagonal; they leave it where they do not. All numbers are of one run; the models are small (their cards say how well they translate)."
)


def show(info: Any, params: Any, data: Any, row: int) -> None:
    """The five usual folds."""
    _equation(params, data, row)
    with parts.fold(parts.LOOKING, "alignment.looking") as opened:
        if opened.open:
            st.markdown(formulas(LOOKING, ours=True))
    parts.documents(info, lambda: lesson.errata("E27", "E28", "E42"))
    parts.as_table(lambda: table(data, row), "alignment")
    parts.take_away(lambda: arrays(data), code(params, data), key="alignment")


def _equation(params: Any, data: Any, row: int) -> None:
    with parts.fold(parts.EQUATION, "alignment.equation") as opened:
        if not opened.open:
            return
        labels = pictures.names(data.words)
        key = controls.pills("Source word", range(len(labels)), "alignment.key", int(data.weights[row].argmax()), lambda j: labels[j])
        lesson.equation("attention.probability", "alignment")
        lesson.equation("attention.context", "alignment", marks={"a_ij": "a bar, and a cell of the matrix", "h_j": "a tile", "c_i": "the last tile"})
        lesson.equation("attention.similarity", "alignment", values={"s_ij": number(float(data.scores[row, key]), 4)})
        lesson.equation("attention.softmax", "alignment", values={"a_ij": number(float(data.weights[row, key]), 4), "s_ij": number(float(data.scores[row, key]), 4)})
        parts.numbers(f"{data.model} asks with {'s_(t-1), as these equations do' if data.before == 0 else 's_t: read l_i in place of l_(i-1)'}.")
        with st.container():
            run = _run(params, data)
            arithmetic(lines_of(run, "alignment", 0, 0, row, key), key="alignment.lines", words=(data.written[row], data.words[key]))
        _split(run, row)
        _slopes(data, row, labels)


def _run(params: Any, data: Any) -> Any:
    """The same run with what the arithmetic reads."""
    kept = (*asking.NEEDED, *needed_lines(ask.run(data.model, params.text, keep=asking.NEEDED), "alignment", 0))
    return ask.run(data.model, params.text, keep=tuple(dict.fromkeys(kept)))


def _split(run: Any, row: int) -> None:
    found = asking.split_score(run, row)
    if found is None:
        st.text("This model scores s W h; nothing is joined.")
        return
    gap = float(np.abs(found.stacked - found.parted).max())
    lesson.equation("bahdanau.split", "alignment")
    parts.numbers(f"Both ways for this row, {found.width} hidden numbers: {', '.join(number(float(s), 3) for s in found.stacked)}. Largest difference {gap:.0e}. "
            f"W_2 h_j is the same for every written word, so it is computed once a sentence.")  # fmt: skip


def _slopes(data: Any, row: int, labels: list[str]) -> None:
    weights = data.weights[row].astype(float)
    most = int(weights.argmax())
    slopes = asking.slopes(weights)
    parts.equation(r"\frac{\partial a_{ij}}{\partial s_{ik}} = a_{ij} (\delta_{jk} - a_{ik}) = \left[\mathrm{diag}(a_i) - a_i a_i^\top\right]_{jk}")
    heatmap(slopes, labels, labels, key="alignment.slopes", scale="difference", limit=0.25, axis=("weight", "score"),
            title="The derivative of each weight with respect to each score", numbers=True, height=240)  # fmt: skip
    st.text(f"Raise the score of “{data.words[most]}” by 0.1 and its weight moves by about {0.1 * slopes[most, most]:+.4f}; the others give that up. "
            f"A row that has decided (a weight near 1) hardly learns any more.")  # fmt: skip


def table(data: Any, row: int) -> pd.DataFrame:
    """All weights; below them the scores of the chosen word."""
    frame = pd.DataFrame(np.round(data.weights.astype(float), 4), index=pictures.names(data.written), columns=pictures.names(data.words))
    frame["their sum"] = np.round(data.weights.sum(1), 4)
    frame.loc[f"scores of {visible(data.written[row])}"] = [*np.round(data.scores[row].astype(float), 4), None]
    return frame


def arrays(data: Any) -> dict[str, np.ndarray]:
    """Everything drawn."""
    return {"queries": np.array(data.written), "keys": np.array(data.words), "scores": data.scores, "weights": data.weights, "h": data.joined, "c": data.contexts}


def code(params: Any, data: Any) -> str:
    """Lines that make the numbers again."""
    return (
        f"import core\n\nmodel = core.open_model({data.model!r})\nrun = model.run({params.text!r})\nprint(run.target_text)\n"
        "a = run.attention('alignment', writing=True)  # a.weights[0, 0]: (written, read)\n"
        "h = run.trace['encoder.layer.0.hidden']\nc = a.weights[0, 0] @ h\n"
        "even = model.run(" + repr(params.text) + ", edits=[core.edits.Uniform('decoder.attn.scores')])  # c = the mean of h\n"
        "print(even.target_text)"
    )
