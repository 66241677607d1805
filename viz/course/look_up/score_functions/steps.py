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
    Params,
    experiment_title,
    on_board,
    pack,
    title,
)
from viz.instruments import Point, Score, heatmap, moved_points, plane
from viz.labels import percent
from viz.languages import _, mark
from viz.number_text import number
from viz.shell import state
from viz.widgets import exhibit_parts, page_parts

PLANE = f"{SLUG}.plane"
RULES_IN_QUESTION = {
    "turn": ("dot", "linear", "cosine", "location"),
    "longer": ("dot", "tanh", "cosine", "location"),
    "keys": ("dot", "linear", "tanh", "location"),
}
SEVERAL = mark("more than one")
RULE_OF = {"concat": "additive"}
EQUATIONS = {"sharp": "score.cosine_beta"}
COLUMNS = {"scaled": mark("scaled"), "linear": mark("linear"), "tanh": "tanh"}
"""Names above the columns of the matrix that are shorter than the titles of the rules."""
REASON = {
    "linear": mark(
        "w·q is one number, added to every score, and the softmax cancels a number that is added to all scores."
    ),
    "location": mark("its formula W q has no key in it: only the position in the row counts."),
} | dict.fromkeys(
    ("cosine", "sharp"), mark("it divides by the query's length, so only the direction counts.")
)


def two_rules(params: Params, data: maths.Scored) -> Folds:
    """Draw the dot product against the cosine; before the guess only the cosine's table."""
    asked = state.read(f"{SLUG}.asked", params.at, on_board)
    place = Params(at=asked).place
    weights = {name: data.rule(name).weights(place.query, place.keys) for name in ("dot", "cosine")}
    most = {name: NAMES[int(values.argmax())] for name, values in weights.items()}
    products = zip(NAMES, data.rule("dot").scores(place.query, place.keys), strict=True)
    told = exhibit_parts.predict(
        f"{SLUG}.most",
        _(
            "By the cosine, the angle alone, {key} gets the most weight. Which key gets it by the dot product q · k?",
            key=most["cosine"],
        ),
        dict(zip(NAMES, weights["dot"].tolist(), strict=True)),
        most["dot"],
        _(
            "The dot products are {products}: a dot product is |q| · |k| · cosine, so a long key counts for more.",
            products=", ".join(f"{name} {number(float(s))}" for name, s in products),
        ),
    )
    if told:
        _plane(params, data, ("dot", "cosine"), "dot", asked)
    else:
        _plane(params, data, ("cosine",), "cosine")
    found = (data.weights[name] for name in ("dot", "cosine"))
    (one, first), (other, second) = ((NAMES[int(each.argmax())], percent(each.max())) for each in found)
    page_parts.summary(
        _(
            "By the dot product {one} gets the most weight, {first}; by the cosine {other}, {second}.",
            one=one,
            first=first,
            other=other,
            second=second,
        )
        if told
        else _(
            "By the cosine {key} gets the most weight, {share}: the softmax of numbers between −1 and 1 stays flat.",
            key=other,
            share=second,
        )
    )
    return _folds(params, data, told)


def all_eight(params: Params, data: maths.Scored) -> Folds:
    """Draw the plane with a table for each rule; in present mode all eight in one matrix, which fits on the screen."""
    if exhibit_parts.presenting():
        _matrix(np.array([data.weights[name] for name in RULES]), data, "eight")
    else:
        _plane(params, data, RULES, "dot")
    favourites = [int(weights.argmax()) for weights in data.weights.values()]
    votes = [
        _("{key} under {n}", key=name, n=favourites.count(i))
        for i, name in enumerate(NAMES)
        if i in favourites
    ]
    sharpest = max(data.functions, key=lambda f: data.weights[f.name].max())
    page_parts.summary(
        _(
            "The key with the most weight is {votes} of the {n} rules. The sharpest is {rule}, with {share} on one key; the plain cosine gives its best key {cosine}.",
            votes=", ".join(votes),
            n=len(RULES),
            rule=title(sharpest.name),
            share=percent(data.weights[sharpest.name].max()),
            cosine=percent(data.weights["cosine"].max()),
        )
    )
    return _folds(params, data)


