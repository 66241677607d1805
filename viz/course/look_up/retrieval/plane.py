"""A query among keys in the plane: drag it, and the weights and the mix follow."""

from __future__ import annotations

import streamlit as st

from viz.course.exhibit import Folds
from viz.course.look_up.retrieval.look_up import look_up
from viz.course.look_up.retrieval.params import (
    KEYS,
    LIMIT,
    SLUG,
    VALUES,
    Params,
    Vectors,
    on_plane,
    pack,
    points,
)
from viz.instruments import Point, Score, moved_points, plane
from viz.instruments.kit import origin
from viz.instruments.kit.picture import drawing
from viz.languages import _
from viz.number_text import row_of_numbers, true_minus
from viz.shell import state
from viz.widgets import exhibit_parts, page_parts

KEY = f"{SLUG}.plane"


def arrows(params: Params, _data: object) -> Folds:
    """Draw the plane, after a question about the point where the query was when it was asked."""
    rule, beta = params.score, params.sharpness
    asked = points(state.read(f"{SLUG}.asked", params.points, on_plane))
    asked = asked if len(asked) == len(params.placed) else params.placed
    query, keys, values = parted(asked)
    first = look_up(query, keys, values, rule, beta)
    names = [f"k{i}" for i in range(1, len(keys) + 1)]
    best, at = int(first.weights.argmax()), pack([query]).replace(",", ", ")
    why = _(
        "Its score with the query at ({at}) is the largest of {scores}; at inverse temperature {beta:g} the softmax weight is {weight:.2f}.",
        at=at,
        scores=row_of_numbers(first.scores),
        beta=beta,
        weight=first.weights[best],
    )
    told = exhibit_parts.predict(
        f"{SLUG}.plane",
        _("Which key gets the largest weight from the query at ({at})?", at=at),
        dict(zip(names, first.weights.tolist(), strict=True)),
        names[best],
        true_minus(why),
    )
    drawn = params.placed if told else asked
    query, keys, values = parted(drawn)
    found = look_up(query, keys, values, rule, beta)
    code = (
        "from viz.course.look_up.retrieval.look_up import look_up\n\n"
        f"query, keys, values = {query!r}, {keys!r}, {values!r}\n"
        f"print(look_up(query, keys, values, {rule!r}, {beta:g}))\n"
    )
    of_plane = (
        "[Point('query', query, 'query'), *(Point(f'k{i}', key) for i, key in enumerate(keys, start=1))], "
        f"values=values, scores=[Score({rule!r}, {beta!r})]"
    )
    plane(
        _points(drawn),
        values=[(value[0], value[1]) for value in values],
        value_names=[f"v{i}" for i in range(1, len(keys) + 1)],
        scores=(Score(rule, beta),),
        limit=LIMIT,
        captions=(_("Query and keys: drag the query"), _("Values and their weighted sum")),
        mix=_("mix"),
        blind=not told,
        python=f"{code}\nfrom viz.instruments import Point, Score\n"
        + drawing("plane", of_plane, origin.now()),
        key=KEY,
        height=330,
        on_move=lambda: _store_moved_points(drawn, pack(asked)),
    )
    x, y = found.mix
    page_parts.summary(
        true_minus(
            _(
                "Weights {weights}, together {total:.3f}; the weighted sum is ({x:.3f}, {y:.3f}).",
                weights=row_of_numbers(found.weights, 3),
                total=found.weights.sum(),
                x=x,
                y=y,
            )
        )
        if told
        else _(
            "There are four keys and one query. Choose the key with the largest weight, then drag the query."
        )
    )
    terms = " + ".join(f"{w:.2f} v_{{{i}}}" for i, w in enumerate(found.weights, start=1))
    columns = {"key": names, "k": [*map(str, keys)], "v": [*map(str, values)]}
    columns |= {"score": found.scores, "weight": found.weights}
    arrays = {"query": query, "keys": keys, "values": values, "scores": found.scores}
    plain = ("retrieval.mix", "retrieval.similarity", "retrieval.softmax")
    return Folds(
        columns,
        arrays | {"weights": found.weights, "mix": found.mix},
        code,
        told,
        {key: {} for key in plain} | {"retrieval.sharp": {"beta": f"{beta:g}"}},
        (rf"\sum_i a_i v_i = {terms} = ({x:.3f},\; {y:.3f})",),
        change=lambda: _more_or_fewer(params.placed),
    )


def parted(placed: Vectors) -> tuple[tuple[float, ...], Vectors, Vectors]:
    """Return query, keys and values."""
    n = len(placed) // 2
    return placed[0], placed[1 : n + 1], placed[n + 1 :]


def _points(placed: Vectors) -> list[Point]:
    query, keys, _values = parted(placed)
    named = ((_("query"), query, "query"), *((f"k{i}", key, "key") for i, key in enumerate(keys, start=1)))
    return [Point(name, (at[0], at[1]), role) for name, at, role in named]


def _store_moved_points(placed: Vectors, question_points: str) -> None:
    """Write moved points to the link, and with them the points that the question was about."""
    if found := moved_points(KEY, _points(placed), values=len(placed) // 2, limit=LIMIT):
        state.write(**{f"{SLUG}.points": pack([*found[0], *found[1]]), f"{SLUG}.asked": question_points})


def _more_or_fewer(placed: Vectors) -> None:
    """Draw buttons that change the number of keys."""
    query, left, right = parted(placed)
    n = len(left)

    def put(more: int) -> None:
        keys, values = ((*old, *new[n:])[: n + more] for old, new in ((left, KEYS), (right, VALUES)))
        state.write(**{f"{SLUG}.points": pack([query, *keys, *values]), f"{SLUG}.asked": None})

    with st.container(horizontal=True):
        st.button(_("One key fewer"), disabled=n <= 2, on_click=put, args=(-1,), key=f"{SLUG}.fewer")
        st.button(_("One key more"), disabled=n >= len(KEYS), on_click=put, args=(1,), key=f"{SLUG}.more")
