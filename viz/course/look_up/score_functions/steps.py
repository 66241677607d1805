"""The steps of the exhibit on score functions: each draws its question, its picture, its sentence and its control."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from viz.charts.curves import number
from viz.course.look_up.score_functions import maths as lessons
from viz.instruments import Point, Score, heatmap, moved, plane
from viz.labels import percent
from viz.shell import state
from viz.widgets import controls, lesson, parts

SLUG = "score_functions."
PLANE = "score_functions.plane"
LIMIT = 2.0
NAMES = ("A", "B", "C", "D")
RULES = tuple(function.name for function in lessons.eight())
ASKED = {"turn": ("dot", "linear", "cosine", "location"), "longer": ("dot", "tanh", "cosine", "location"), "keys": ("dot", "linear", "tanh", "location")}
SEVERAL = "more than one"
RULE_OF = {"concat": "additive"}
REASON = {
    "linear": "w·q is one number, added to every score alike, and softmax does not see what all scores share.",
    "location": "its formula W q has no key in it: only the position in the row counts.",
    "cosine": "it divides by the query's length, so only the direction counts.",
    "sharp": "it divides by the query's length, so only the direction counts.",
}


def places(text: str) -> tuple[lessons.Pair, ...]:
    """Query and keys from the link, "1,0.6;0.7,0.5;..": five pairs of numbers inside the board.

    >>> places("1,0.6;0.7,0.5;1.7,-0.2;-0.6,1.4;-1.2,-9")[-1]
    (-1.2, -2.0)
    """
    rule = f"It must be {len(NAMES) + 1} pairs of numbers from −{LIMIT:g} to {LIMIT:g}."
    try:
        pairs = [tuple(float(part) for part in pair.split(",")) for pair in text.split(";")]
    except ValueError:
        raise state.Unusable(rule) from None
    if len(pairs) != len(NAMES) + 1 or any(len(pair) != 2 or not all(map(math.isfinite, pair)) for pair in pairs):
        raise state.Unusable(rule)
    return tuple((float(np.clip(pair[0], -LIMIT, LIMIT)), float(np.clip(pair[1], -LIMIT, LIMIT))) for pair in pairs)


def written(pairs: Any) -> str:
    """The same as text for the link.

    >>> written([(1, 0.6), (0.123, 0)])
    '1,0.6;0.12,0'
    """
    return ";".join(",".join(f"{round(x, 2):g}" for x in pair) for pair in pairs)


def two_rules(params: Any, data: Any, start: Any) -> bool:
    """The dot product against the cosine; before the guess only the cosine's table is there."""
    asked = read("asked", (params.query, *params.keys))
    rules = {f.name: f for f in data.functions if f.name in ("dot", "cosine")}
    first = {name: NAMES[int(f.weights(asked[0], asked[1:]).argmax())] for name, f in rules.items()}
    dots = ", ".join(f"{name} {number(float(s))}" for name, s in zip(NAMES, rules["dot"].scores(asked[0], asked[1:]), strict=True))
    told = lesson.predict(
        f"{SLUG}most", f"By angle alone, the cosine, the query looks most at {first['cosine']}. At which by the dot product q · k?", dict(zip(NAMES, rules["dot"].weights(asked[0], asked[1:]).tolist(), strict=False)), first["dot"],
        f"The dot products are {dots}: a dot product is |q| · |k| · cosine, so a long key counts for more.",
    )  # fmt: skip
    _plane(params, data, ("dot", "cosine") if told else ("cosine",), "dot" if told else "cosine", asked if told else None)
    most = {name: NAMES[int(data.weights[name].argmax())] for name in rules}
    share = {name: percent(data.weights[name].max()) for name in most}
    parts.numbers(
        f"By the dot product {most['dot']} gets most, {share['dot']}; by the cosine {most['cosine']}, {share['cosine']}." if told
        else f"By the cosine {most['cosine']} gets most, {share['cosine']}: the softmax of numbers between −1 and 1 stays flat."
    )  # fmt: skip
    return told


def all_eight(params: Any, data: Any, start: Any) -> bool:
    """The plane with a table for each rule; before a room all eight in one matrix, which fits on the screen."""
    if lesson.presenting():
        heatmap(np.array([data.weights[f.name] for f in data.functions]).T, list(NAMES), short(data), key=f"{SLUG}eight", numbers=True, axis=("key", "rule"))
    else:
        _plane(params, data, RULES, "dot")
    votes = {name: sum(int(w.argmax()) == i for w in data.weights.values()) for i, name in enumerate(NAMES)}
    told = ", ".join(f"{name} by {count}" for name, count in votes.items() if count)
    sharpest = max(data.functions, key=lambda f: data.weights[f.name].max())
    parts.numbers(
        f"The favourite key is {told} of the {len(RULES)} rules. The sharpest is {sharpest.title}, with {percent(data.weights[sharpest.name].max())} on one key; "
        f"the plain cosine gives its favourite {percent(data.weights['cosine'].max())}."
    )
    _beta(start)
    return True


