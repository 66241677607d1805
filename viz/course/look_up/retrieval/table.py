"""Hard look-up in the table PERSONS by SQL, and the same keys softened: a row of weights in the place of ones and zeros."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from viz.course.look_up.retrieval import link
from viz.course.look_up.retrieval.charts import look_up_table, sharpening
from viz.course.look_up.retrieval.editing import edited
from viz.course.look_up.retrieval.maths import persons
from viz.course.look_up.retrieval.maths.look_up import softmax
from viz.course.shared.shown import Shown
from viz.labels import literal
from viz.shell import state
from viz.widgets import controls, lesson, parts
from viz.widgets.asking import short

SLUG = "retrieval."
CHOICES = (*persons.QUERIES, persons.AS_NUMBER)
CURVE = np.concatenate([np.linspace(0, 5, 61), np.linspace(5.25, 50, 180)])
ASKED_AT = 2 * link.SHARPNESS
LOOKING_HARD = (
    "Each row of the table is a key (the ID) with a value (the names). The dark cell before a row is its similarity with what was asked: "
    "1 for yes, 0 for no. SQLite decides, here and now; the table can be changed below. **Try** the third query: without its "
    "leading zero the number is no ID, because keys are texts."
)
LOOKING_SOFT = (
    "A key fits by the share of what was asked that it begins with: 1 is all of it. Before each row stands its weight, the softmax of "
    "β × fit, with the inverse temperature β. The curves show the weights for every β. **Try** 0 (every row the same) and 50 (hardly anything but what fits best is "
    "left; rows that fit equally share). No β makes a weight 1 or 0: that is what is soft in it. **One difference stays:** SQL returns both rows that fit, each with 1; softmax splits the 1 between them."
)


def table(params: Any) -> None:
    """The rows, to be edited."""
    def pack(frame: pd.DataFrame) -> str:
        rows = [tuple("" if cell is None else str(cell)[: persons.LETTERS] for cell in row) for row in frame.itertuples(index=False)]
        return link.pack_rows([row for row in rows if any(row)][: persons.ROWS] or persons.PERSONS)

    edited(pd.DataFrame(list(params.rows), columns=list(persons.COLUMNS)).astype("object"), SLUG + "rows", pack, grows=True)


def _condition(sql: str) -> str:
    """What tells queries apart: the part behind WHERE."""
    return re.split(r"\bwhere\b", sql, maxsplit=1, flags=re.I)[-1].strip()


def _asked(now: str) -> None:
    """The box of the query and the ready-made ones, each by its condition: a phone has no room for more."""
    controls.text("Your query", SLUG + "sql", persons.QUERIES[0], placeholder=persons.QUERIES[0])
    key = SLUG + "queries"
    lit = state.held(key, now if now in CHOICES else None)

    def take() -> None:
        if chosen := st.session_state.get(key):
            state.write(**{SLUG + "sql": chosen})

    st.pills("Queries of the slides", CHOICES, format_func=lambda sql: literal(_condition(sql)), key=key, default=lit, on_change=take, label_visibility="collapsed")


def hard(params: Any) -> Shown:
    """Which rows an SQL query returns: 0 or 1 beside each."""
    return _above(_hard, params)


def soft(params: Any) -> Shown:
    """The same keys with weights; the slider from all alike to one alone."""
    return _above(_soft, params)


def _above(draw: Callable[[Any], Shown], params: Any) -> Shown:
    """The picture above the box of the query, which is there whatever the query says."""
    top = st.container()
    _asked(params.sql)
    with top:
        return draw(params)


def _hard(params: Any) -> Shown:
    answer, n = persons.ask(params.rows, params.sql), len(params.rows)
    count = [f"{k} row{'' if k == 1 else 's'}" for k in range(n + 1)]
    total = sum(answer.similarity)
    why = f"SQLite compares it with all {n} keys: similarities {', '.join(map(str, answer.similarity))}. They add up to {total}."
    known = lesson.predict(SLUG + "rows", f"How many of the {n} rows have {_condition(params.sql)}?", count, count[total], why)
    parts.show(look_up_table(persons.COLUMNS, params.rows, {"similarity": answer.similarity if known else None}), SLUG + "hard",
               "The table PERSONS" + (f", similarities {answer.similarity}." if known else "."))  # fmt: skip
    returned = "; ".join(" ".join(row) for row in answer.rows) or "nothing"
    parts.numbers(f"SQLite returns {count[total]}: {returned}." if known else "Say how many rows, and the similarities appear.")
    a = " + ".join(rf"{s} \cdot v_{{{i}}}" for i, s in enumerate(answer.similarity, start=1))
    return Shown(
        {"retrieval.hard": {"n": str(n)}}, (a if known else r"\dots",),
        LOOKING_HARD,
        lambda: _frame(params.rows, similarity=answer.similarity) if known else _frame(params.rows),
        {"similarity": answer.similarity} if known else {},
        f"from viz.course.look_up.retrieval.maths import persons\n\nrows = {params.rows!r}\nanswer = persons.ask(rows, {params.sql!r})\nanswer.rows, answer.similarity",
        lambda: table(params),
    )


def _frame(rows: Any, **columns: Any) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=list(persons.COLUMNS)).assign(**{name: list(values) for name, values in columns.items()})


def _soft(params: Any) -> Shown:
    answer, asked, ids = persons.ask(params.rows, params.sql), persons.asked_for(params.sql), [row[0] for row in params.rows]
    fits = persons.likeness(asked, ids)
    weights = softmax(fits, params.sharpness)
    best = int(weights.argmax())
    parts.show(look_up_table(("ID", "Name"), [row[:2] for row in params.rows], {"fit": fits, "weight": weights}), SLUG + "soft",
               f"Weights {weights.round(2).tolist()} at β = {params.sharpness:g}.")  # fmt: skip
    parts.numbers(f"Asked “{asked}”, β = {params.sharpness:g}: {ids[best]} gets {_told(weights[best])}, the least {_told(weights.min())}; "
                  f"all alike would be {1 / len(ids):.4f} each.")  # fmt: skip
    room = lesson.presenting()  # then the slider stands below both pictures
    if not room:
        _sharpness()
    twice = softmax(fits, ASKED_AT)
    known = lesson.predict_number(SLUG + "twice", f"At β = {ASKED_AT:g}, what weight does {ids[best]} get?", 0, 1, float(twice[best]),
                          f"Softmax of {ASKED_AT:g} times the fits {', '.join(f'{fit:.2f}' for fit in fits)} gives {', '.join(f'{w:.3f}' for w in twice)}.", 0.03)  # fmt: skip
    curve = CURVE if known else CURVE[CURVE <= link.SHARPNESS]
    curves = sharpening(_names(ids), curve, np.stack([softmax(fits, sharp) for sharp in curve], axis=1), min(params.sharpness, curve[-1]), legend=not room, height=220 if room else 260)
    parts.show(curves, SLUG + "curves",
               "The weight of each row over the inverse temperature β" + ("." if known else f", up to {link.SHARPNESS:g}."))  # fmt: skip
    if room:
        _sharpness()
    told, numbers = (r",\; ".join(f"{v:.4f}" for v in row) for row in (fits, weights))
    return Shown(
        {"retrieval.sharp": {"beta": f"{params.sharpness:g}", "a_i": f"{weights[best]:.4f}", "s_i": f"{fits[best]:.4f}"}}, (rf"s = [{told}]", rf"a = [{numbers}]"),
        LOOKING_SOFT,
        lambda: _frame(params.rows, similarity=answer.similarity, fit=fits, weight=weights),
        {"fits": fits, "weights": weights, "sharpness": [params.sharpness]},
        "from viz.course.look_up.retrieval.maths import persons\nfrom viz.course.look_up.retrieval.maths.look_up import softmax\n\n"
        f"fits = persons.likeness({asked!r}, {ids!r})\nsoftmax(fits, {params.sharpness:g})",
        lambda: table(params),
    )


def _sharpness() -> None:
    controls.slider("Inverse temperature β: soft (0) to hard (50)", 0.0, 50.0, SLUG + "sharpness", link.SHARPNESS, 0.5)


def _told(weight: float) -> str:
    """A weight of softmax: however sharp, never told as 0 or 1.

    >>> _told(0.98), _told(0.99999)
    ('0.9800', 'over 0.999')
    """
    return f"{weight:.4f}" if 0.00005 <= weight < 0.99995 else short(min(weight, 1 - 1e-12))  # in floats e^−46 beside 1 is lost


def _names(ids: list[str]) -> list[str]:
    return [f"{i + 1}: {name}" for i, name in enumerate(ids)]
