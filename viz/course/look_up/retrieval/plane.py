"""A query among keys in the plane: drag it, and weights and mix follow in the page; Python computes them again."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from viz.course.look_up.retrieval import link
from viz.course.look_up.retrieval.maths.look_up import look_up
from viz.course.shared.shown import Shown
from viz.instruments import Point, Score, moved, plane
from viz.instruments.kit import origin
from viz.instruments.kit.picture import drawing
from viz.shell import state
from viz.widgets import controls, lesson, parts

SLUG, KEY = "retrieval.", "retrieval.plane"
SCORES = {"dot": "q · k", "scaled": "q · k / √p", "cosine": "cosine"}
KEYS = ((1.5, 0.3), (0.3, 1.4), (-1.3, 0.5), (-0.4, -1.4), (1.0, -1.2), (-1.1, -0.9))
VALUES = ((1.5, 1.5), (-1.5, 1.0), (-1.0, -1.5), (1.2, -1.0), (0.2, 1.8), (-1.8, -0.3))
OPENING: link.Vectors = ((0.9, 0.8), *KEYS[:4], *VALUES[:4])
LOOKING = (
    "**Left:** the keys are coloured arrows, as thick as their weights; the dashed one is the query. The ground shows, for every place, the colour that a query "
    "there would mix: at a small inverse temperature the colours blend, at a large one the borders are sharp. **Middle:** scores, and their softmax. "
    "**Right:** each key's value, and their weighted sum. Weights are not negative and add up to 1, so the sum never leaves the shaded hull. "
    "**Try** to lengthen the query: with the dot product it asks more sharply, with the cosine nothing changes."
)


def parted(points: link.Vectors) -> tuple[Any, Any, Any]:
    """Query, keys and values."""
    n = len(points) // 2
    return points[0], points[1 : n + 1], points[n + 1 :]


def _points(points: link.Vectors) -> list[Point]:
    query, keys, _ = parted(points)
    return [Point("query", query, "query"), *(Point(f"k{i}", key) for i, key in enumerate(keys, start=1))]


def _moved(points: link.Vectors, asked: str) -> None:
    """Where the visitor let go of a point: into the link, and with it what the question was about."""
    found = moved(KEY, _points(points), values=len(points) // 2, limit=link.LIMIT)
    if found is not None:
        state.write(**{SLUG + "points": link.pack([*found[0], *found[1]]), SLUG + "asked": asked})


def show(params: Any) -> Shown:
    """The plane, the slider, and a question about where the query stood when it was asked."""
    asked = link.read(SLUG + "asked", params.points, link.points)
    asked = asked if len(asked) == len(params.points) else params.points
    query, keys, values = parted(asked)
    first = look_up(query, keys, values, params.score, params.sharpness)
    names = [f"k{i}" for i in range(1, len(keys) + 1)]
    best = int(first.weights.argmax())
    space = link.pack([query]).replace(",", ", ")
    why = (f"Its score with the query at ({space}) is the largest of {', '.join(f'{s:.2f}' for s in first.scores)}; at inverse temperature {params.sharpness:g} "
           f"softmax makes that {first.weights[best]:.2f}.").replace("-", "−")  # fmt: skip
    known = lesson.predict(SLUG + "plane", f"Which key gets the largest weight from the query at ({space})?", dict(zip(names, first.weights.tolist(), strict=True)), names[best], why)
    drawn = params.points if known else asked
    query, keys, values = parted(drawn)
    found = look_up(query, keys, values, params.score, params.sharpness)
    code = ("from viz.course.look_up.retrieval.maths.look_up import look_up\n\n"
            f"query, keys, values = {query!r}, {keys!r}, {values!r}\nprint(look_up(query, keys, values, {params.score!r}, {params.sharpness:g}))\n")  # fmt: skip
    points = "[Point('query', query, 'query'), *(Point(f'k{i}', key) for i, key in enumerate(keys, start=1))]"
    script = f"{code}\nfrom viz.instruments import Point, Score\n" + drawing("plane", f"{points}, values=values, scores=[Score({params.score!r}, {params.sharpness!r})]", origin.now())
    plane(_points(drawn), values=values, value_names=[f"v{i}" for i in range(1, len(keys) + 1)], scores=(Score(params.score, params.sharpness),), limit=link.LIMIT,
          blind=not known, python=script, key=KEY, height=330, on_move=lambda: _moved(drawn, link.pack(asked)))  # fmt: skip
    x, y = found.mix
    parts.numbers(f"Weights {', '.join(f'{w:.3f}' for w in found.weights)}, together {found.weights.sum():.3f}; the weighted sum is ({x:.3f}, {y:.3f}).".replace("-", "−")
                  if known else "Four keys, one query. Say which key it is closest to, then drag it.")  # fmt: skip
    controls.slider("Inverse temperature β: soft (0) to hard (50)", 0.0, 50.0, SLUG + "sharpness", link.SHARPNESS, 0.5)
    terms = " + ".join(f"{w:.2f} v_{{{i}}}" for i, w in enumerate(found.weights, start=1))
    return Shown(
        {"retrieval.mix": {}, "retrieval.similarity": {}, "retrieval.softmax": {}, "retrieval.sharp": {"beta": f"{params.sharpness:g}"}},
        (rf"\sum_i a_i v_i = {terms} = ({x:.3f},\; {y:.3f})" if known else r"\dots",),
        LOOKING,
        lambda: pd.DataFrame([{"key": name, "k": str(key), "v": str(value), **({"score": s, "weight": w} if known else {})}
                              for name, key, value, s, w in zip(names, keys, values, found.scores, found.weights, strict=True)]),
        {"query": query, "keys": keys, "values": values} | ({"scores": found.scores, "weights": found.weights, "mix": found.mix} if known else {}),
        code,
        lambda: _change(params),
    )  # fmt: skip


def _change(params: Any) -> None:
    """Score function and number of keys."""
    controls.segmented("Score", tuple(SCORES), SLUG + "score", "dot", SCORES.__getitem__)
    n = len(params.points) // 2
    left, right = parted(params.points)[1:]

    def put(more: int) -> None:
        keys, values = ((*old, *new[len(old) :])[: n + more] for old, new in ((left, KEYS), (right, VALUES)))
        state.write(**{SLUG + "points": link.pack([params.points[0], *keys, *values]), SLUG + "asked": None})

    with st.container(horizontal=True):
        st.button("One key fewer", disabled=n <= 2, on_click=put, args=(-1,), key=SLUG + "fewer")
        st.button("One key more", disabled=n >= len(KEYS), on_click=put, args=(1,), key=SLUG + "more")
