"""The steps of the exhibit on score functions: each draws its question, its picture and its sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from viz.course.exhibit import Folds
from viz.course.look_up.score_functions import maths
from viz.course.look_up.score_functions.params import (
    LIMIT,
    NAMES,
    RULES,
    SLUG,
    TITLES,
    Params,
    on_board,
    pack,
)
from viz.instruments import Point, Score, heatmap, moved_points, plane
from viz.labels import percent
from viz.number_text import number
from viz.shell import state
from viz.widgets import exhibit_parts, page_parts

PLANE = f"{SLUG}.plane"
RULES_IN_QUESTION = {
    "turn": ("dot", "linear", "cosine", "location"),
    "longer": ("dot", "tanh", "cosine", "location"),
    "keys": ("dot", "linear", "tanh", "location"),
}
SEVERAL = "more than one"
RULE_OF = {"concat": "additive"}
EQUATIONS = {"sharp": "score.cosine_beta"}
REASON = {
    "linear": "w·q is one number, added to every score, and the softmax cancels a number that is added to all scores.",
    "location": "its formula W q has no key in it: only the position in the row counts.",
} | dict.fromkeys(("cosine", "sharp"), "it divides by the query's length, so only the direction counts.")


def two_rules(params: Params, data: maths.Scored) -> Folds:
    """Draw the dot product against the cosine; before the guess only the cosine's table."""
    asked = state.read(f"{SLUG}.asked", params.at, on_board)
    place = Params(at=asked).place
    weights = {name: data.rule(name).weights(place.query, place.keys) for name in ("dot", "cosine")}
    most = {name: NAMES[int(values.argmax())] for name, values in weights.items()}
    products = zip(NAMES, data.rule("dot").scores(place.query, place.keys), strict=True)
    told = exhibit_parts.predict(
        f"{SLUG}.most",
        f"By the cosine, the angle alone, {most['cosine']} gets the most weight. Which key gets it by the dot product q · k?",
        dict(zip(NAMES, weights["dot"].tolist(), strict=True)),
        most["dot"],
        f"The dot products are {', '.join(f'{name} {number(float(s))}' for name, s in products)}: "
        "a dot product is |q| · |k| · cosine, so a long key counts for more.",
    )
    if told:
        _plane(params, data, ("dot", "cosine"), "dot", asked)
    else:
        _plane(params, data, ("cosine",), "cosine")
    found = (data.weights[name] for name in ("dot", "cosine"))
    (one, first), (other, second) = ((NAMES[int(each.argmax())], percent(each.max())) for each in found)
    page_parts.summary(
        f"By the dot product {one} gets the most weight, {first}; by the cosine {other}, {second}."
        if told
        else f"By the cosine {other} gets the most weight, {second}: the softmax of numbers between −1 and 1 stays flat."
    )
    return _folds(params, data, told)


def all_eight(params: Params, data: maths.Scored) -> Folds:
    """Draw the plane with a table for each rule; in present mode all eight in one matrix, which fits on the screen."""
    if exhibit_parts.presenting():
        _matrix(np.array([data.weights[name] for name in RULES]), data, "eight")
    else:
        _plane(params, data, RULES, "dot")
    favourites = [int(weights.argmax()) for weights in data.weights.values()]
    votes = [f"{name} under {favourites.count(i)}" for i, name in enumerate(NAMES) if i in favourites]
    sharpest = max(data.functions, key=lambda f: data.weights[f.name].max())
    page_parts.summary(
        f"The key with the most weight is {', '.join(votes)} of the {len(RULES)} rules. The sharpest is "
        f"{sharpest.title}, with {percent(data.weights[sharpest.name].max())} on one key; the plain cosine gives its best key {percent(data.weights['cosine'].max())}."
    )
    return _folds(params, data)


def ignores(params: Params, data: maths.Scored) -> Folds:
    """Draw the change of every weight when one thing is changed; a column of zeros is a rule that does not depend on it."""
    experiment, does = params.experiment, maths.EXPERIMENTS[params.experiment]
    change = maths.weight_changes(params.place, experiment, params.beta)
    still = maths.unchanged(params.place, experiment, params.beta)
    right = [name for name in RULES_IN_QUESTION[experiment] if name in still]
    told = exhibit_parts.predict(
        f"{SLUG}.{experiment}",
        f"{does}: which rule's weights do not change at all?",
        (*(TITLES[name] for name in RULES_IN_QUESTION[experiment]), SEVERAL),
        TITLES[right[0]] if len(right) == 1 else SEVERAL,
        " ".join(f"The {TITLES[name]} one: {REASON[name]}" for name in right if name in REASON)
        or _unchanged(still),
    )
    if told:
        rows = np.array([change[name] for name in RULES])
        limit = max(0.1, float(np.abs(rows).max()))
        _matrix(rows, data, "change", title=f"{does}: change of the weights", scale="difference", limit=limit)
        largest = max(change, key=lambda name: float(np.abs(change[name]).max()))
        page_parts.summary(
            f"{_unchanged(still)} {TITLES[largest]} changes most, one weight by {number(float(np.abs(change[largest]).max()))}."
        )
    else:
        _matrix(np.array([data.weights[name] for name in RULES]), data, "change", title="The weights before")
        page_parts.summary(
            "Each column sums to 1. After your guess the table shows the change of every weight."
        )
    return _folds(params, data, told)