def ignores(params: Any, data: Any, start: Any) -> bool:
    """The change of every weight when one thing is changed; a column of zeros is a rule that does not look at it."""
    place, experiment = params.place, params.experiment
    still = lessons.unmoved(place, experiment, params.beta)
    titles = {f.name: f.title for f in data.functions}
    asked = ASKED[experiment]
    right = [name for name in asked if name in still]
    answer = titles[right[0]] if len(right) == 1 else SEVERAL
    change = lessons.moved(place, experiment, params.beta)
    told = lesson.predict(
        f"{SLUG}{experiment}", f"{lessons.EXPERIMENTS[experiment]}: whose weights do not move at all?", (*(titles[name] for name in asked), SEVERAL), answer,
        " ".join(f"The {titles[name]} one: {REASON[name]}" for name in right if name in REASON) or _sentence(still, titles),
    )  # fmt: skip
    rows = np.array([change[f.name] if told else data.weights[f.name] for f in data.functions])
    limit = max(0.1, float(np.abs(rows).max()))
    heatmap(
        rows.T, list(NAMES), short(data), key=f"{SLUG}change", scale="difference" if told else "pattern", limit=limit if told else None,
        numbers=True, axis=("key", "rule"), title=f"{lessons.EXPERIMENTS[experiment]}: change of the weights" if told else "The weights before",
    )  # fmt: skip
    largest = max(change, key=lambda name: float(np.abs(change[name]).max()))
    parts.numbers(
        f"{_sentence(still, titles)} {titles[largest]} moves most, a weight by {number(float(np.abs(change[largest]).max()))}." if told
        else "Each column sums to 1. After your guess: the same table with the change in every cell."
    )  # fmt: skip
    controls.segmented("What is changed", tuple(lessons.EXPERIMENTS), SLUG + "experiment", start.experiment, lessons.EXPERIMENTS.__getitem__, quiet=True)
    return told


def one(params: Any, data: Any, start: Any) -> bool:
    """One rule: the plane, coloured by what a query would find."""
    _plane(params, data, (params.rule,), params.rule)
    function = next(f for f in data.functions if f.name == params.rule)
    weights = data.weights[params.rule]
    best = int(weights.argmax())
    blind = [what for what, experiment in (("the query", "turn"), ("the keys", "keys")) if params.rule in lessons.unmoved(params.place, experiment, params.beta)]
    said = f" It does not see {' and '.join(blind)}: the ground has one colour." if blind == ["the query"] else f" It does not see {blind[0]}." if blind else ""
    parts.numbers(f"{function.title} ({function.paper}) gives {NAMES[best]} {percent(weights[best])}, with the score {number(float(data.scores[params.rule][best]))}.{said}")
    controls.pills("Rule", RULES, SLUG + "rule", start.rule, {f.name: f.title for f in data.functions}.__getitem__, quiet=True)
    if params.rule == "sharp":
        _beta(start)
    return True


def short(data: Any) -> list[str]:
    """The rules as heads of columns."""
    return [f.title if f.name == "sharp" else f.name for f in data.functions]


def _sentence(still: tuple[str, ...], titles: dict[str, str]) -> str:
    if not still:
        return "All eight move."
    return f"{', '.join(titles[name] for name in still)}: unchanged to the last digit."


def read(name: str, default: Any) -> tuple[lessons.Pair, ...]:
    """Query and keys that the link or the session holds under a name."""
    return places(state.read(SLUG + name, written(default), lambda text: written(places(text))))


def _plane(params: Any, data: Any, rules: tuple[str, ...], shown: str, asked: Any = None) -> None:
    """The board. A point that is let go goes into the link; `asked`, the place of an answered question, stays what was asked about."""
    points = [Point("query", params.query, "query"), *(Point(name, at) for name, at in zip(NAMES, params.keys, strict=True))]

    def keep() -> None:
        found = moved(PLANE, points, limit=LIMIT)
        if found:
            state.write(**{SLUG + "at": written(found[0])}, **({SLUG + "asked": written(asked)} if asked else {}))

    by_name = {f.name: f for f in data.functions}
    plane(
        points, key=PLANE, on_move=keep, scores=[drawn(by_name[name]) for name in rules], shown=rules.index(shown), limit=LIMIT, height=330 if lesson.presenting() else 370,
        captions=("Drag the query, or a key", ""),
    )  # fmt: skip


def drawn(function: lessons.Function) -> Score:
    """The same rule for the plane."""
    return Score(RULE_OF.get(function.kind, function.kind), function.sharpness, label=function.title, **function.numbers)


def _beta(start: Any) -> None:
    controls.slider("β, the inverse temperature of the last cosine", 0.0, 20.0, SLUG + "beta", start.beta, 0.5)


SHOWN: tuple[Callable[[Any, Any, Any], bool], ...] = (two_rules, all_eight, ignores, one)
