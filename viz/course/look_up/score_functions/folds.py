"""The folds of the exhibit on score functions: the chosen rule with its numbers, words, table, arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from viz.charts.curves import number
from viz.course.look_up.score_functions import steps
from viz.widgets import lesson, parts

SLUG = "score_functions."
GUESS = "Guess first: then the numbers are here."
LATER = pd.DataFrame({"": [GUESS]})
EQUATIONS = {"sharp": "score.cosine_beta"}
LOOKING = (
    "The dashed arrow is the query, the others are keys. A key's arrow is as thick as its weight; below, each rule has a table of scores and of the "
    "weights that softmax makes of them. The ground is coloured by what a query standing there would find.",
    "The same, with a table for each of the eight rules. Their numbers (W, v, w) were chosen once here; a model learns them.",
    "A column is a rule, a row a key. Before your guess the cells are weights, from 0 to 1; after it their change, blue for more, orange for less. A column of "
    "zeros did not notice.",
    "One rule alone. The line below the picture is the rule; the fold above has its numbers for these vectors.",
)


def equation(told: bool, params: Any, data: Any) -> None:
    """The rule of the last step with this query and these keys, key by key."""
    with parts.fold(parts.EQUATION, SLUG + "equation") as opened:
        if not opened.open:
            return
        if not told:
            st.text(GUESS)
            return
        function = next(f for f in data.functions if f.name == params.rule)
        best = int(data.weights[params.rule].argmax())
        lesson.equation(EQUATIONS.get(params.rule, f"score.{params.rule}"), SLUG, values=_values(function, params, data, best))
        st.text(f"{function.title} ({function.paper}); the numbers below the symbols are those of key {steps.NAMES[best]}.")
        for line in _numbers(function, params):
            parts.equation(line)
        scores, weights = data.scores[params.rule], data.weights[params.rule]
        raised = np.exp(scores)
        st.table(
            pd.DataFrame({
                "key": steps.NAMES, "k": [_pair(k) for k in params.keys], "score s": [number(float(s), 4) for s in scores],
                "eˢ": [number(float(e), 4) for e in raised], "weight": [number(float(w), 4) for w in weights],
            }).set_index("key"), border="horizontal",
        )  # fmt: skip


def _values(function: Any, params: Any, data: Any, best: int) -> dict[str, Any]:
    """This run's numbers by the symbols of the course's equation."""
    q = [number(x) for x in params.query]
    if function.kind == "location":
        return {"q": q, "a": [number(float(w)) for w in data.weights[params.rule]]}
    values: dict[str, Any] = {"s_i": number(float(data.scores[params.rule][best])), "q": q, "k_i": [number(x) for x in params.keys[best]]}
    if function.kind == "scaled":
        values["p"] = "2"
    if function.kind == "linear":
        values |= {f"w_{side}": [number(x) for x in function.numbers[side]] for side in ("q", "k")}
    if "v" in function.numbers:
        values["v_a"] = [number(x) for x in function.numbers["v"]]
    if function.name == "sharp":
        values["beta"] = f"{function.sharpness:g}"
    return values


def _numbers(function: Any, params: Any) -> list[str]:
    """The rule's own numbers, where the equation has no room for them."""
    lines = []
    given = function.numbers
    if function.kind == "linear":
        lines.append(r"w_q^\top q = " + number(float(np.dot(given["q"], params.query)), 4) + r"\text{ for every key}")
    elif "w" in given:
        lines.append("W = " + _matrix(given["w"]))
    return lines


def _pair(at: Any) -> str:
    return f"({number(at[0])}, {number(at[1])})"


def _matrix(rows: Any) -> str:
    return r"\begin{pmatrix}" + r"\\".join("&".join(number(float(v)) for v in row) for row in rows) + r"\end{pmatrix}"


def looking_at(at: int) -> None:
    """Axes and colours of the step, and what to try."""
    with parts.fold(parts.LOOKING, SLUG + "looking") as opened:
        if opened.open:
            st.markdown(LOOKING[at])
            st.markdown("**Try** to drag the query around the middle: under the linear additive rule nothing moves, ever. Then drag it straight out from the "
                        "middle: under the cosine nothing moves.")  # fmt: skip


def table(data: Any) -> pd.DataFrame:
    """Score and weight of each key under each rule."""
    rows = {f.title: {f"{part} {name}": float(values[f.name][i]) for part, values in (("score", data.scores), ("weight", data.weights))
                      for i, name in enumerate(steps.NAMES)} for f in data.functions}  # fmt: skip
    return pd.DataFrame(rows).T.round(4).rename_axis("rule")


def arrays(params: Any, data: Any) -> dict[str, np.ndarray]:
    """The vectors, scores and weights."""
    found = {"query": np.array(params.query), "keys": np.array(params.keys)}
    return found | {f"{part}: {name}": values[name] for part, values in (("scores", data.scores), ("weights", data.weights)) for name in data.scores}


def code(params: Any) -> str:
    """The lines that make the same numbers in a notebook."""
    return ("from viz.course.look_up.score_functions.maths import eight\n\n"
            f"query, keys = {params.query}, {params.keys}\n"
            f"for function in eight(beta={params.beta:g}):\n"
            "    print(function.title, function.scores(query, keys), function.weights(query, keys))")  # fmt: skip