def one(params: Params, data: maths.Scored) -> Folds:
    """Draw one rule: the plane, coloured by the key that a query there would find."""
    _plane(params, data, (params.rule,), params.rule)
    function, weights = data.rule(params.rule), data.weights[params.rule]
    best = int(weights.argmax())
    score = number(float(data.scores[params.rule][best]))
    blind = [
        what
        for what, experiment in (("the query", "turn"), ("the keys", "keys"))
        if params.rule in maths.unchanged(params.place, experiment, params.beta)
    ]
    if blind == ["the query"]:
        said = " It does not depend on the query: the background has one colour."
    else:
        said = f" It does not depend on {blind[0]}." if blind else ""
    page_parts.summary(
        f"{function.title} ({function.paper}) gives {NAMES[best]} {percent(weights[best])}, "
        f"with the score {score}.{said}"
    )
    params.show(SLUG, "rule", *(("beta",) if params.rule == "sharp" else ()))  # only one rule has a β
    return _folds(params, data)


def _unchanged(still: Sequence[str]) -> str:
    if not still:
        return "All eight change."
    return f"{', '.join(TITLES[name] for name in still)}: unchanged to the last digit."


def _matrix(rows: np.ndarray, data: maths.Scored, key: str, **more: Any) -> None:
    """Draw a number for each key (row) under each rule (column)."""
    columns = [f.title if f.name == "sharp" else f.name for f in data.functions]
    heatmap(rows.T, list(NAMES), columns, key=f"{SLUG}.{key}", numbers=True, axis=("key", "rule"), **more)


def _plane(
    params: Params, data: maths.Scored, rules: Sequence[str], background: str, question_points: str = ""
) -> None:
    """Draw the board; a moved point is written to the link, with `question_points`, those of an answered question."""
    keys = zip(NAMES, params.keys, strict=True)
    points = [Point("query", params.query, "query"), *(Point(name, at) for name, at in keys)]

    def keep() -> None:
        if found := moved_points(PLANE, points, limit=LIMIT):
            state.write(
                **{f"{SLUG}.at": pack(found[0])},
                **({f"{SLUG}.asked": question_points} if question_points else {}),
            )

    plane(
        points,
        key=PLANE,
        on_move=keep,
        scores=[_plane_score(data.rule(name)) for name in rules],
        drawn_score=rules.index(background),
        limit=LIMIT,
        height=330 if exhibit_parts.presenting() else 370,
        captions=("Drag the query, or a key", ""),
    )


def _plane_score(function: maths.Function) -> Score:
    """Return the rule in the form that the plane draws."""
    kind = RULE_OF.get(function.kind, function.kind)
    return Score(kind, function.sharpness, label=function.title, **function.numbers)


def _folds(params: Params, data: maths.Scored, revealed: bool = True) -> Folds:
    """Return the folds: the rule of the last step with this query and these keys, key by key; all rules in the table."""
    function = data.rule(params.rule)

    def table() -> pd.DataFrame:
        rows = {
            f.title: {
                f"{part} {name}": float(values[f.name][i])
                for part, values in (("score", data.scores), ("weight", data.weights))
                for i, name in enumerate(NAMES)
            }
            for f in data.functions
        }
        return pd.DataFrame(rows).T.round(4).rename_axis("rule")

    def arrays() -> dict[str, np.ndarray]:
        found = {"query": np.array(params.query), "keys": np.array(params.keys)}
        by_rule = (("scores", data.scores), ("weights", data.weights))
        return found | {f"{part}: {name}": row for part, rows in by_rule for name, row in rows.items()}

    return Folds(
        table,
        arrays,
        {},
        revealed,
        {EQUATIONS.get(params.rule, f"score.{params.rule}"): _values(params, data, function)},
        more=lambda: _key_by_key(params, data, function),
    )


def _values(params: Params, data: maths.Scored, function: maths.Function) -> Mapping[str, Any]:
    """Return this run's numbers by the symbols of the rule's equation."""
    q, best = _numbers(params.query), int(data.weights[function.name].argmax())
    if function.kind == "location":
        return {"q": q, "a": _numbers(data.weights[function.name])}
    values: dict[str, Any] = {
        "s_i": number(float(data.scores[function.name][best])),
        "q": q,
        "k_i": _numbers(params.keys[best]),
    }
    if function.kind == "scaled":
        values["p"] = "2"
    if function.kind == "linear":
        values |= {f"w_{side}": _numbers(function.numbers[side]) for side in ("q", "k")}
    if "v" in function.numbers:
        values["v_a"] = _numbers(function.numbers["v"])
    if function.name == "sharp":
        values["beta"] = f"{function.sharpness:g}"
    return values


def _key_by_key(params: Params, data: maths.Scored, function: maths.Function) -> None:
    """Show the rule's own parameters, where the equation has no room for them, and the softmax."""
    scores, weights = data.scores[function.name], data.weights[function.name]
    best = NAMES[int(weights.argmax())]
    st.text(f"{function.title} ({function.paper}); the numbers below the symbols are those of key {best}.")
    if function.kind == "linear":
        shared = number(float(np.dot(function.numbers["q"], params.query)), 4)
        page_parts.equation(rf"w_q^\top q = {shared}\text{{ for every key}}")
    elif "w" in function.numbers:
        rows = r"\\".join("&".join(_numbers(row)) for row in function.numbers["w"])
        page_parts.equation(rf"W = \begin{{pmatrix}}{rows}\end{{pmatrix}}")
    columns = {
        "key": NAMES,
        "k": [f"({', '.join(_numbers(k))})" for k in params.keys],
        "score s": _numbers(scores, 4),
        "eˢ": _numbers(np.exp(scores), 4),
        "weight": _numbers(weights, 4),
    }
    st.table(pd.DataFrame(columns).set_index("key"), border="horizontal")


def _numbers(values: Any, digits: int = 2) -> list[str]:
    return [number(float(value), digits) for value in values]
