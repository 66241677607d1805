"""The steps of the exhibit on costs: each draws its picture, its sentence of numbers and its control."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from viz.course.shared.shown import Shown, later, show
from viz.course.transformer.complexity import charts as orders
from viz.course.transformer.complexity import clock
from viz.course.transformer.complexity import maths as costs
from viz.course.transformer.complexity.link import SLUG, times
from viz.widgets import controls, lesson, parts

N = (4, 8, 16, 32, 50, 64, 100, 128, 256, 512, 1000, 1024, 2048, 4096, 10_000, 16_384, 32_768, 65_536)
P = (32, 64, 128, 256, 512, 768, 1024, 2048)
LENGTHS = (50, 512, 4096)
COUNTED = (
    "Both axes grow by equal factors, so n² is a line twice as steep as n. Left of the dashed line self-attention multiplies less, right of it recurrence. The table counts one product "
    "a layer: each query with each key, n²·p, and each state with the recurrent weights, n·p². Left out are the projections of attention, 4·n·p², the weighted sum of the values, n²·p, and of a "
    "recurrent layer the weights of its input. With **everything** counted an LSTM needs 8·n·p² (four gates), and the lines meet at n = 2p. Against a plain recurrent layer, 2·n·p², attention then never is the cheaper one: "
    "its projections alone cost twice that. What speaks for attention is the rest of the table."
)
TABLED = (
    "Operations: all multiplications of a layer. Sequential operations: how many have to wait for the one before; what need not wait can be done side by side on a parallel machine, so fewer "
    "is faster there. Maximum path length: through how many steps a signal passes from one word to the farthest other; a long path is hard to learn along. Each block has its own logarithmic scale."
)
PATHS = (
    "Above, a chain of states: the last state knows of word 1 only what every state in between passed on, and the gradient of the loss has to come back the same way. Below, the score of "
    "word n with word 1 is one product, as for any other pair. The price is the n × n table of scores."
)
KEPT = (
    "A score is a number of 4 bytes. A layer of 8 heads keeps 8·n² of them, all at once, if they are formed as they are on this site; programs for long texts compute them in blocks "
    "and keep only a few (the number of products stays). States are n·p numbers for either kind of layer. At inference a recurrent network needs one state, whatever the length."
)


def count(params: Any, data: Any, start: Any) -> Shown:
    """Both curves; before the guess the axes alone."""
    n, p = params.n, params.p
    ratio = data.recurrence.operations / data.attention.operations
    options = ("self-attention", "recurrence", "both the same")
    answer = options[2] if ratio == 1 else options[1] if ratio > 1 else options[0]
    sums = f"{data.attention.operations:,} for self-attention, {data.recurrence.operations:,} for recurrence"
    told = lesson.predict(
        SLUG + "more", f"A text of n = {n:,} words, each of p = {p:,} numbers. Which layer multiplies more?", options, answer,
        f"{sums}: {times(ratio)}. Which one is more expensive depends on n against p; they meet at n = {data.crossing:,}.",
    )  # fmt: skip
    lines = {name: (data.lengths, values) for name, values in data.curves.items()}
    show(orders.over_length(lines, at=n, crossing=data.crossing, y_title="multiplications", covered=not told, said="n = 2p" if params.whole else "n = p", height=300), SLUG + "count.picture",
               f"Multiplications over the number of words, on logarithmic axes{f'; the lines meet at n = {data.crossing:,}' if told else ', still covered'}.", 275)  # fmt: skip
    parts.numbers(f"n = {n:,}, p = {p:,}: {sums}, {times(ratio)}." if told else f"n = {n:,} words, p = {p:,} numbers a word.")
    _sliders(start)
    with st.container():
        controls.toggle("Count everything (projections, gates of an LSTM)", SLUG + "whole", start.whole)
    names = ("complexity.attention_whole", "complexity.lstm_whole") if params.whole else ("complexity.attention", "complexity.recurrence")
    values = (data.attention.operations, data.recurrence.operations)
    equations = {key: {"n": f"{n:,}", "p": f"{p:,}"} | ({"C": f"{value:,}"} if told else {}) for key, value in zip(names, values, strict=True)}
    frame = pd.DataFrame({name: [cost(each, p, whole=params.whole).operations for each in (*LENGTHS, n)] for name, cost in _BOTH.items()}, index=[f"n = {each:,}" for each in (*LENGTHS, n)])
    return Shown(
        equations, (rf"n^2 p = n p^2 \iff n = p = {p:,}".replace(",", "{,}"),) if told and not params.whole else (), COUNTED, (lambda: frame) if told else later,
        {"n": data.lengths} | (data.curves if told else {}), _code(params),
    )  # fmt: skip


def table(params: Any, data: Any, start: Any) -> Shown:
    """Table 1 with this n and p in numbers."""
    a, r = data.attention, data.recurrence
    formulas = ("4np² + 2n²p", "8np²") if params.whole else ("O(n² p)", "O(n p²)")
    rows = [
        ("multiplications in a layer, log scale", {"self-attention": (formulas[0], a.operations), "recurrence": (formulas[1], r.operations)}),
        ("sequential operations, log scale", {"self-attention": ("O(1)", a.steps), "recurrence": ("O(n)", r.steps)}),
        ("maximum path length, log scale", {"self-attention": ("O(1)", a.path), "recurrence": ("O(n)", r.path)}),
    ]
    show(orders.table(rows), SLUG + "table.picture", f"Table 1 for n = {params.n:,}, p = {params.p:,}: {a.operations:,} against {r.operations:,} multiplications, 1 against {r.steps:,} steps, path 1 against {r.path:,}.", 340)
    parts.numbers(f"n = {params.n:,}, p = {params.p:,}: {times(r.operations / a.operations)} in multiplications. Attention does them in 1 step, recurrence in {r.steps:,}, each waiting for the one before.")
    _sliders(start)
    frame = pd.DataFrame({"complexity per layer": ["O(n² p)", "O(n p²)"], "in numbers": [f"{a.operations:,}", f"{r.operations:,}"], "sequential operations": [f"O(1): {a.steps}", f"O(n): {r.steps:,}"],
                          "maximum path length": [f"O(1): {a.path}", f"O(n): {r.path:,}"]}, index=["Self-Attention", "Recurrence"])  # fmt: skip
    return Shown(
        {"complexity.attention": {"n": f"{params.n:,}", "p": f"{params.p:,}"}, "complexity.recurrence": {"n": f"{params.n:,}", "p": f"{params.p:,}"}}, (), TABLED, lambda: frame,
        {"self-attention": np.array([a.operations, a.steps, a.path]), "recurrence": np.array([r.operations, r.steps, r.path])}, _code(params),
    )  # fmt: skip


def path(params: Any, data: Any, start: Any) -> Shown:
    """The chain against the one step."""
    r = data.recurrence
    told = lesson.predict_number(
        SLUG + "steps", f"Word 1 matters for word {params.n:,}. Through how many steps does a recurrent network pass it on?", 1, float(max(12, 3 * params.n)), float(r.path),
        f"From state 1 to state {params.n:,} there are {r.path:,} steps, each a product with the same weights and a nonlinearity. In self-attention it is 1, whatever n is.", max(1.0, params.n * 0.05), "steps",
    )  # fmt: skip
    with st.container(key=f"complexity-path-{'told' if told else 'asked'}"):
        if told:
            show(orders.reach(params.n), SLUG + "path.picture", f"Recurrence: {r.path:,} steps from the first word to the last; self-attention: 1.", 250)
        else:
            show(orders.reach(4), SLUG + "path.small", "For four words: recurrence 3 steps from the first to the last, self-attention 1.", 250)
    parts.numbers(f"n = {params.n:,}: {r.path:,} steps against {data.attention.path}. If each step kept 90 % of a signal, {0.9**r.path:.2g} of it would arrive." if told else "This is n = 4.")
    _sliders(start, width=False)
    frame = pd.DataFrame({"recurrence": [n - 1 for n in LENGTHS], "self-attention": [1] * len(LENGTHS)}, index=[f"n = {n:,}" for n in LENGTHS])
    return Shown({"complexity.recurrence": {"n": f"{params.n:,}"}} if told else {"complexity.recurrence": {}}, (r"h_n = f(h_{n-1}, x_n) = f(f(\cdots f(h_1, x_2) \cdots), x_n)",), PATHS, (lambda: frame) if told else later,
                 {"n": np.array(LENGTHS)}, _code(params))  # fmt: skip


def memory(params: Any, data: Any, start: Any) -> Shown:
    """The bytes of all scores of a layer, and of the states."""
    n, p = params.n, params.p
    lines = {f"scores, {costs.HEADS} heads": (data.lengths, [costs.score_bytes(each) for each in data.lengths]), "states": (data.lengths, [costs.state_bytes(each, p) for each in data.lengths])}
    meets = p / costs.HEADS
    hues = dict(zip(lines, orders.HUES.values(), strict=False))
    figure = orders.over_length(lines, at=n, crossing=meets, y_title="bytes", said="n = p / 8", unit="bytes", hues=hues)
    scores, states = costs.score_bytes(n), costs.state_bytes(n, p)
    show(figure, SLUG + "memory.picture", f"Bytes over the number of words: the scores of a layer {scores:,}, its states {states:,} at n = {n:,}.", 330)
    twice = costs.score_bytes(2 * n)
    parts.numbers(f"n = {n:,}: {costs.HEADS} × {n:,} × {n:,} scores of 4 bytes are {orders.short(scores)}B; the n states of p = {p:,} are {orders.short(states)}B. A text twice as long: {orders.short(twice)}B of scores, {twice // scores} times as much.")
    _sliders(start)
    frame = pd.DataFrame({"scores, bytes": [costs.score_bytes(each) for each in (*LENGTHS, n)], "states, bytes": [costs.state_bytes(each, p) for each in (*LENGTHS, n)]}, index=[f"n = {each:,}" for each in (*LENGTHS, n)])
    return Shown({"self.scores": {}}, (rf"8 \cdot {n}^2 \cdot 4 = {scores:,}".replace(",", "{,}") + r"\;\text{bytes}",), KEPT, lambda: frame, {"n": data.lengths, "scores": lines[f"scores, {costs.HEADS} heads"][1]}, _code(params))


def _sliders(start: Any, width: bool = True) -> None:
    left, right = st.columns(2, gap="medium")
    with left:
        controls.stops("n, words in the text", N, SLUG + "n", start.n, lambda n: f"{n:,}")
    if width:
        with right:
            controls.stops("p, numbers a word", P, SLUG + "p", start.p, lambda p: f"{p:,}")


def _code(params: Any) -> str:
    return (f"from viz.course.transformer.complexity.maths import attention, crossing, recurrence, score_bytes\n\nn, p = {params.n}, {params.p}\n"
            f"print(attention(n, p, whole={params.whole}), recurrence(n, p, whole={params.whole}), crossing(p, whole={params.whole}), score_bytes(n))")  # fmt: skip


_BOTH = {"self-attention": costs.attention, "recurrence": costs.recurrence}
SHOWN: tuple[Callable[[Any, Any, Any], Shown], ...] = (count, table, path, memory, clock.measured)