def ignores(params: Params, data: maths.Scored) -> Folds:
    """Draw the change of every weight when one thing is changed; a column of zeros is a rule that does not depend on it."""
    experiment, does = params.experiment, experiment_title(params.experiment)
    change = maths.weight_changes(params.place, experiment, params.beta)
    still = maths.unchanged(params.place, experiment, params.beta)
    right = [name for name in RULES_IN_QUESTION[experiment] if name in still]
    told = exhibit_parts.predict(
        f"{SLUG}.{experiment}",
        _("{change}: which rule's weights do not change at all?", change=does),
        (*map(title, RULES_IN_QUESTION[experiment]), _(SEVERAL)),
        title(right[0]) if len(right) == 1 else _(SEVERAL),
        " ".join(
            _("The {rule} one: {reason}", rule=title(name), reason=_(REASON[name]))
            for name in right
            if name in REASON
        )
        or _unchanged(still),
    )
    if told:
        rows = np.array([change[name] for name in RULES])
        limit = max(0.1, float(np.abs(rows).max()))
        above = _("{change}: change of the weights", change=does)
        _matrix(rows, data, "change", title=above, scale="difference", limit=limit)
        largest = max(change, key=lambda name: float(np.abs(change[name]).max()))
        page_parts.summary(
            _(
                "{unchanged} {rule} changes most, one weight by {most}.",
                unchanged=_unchanged(still),
                rule=title(largest),
                most=number(float(np.abs(change[largest]).max())),
            )
        )
    else:
        weights = np.array([data.weights[name] for name in RULES])
        _matrix(weights, data, "change", title=_("The weights before"))
        page_parts.summary(
            _("Each column sums to 1. After your guess the table shows the change of every weight.")
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
        for what, experiment in ((mark("the query"), "turn"), (mark("the keys"), "keys"))
        if params.rule in maths.unchanged(params.place, experiment, params.beta)
    ]
    if blind == ["the query"]:
        said = _(" It does not depend on the query: the background has one colour.")
    else:
        said = _(" It does not depend on {what}.", what=_(blind[0])) if blind else ""
    page_parts.summary(
        _(
            "{rule} ({paper}) gives {key} {share}, with the score {score}.",
            rule=title(function.name),
            paper=function.paper,
            key=NAMES[best],
            share=percent(weights[best]),
            score=score,
        )
        + said
    )
    params.show(SLUG, "rule", *(("beta",) if params.rule == "sharp" else ()))  # only one rule has a β
    return _folds(params, data)


def _unchanged(still: Sequence[str]) -> str:
    if not still:
        return _("All eight change.")
    return _("{rules}: unchanged to the last digit.", rules=", ".join(map(title, still)))


def _matrix(rows: np.ndarray, data: maths.Scored, key: str, **more: Any) -> None:
    """Draw a number for each key (row) under each rule (column)."""
    columns = [
        title(f.name) if f.name == "sharp" else _(COLUMNS.get(f.name, f.title)) for f in data.functions
    ]
    axis = (_("key"), _("rule"))
    heatmap(rows.T, list(NAMES), columns, key=f"{SLUG}.{key}", numbers=True, axis=axis, **more)


def _plane(
    params: Params, data: maths.Scored, rules: Sequence[str], background: str, question_points: str = ""
) -> None:
    """Draw the board; a moved point is written to the link, with `question_points`, those of an answered question."""
    keys = zip(NAMES, params.keys, strict=True)
    points = [Point(_("query"), params.query, "query"), *(Point(name, at) for name, at in keys)]

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
        captions=(_("Drag the query, or a key"), ""),
    )


def _plane_score(function: maths.Function) -> Score:
    """Return the rule in the form that the plane draws."""
    kind = RULE_OF.get(function.kind, function.kind)
    return Score(kind, function.sharpness, label=title(function.name), **function.numbers)


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
    st.text(
        _(
            "{rule} ({paper}); the numbers below the symbols are those of key {key}.",
            rule=title(function.name),
            paper=function.paper,
            key=best,
        )
    )
    if function.kind == "linear":
        shared = number(float(np.dot(function.numbers["q"], params.query)), 4)
        page_parts.equation(rf"w_q^\top q = {shared}\text{{{_(' for every key')}}}")
    elif "w" in function.numbers:
        rows = r"\\".join("&".join(_numbers(row)) for row in function.numbers["w"])
        page_parts.equation(rf"W = \begin{{pmatrix}}{rows}\end{{pmatrix}}")
    columns = {
        "k": [f"({', '.join(_numbers(k))})" for k in params.keys],
        _("score s"): _numbers(scores, 4),
        "eˢ": _numbers(np.exp(scores), 4),
        _("weight"): _numbers(weights, 4),
    }
    st.table(pd.DataFrame(columns, list(NAMES)).rename_axis(_("key")), border="horizontal")


def _numbers(values: Any, digits: int = 2) -> list[str]:
    return [number(float(value), digits) for value in values]
