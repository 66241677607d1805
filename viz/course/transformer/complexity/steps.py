"""The steps of the exhibit on costs that count: each draws its question, its picture and its sentence of numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from viz.charts.over_length import over_length
from viz.course.exhibit import Folds
from viz.course.transformer.complexity import charts, maths
from viz.course.transformer.complexity.maths import Data, times
from viz.course.transformer.complexity.params import Params
from viz.labels import percent
from viz.number_text import with_unit
from viz.widgets import exhibit_parts, page_parts

SLUG = "complexity."
LENGTHS = (50, 512, 4096)
SHARE_KEPT = 0.9
"""Of a signal, what each step of the example keeps."""


def count(params: Params, data: Data) -> Folds:
    """Draw both cost curves; before the guess only the axes."""
    n, p = params.n, params.p
    ratio = data.recurrence.operations / data.attention.operations
    options = ("self-attention", "recurrence", "both the same")
    answer = options[2] if ratio == 1 else options[1] if ratio > 1 else options[0]
    sums = f"{data.attention.operations:,} for self-attention, {data.recurrence.operations:,} for recurrence"
    told = exhibit_parts.predict(
        SLUG + "more",
        f"A text of n = {n:,} words, each of p = {p:,} numbers. Which layer takes more multiplications?",
        options,
        answer,
        f"{sums}: {times(ratio)}. Which one is more expensive depends on whether n or p is larger; they are equal at n = "
        f"{data.crossing:,}.",
    )
    meet = f"; the lines meet at n = {data.crossing:,}" if told else ", still covered"
    picture = over_length(
        data.curves,
        data.lengths,
        title="multiplications",
        marked={f"n = {n:,}": n}
        | ({f"n = {'2p' if params.whole else 'p'} = {data.crossing:,}": data.crossing} if told else {}),
        covered=not told,
        height=270,
    )
    page_parts.show_large(
        picture,
        SLUG + "count.picture",
        f"Multiplications over the number of words, on logarithmic axes{meet}.",
        315,
    )
    page_parts.summary(
        f"n = {n:,}, p = {p:,}: {sums}, {times(ratio)}."
        if told
        else f"n = {n:,} words, p = {p:,} numbers per word."
    )
    names = (
        ("complexity.attention_whole", "complexity.lstm_whole")
        if params.whole
        else ("complexity.attention", "complexity.recurrence")
    )
    values = (data.attention.operations, data.recurrence.operations)
    equations = {
        key: {"n": f"{n:,}", "p": f"{p:,}", "C": f"{value:,}"}
        for key, value in zip(names, values, strict=True)
    }

    def rows() -> pd.DataFrame:
        lengths = (*LENGTHS, n)
        found = {
            name: [cost(each, p, count_all=params.whole).operations for each in lengths]
            for name, cost in maths.BOTH.items()
        }
        return pd.DataFrame(found, index=[f"n = {each:,}" for each in lengths])

    line = rf"n^2 p = n p^2 \iff n = p = {p:,}".replace(",", "{,}")
    return Folds(
        rows,
        {"n": data.lengths} | data.curves,
        revealed=told,
        equations=equations,
        latex=() if params.whole else (line,),
    )


def table(params: Params, data: Data) -> Folds:
    """Draw Table 1 with numbers for this n and p."""
    a, r = data.attention, data.recurrence
    formulas = ("4np² + 2n²p", "8np²") if params.whole else ("O(n² p)", "O(n p²)")
    rows = [
        (
            "multiplications in a layer",
            {"self-attention": (formulas[0], a.operations), "recurrence": (formulas[1], r.operations)},
        ),
        (
            "sequential operations",
            {"self-attention": ("O(1)", a.steps), "recurrence": ("O(n)", r.steps)},
        ),
        (
            "maximum path length",
            {"self-attention": ("O(1)", a.path), "recurrence": ("O(n)", r.path)},
        ),
    ]
    said = (
        f"Table 1 for n = {params.n:,}, p = {params.p:,}: {a.operations:,} against {r.operations:,} "
        f"multiplications, 1 against {r.steps:,} steps, path 1 against {r.path:,}."
    )
    page_parts.show_large(charts.table(rows), SLUG + "table.picture", said, 340)
    page_parts.summary(
        f"n = {params.n:,}, p = {params.p:,}: {times(r.operations / a.operations)} in multiplications. "
        f"Attention does them in 1 step, recurrence in {r.steps:,}, each waiting for the previous one."
    )
    columns = {
        "complexity per layer": ["O(n² p)", "O(n p²)"],
        "in numbers": [f"{a.operations:,}", f"{r.operations:,}"],
        "sequential operations": [f"O(1): {a.steps}", f"O(n): {r.steps:,}"],
        "maximum path length": [f"O(1): {a.path}", f"O(n): {r.path:,}"],
    }
    sizes = {"n": f"{params.n:,}", "p": f"{params.p:,}"}
    return Folds(
        lambda: pd.DataFrame(columns, index=["Self-Attention", "Recurrence"]),
        {
            "self-attention": [a.operations, a.steps, a.path],
            "recurrence": [r.operations, r.steps, r.path],
        },
        equations={"complexity.attention": sizes, "complexity.recurrence": sizes},
    )


def path(params: Params, data: Data) -> Folds:
    """Draw the chain of recurrent states against the one step of self-attention."""
    r = data.recurrence
    told = exhibit_parts.predict_number(
        SLUG + "steps",
        f"Word 1 matters for word {params.n:,}. How many steps does a recurrent network need to pass information from state 1 to state {params.n:,}?",
        1,
        float(max(12, 3 * params.n)),
        float(r.path),
        f"From state 1 to state {params.n:,} there are {r.path:,} steps, each a product with the same "
        "weights and a nonlinearity. In self-attention it is 1, whatever n is.",
        max(1.0, params.n * 0.05),
        "steps",
    )
    with st.container(key=f"complexity-path-{'told' if told else 'asked'}"):
        if told:
            page_parts.show_large(
                charts.reach(params.n),
                SLUG + "path.picture",
                f"Recurrence: {r.path:,} steps from the first word to the last; self-attention: 1.",
                380,
            )
        else:
            page_parts.show_large(
                charts.reach(4),
                SLUG + "path.small",
                "For four words: recurrence 3 steps from the first to the last, self-attention 1.",
                380,
            )
    arrives = SHARE_KEPT ** np.array([r.path, data.attention.path])
    page_parts.summary(
        f"n = {params.n:,}: {r.path:,} steps against {data.attention.path}. If each step kept {percent(SHARE_KEPT)} of a "
        f"signal, {arrives[0]:.2g} of it would arrive."
        if told
        else "The picture shows n = 4."
    )
    frame = pd.DataFrame(
        {"recurrence": [n - 1 for n in LENGTHS], "self-attention": [1] * len(LENGTHS)},
        index=[f"n = {n:,}" for n in LENGTHS],
    )
    chain = r"h_n = f(h_{n-1}, x_n) = f(f(\cdots f(h_1, x_2) \cdots), x_n)"
    return Folds(
        frame,
        {"n": np.array(LENGTHS), "kept": SHARE_KEPT, "arrives": arrives},
        revealed=told,
        equations={"complexity.recurrence": {"n": f"{params.n:,}"}},
        latex=(chain,),
    )


def memory(params: Params, data: Data) -> Folds:
    """Draw the bytes of all scores of a layer, and of its states."""
    n, p = params.n, params.p
    scores, states = maths.score_bytes(n), maths.state_bytes(n, p)
    kept = {
        f"scores, {maths.HEADS} heads": [maths.score_bytes(each) for each in data.lengths],
        "states": [maths.state_bytes(each, p) for each in data.lengths],
    }
    picture = over_length(
        kept,
        data.lengths,
        title="bytes",
        marked={f"n = {n:,}": n, f"n = p / {maths.HEADS} = {p / maths.HEADS:g}": p / maths.HEADS},
        unit="bytes",
        height=300,
    )
    page_parts.show_large(
        picture,
        SLUG + "memory.picture",
        f"Bytes over the number of words: the scores of a layer {scores:,}, its states {states:,} at n = "
        f"{n:,}.",
        370,
    )
    twice = maths.score_bytes(2 * n)
    page_parts.summary(
        f"n = {n:,}: {maths.HEADS} × {n:,} × {n:,} scores of 4 bytes are {with_unit(scores)}B; the n "
        f"states of p = {p:,} are {with_unit(states)}B. A text twice as long: {with_unit(twice)}B of "
        f"scores, {twice // scores} times as much."
    )
    lengths = (*LENGTHS, n)
    frame = pd.DataFrame(
        {
            "scores, bytes": [maths.score_bytes(each) for each in lengths],
            "states, bytes": [maths.state_bytes(each, p) for each in lengths],
        },
        index=[f"n = {each:,}" for each in lengths],
    )
    line = rf"8 \cdot {n}^2 \cdot 4 = {scores:,}".replace(",", "{,}") + r"\;\text{bytes}"
    return Folds(
        frame,
        {"n": data.lengths, "scores": kept[f"scores, {maths.HEADS} heads"]},
        equations={"self.scores": {}},
        latex=(line,),
    )
