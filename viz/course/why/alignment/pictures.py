"""One picture a step of the exhibit on alignment, and the sentence of numbers below it."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import edits
from core.analysis.promised import translated
from core.serving.engine import default
from viz.charts.curves import number
from viz.course.why.alignment.charts import mixing
from viz.course.why.charts.unrolled import Lane, unrolled
from viz.instruments import ALIGNING, heatmap, words_view
from viz.instruments.kit import origin
from viz.labels import distinct, literal, percent
from viz.widgets import compute as ask
from viz.widgets import controls, lesson, parts

AXIS = ("written", "read")
EVEN = edits.Uniform("decoder.attn.scores")
LOOK, MATRIX, WITHOUT = 2, 3, 4


def names(words: tuple[str, ...]) -> list[str]:
    """Words as options, repeated ones told apart."""
    return distinct(words)


def telling(data: Any) -> int:
    """The row to ask about: the written word with the largest weight on a source word at another place; never END."""
    rows = range(len(data.written) - 1) or range(1)
    letters = [row for row in rows if any(letter.isalpha() for letter in data.written[row])] or list(rows)
    crossing = [row for row in letters if int(data.weights[row].argmax()) != row]
    return max(crossing or letters, key=lambda row: float(data.weights[row].max()))


def chosen(slug: str, data: Any, step: int) -> int:
    """The written word that the visitor chose, or the telling one; its pills are drawn at the step that needs them."""
    start = telling(data)
    if step != LOOK:
        return start
    rows, labels = range(len(data.written)), names(data.written)
    return controls.pills("Written word", rows, f"{slug}word", start, lambda row: labels[row])


def draw(step: int, params: Any, data: Any, row: int, known: bool, below: DeltaGenerator) -> str:
    """The picture of a step; returns its sentence. What is set stands with it, before a room `below` the sentence."""
    origin.tell(model=data.model, text=params.text, beside=data.text, kind="alignment")
    if step == MATRIX:
        return _matrix(data, below)
    others = {0: _guess, 1: _read, LOOK: _look, WITHOUT: _without}
    return others.get(step, _who)(params, data, row, known)


def _guess(params: Any, data: Any, row: int, known: bool) -> str:
    n, m = len(data.words), len(data.written)
    upto = m if known else row
    weights = data.weights[:upto] if upto else np.zeros((1, n))
    targets = [(word, i) for i, word in enumerate(data.written[:upto])]
    words_view(
        weights, data.written[:upto] or ("START",), data.words, key=f"alignment.words.{'all' if known else 'part'}", targets=targets,
        allowed=None if upto else np.zeros((1, n), bool), selected=row if known else None, special=("START", "END"), names=("read", "written"), say=ALIGNING,
    )  # fmt: skip
    if not known:
        return f"{data.model} has read {n} tokens and written {row}. Guess first, then the rest is shown."
    return f"“{data.text}” For each of its {m} tokens, END among them, the {n} weights are new: {m} × {n} = {m * n}."


def _read(params: Any, data: Any, row: int, known: bool) -> str:
    n, p = data.ahead.shape
    lanes = [Lane(f"from the left → ({n} × {p})", data.ahead, data.words, 8)]
    if data.back.shape[1]:
        lanes += [
            Lane(f"← from the right ({n} × {p})", data.back, (), 8, back=True),
            Lane(f"joined, hⱼ ({n} × {data.joined.shape[1]})", data.joined, (), 16, arrows=False),
        ]
    parts.show(unrolled(lanes, pixels=6 if lesson.presenting() else 8, large=1.5 if lesson.presenting() else 1), "alignment.read", "States of both directions of the encoder, and the two joined.")
    at = n // 2
    left, right = "”, “".join(data.words[: at + 1]), "”, “".join(data.words[at:])
    return (f"h_{at + 1} of “{data.words[at]}”: {p} numbers that have read “{left}” and {data.back.shape[1]} that have read “{right}”, "
            f"{data.joined.shape[1]} together.")  # fmt: skip


def _look(params: Any, data: Any, row: int, known: bool) -> str:
    scores, weights = data.scores[row], data.weights[row]
    figure = mixing(scores, weights, data.joined, data.contexts[row], names(data.words))
    parts.show(go.Figure(figure).update_layout(height=340) if lesson.presenting() else figure, "alignment.look",
               "Scores, weights, encoder states and the context vector of one written word.")  # fmt: skip
    most = int(weights.argmax())
    total = float(np.exp(scores - scores.max()).sum())
    return (f"Writing “{data.written[row]}”: the largest score is {number(float(scores[most]))}, of “{data.words[most]}”. "
            f"Counted from it, its weight is e^0 / {number(total, 3)} = {weights[most]:.3f}; all {len(weights)} weights add up to {weights.sum():.3f}.")  # fmt: skip


def _matrix(data: Any, below: DeltaGenerator) -> str:
    m = len(data.written)
    picture = st.container()
    with below if lesson.presenting() else st.container():
        rows = controls.slider("Words written", 1, m, "alignment.rows", m) if m > 1 else 1
    with picture:
        heatmap(data.weights[:rows], data.written[:rows], data.words, key="alignment.matrix", axis=AXIS, title=f"aᵢⱼ of {data.model}",
                numbers=len(data.words) <= 16, height=280 if lesson.presenting() else 360)  # fmt: skip
    last = data.weights[rows - 1]
    places = [int(weights.argmax()) + 1 for weights in data.weights[:rows]]
    return (f"{rows} of {m} rows. The newest, “{data.written[rows - 1]}”, looks most at “{data.words[int(last.argmax())]}” ({percent(last.max())}). "
            f"Positions looked at most, row by row: {', '.join(map(str, places))}.")  # fmt: skip



def even(params: Any, data: Any) -> tuple[str, np.ndarray, float]:
    """The same model with every score 0: what it writes, its weights, how far c_i is from the mean of the h_j."""
    from viz.course.why.alignment import exhibit

    run = default().run(exhibit.request(data.model, params.text, (EVEN,)))
    off = np.abs(run.trace["decoder.attn.context"] - run.trace["encoder.layer.0.hidden"].mean(0)).max()
    return run.target_text or "", run.trace["decoder.attn.pattern"][0], float(off)


def one_vector(params: Any) -> str | None:
    """What the network with one vector writes; None where it is not here."""
    from viz.course.why.alignment import exhibit

    if not exhibit.usable(exhibit.ONE_VECTOR):
        return None
    return default().run(exhibit.RunRequest(exhibit.ONE_VECTOR, params.text, keep=())).target_text


def told(text: str, model: str, written: str | None) -> None:
    """That a ready-made sentence came out wrong: before a room in a few words, the translation stands above."""
    if written and (found := translated(text, model, written)) and not found.kept:
        st.text(f"A telling error: {found.says.rpartition('; ')[2] if lesson.presenting() else found.says}")


def _without(params: Any, data: Any, row: int, known: bool) -> str:
    from viz.course.why.alignment import exhibit

    with ask.many() as submit:
        text, weights, off = submit(("alignment.even", data.model, params.text), lambda: even(params, data), 20 * len(params.text))
        key = ("alignment.one", params.text, exhibit.usable(exhibit.ONE_VECTOR))
        single = submit(key, lambda: one_vector(params), 10 * len(params.text))
    n = len(data.words)
    missing = f"{exhibit.ONE_VECTOR} is not here yet."
    own = {0: (data.model, data.text), 2: (exhibit.ONE_VECTOR, single)}
    said = (
        ("A new cᵢ for each word" if lesson.presenting() else f"{data.model}: a new cᵢ for each word", data.text),
        (f"Every score 0: cᵢ is the mean of the {n} states" if lesson.presenting() else f"The same model, every score 0: cᵢ is the mean of the {n} states", text),
        (f"{exhibit.ONE_VECTOR}: one c for the whole sentence", missing if single is None else single),
    )
    cards, maps = st.columns([2, 3], gap="medium") if lesson.presenting() else (st.container(), st.container())
    with cards:
        places = [st.container() for _ in said] if lesson.presenting() else st.columns(3, gap="small")
    for nth, (place, (label, line)) in enumerate(zip(places, said, strict=True)):
        with place, st.container(border=not lesson.presenting(), gap=None, height="stretch"):
            st.markdown(f":gray[{literal(label)}]")
            st.markdown(f"{'####' if lesson.presenting() else '###'} {literal(line or '(nothing)')}")
            if nth in own:
                told(params.text, *own[nth])
    left, right = maps.columns(2, gap="medium")
    with left:
        heatmap(data.weights, data.written, data.words, key="alignment.with", axis=AXIS, title="As it was trained", height=200)
    with right:
        rows = [f"{i + 1}" for i in range(len(weights))]
        origin.tell(model=data.model, text=params.text, beside=text, kind="alignment", changed="every score 0")
        heatmap(weights, rows, data.words, key="alignment.even", axis=AXIS, title="Every score 0", height=200)
    same = "It still writes the same." if text == data.text else "It writes something else."
    return (f"With equal scores each of the {n} weights is 1 / {n} = {1 / n:.3f} and c_i = mean of h_j (largest difference {off:.0e}): "
            f"every word gets the same vector. {same}")  # fmt: skip


def _who(params: Any, data: Any, row: int, known: bool) -> str:
    from viz.course.why.alignment import exhibit

    found = []
    with ask.many() as submit:
        for asks, model in exhibit.ASKERS.items():
            if exhibit.usable(model):
                each = exhibit.Params(params.text, asks)
                found.append((asks, submit(("alignment", each, True), lambda each=each: exhibit.compute(each), 20 * len(params.text))))
    columns = st.columns(2, gap="medium")
    for column, (asks, each) in zip(columns, found, strict=False):
        with column:
            origin.tell(model=each.model, text=params.text, beside=each.text, kind="alignment")
            heatmap(each.weights, each.written, each.words, key=f"alignment.asks.{asks}", axis=AXIS, title=f"{exhibit.CALLED[asks]}: {each.model}", height=300)
            st.text(each.text)
            told(params.text, each.model, each.text)
    if len(found) < 2:
        columns[1].text(f"{exhibit.ASKERS['now']} is not here yet: one model is shown. It was trained with its own order; there is no switch inside one model.")
    return " ".join(f"{each.model}: its query differs from s_(t-1) by {each.before:.2g} at most, from s_t by {each.now:.2g}." for _, each in found)

