"""Hard look-up in the table PERSONS by SQL, and the same keys with weights in place of ones and zeros."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from viz.charts import marks
from viz.course.exhibit import Folds
from viz.course.look_up.retrieval import persons
from viz.course.look_up.retrieval.charts import look_up_table
from viz.course.look_up.retrieval.editing import edited
from viz.course.look_up.retrieval.look_up import softmax
from viz.course.look_up.retrieval.params import SHARPNESS, SLUG, Params, condition, pack_rows
from viz.labels import shorten
from viz.languages import _, ngettext
from viz.number_text import row_of_numbers, softmax_weight
from viz.widgets import exhibit_parts, page_parts

CURVE = np.concatenate([np.linspace(0, 5, 61), np.linspace(5.25, 50, 180)])
ASKED_AT = 2 * SHARPNESS


def hard(params: Params, _data: object) -> Folds:
    """Ask how many rows an SQL query returns, then mark each with 0 or 1."""
    rows = params.table
    answer, n = persons.ask(rows, params.sql), len(rows)
    count, total = [ngettext("{n} row", "{n} rows", k) for k in range(n + 1)], sum(answer.similarity)
    told = exhibit_parts.predict(
        f"{SLUG}.rows",
        _("How many of the {n} rows have {condition}?", n=n, condition=condition(params.sql)),
        count,
        count[total],
        _(
            "SQLite compares it with all {n} keys: similarities {similarities}. They add up to {total}.",
            n=n,
            similarities=", ".join(map(str, answer.similarity)),
            total=total,
        ),
    )
    page_parts.show(
        look_up_table(persons.COLUMNS, rows, {_("similarity"): answer.similarity if told else None}),
        f"{SLUG}.hard",
        _("The table PERSONS, similarities {similarities}.", similarities=answer.similarity)
        if told
        else _("The table PERSONS."),
    )
    returned = "; ".join(" ".join(row) for row in answer.rows) or _("nothing")
    page_parts.summary(
        _("SQLite returns {rows}: {returned}.", rows=count[total], returned=returned)
        if told
        else _("Choose a number of rows, and the similarities appear.")
    )
    return Folds(
        lambda: _frame(rows, similarity=answer.similarity),
        {"similarity": answer.similarity},
        {},
        told,
        {"retrieval.hard": {"n": str(n)}},
        (" + ".join(rf"{s} \cdot v_{{{i}}}" for i, s in enumerate(answer.similarity, start=1)),),
        change=lambda: _table(params),
    )


def soft(params: Params, _data: object) -> Folds:
    """Draw the same keys with weights; the slider goes from uniform to one-hot."""
    rows, beta = params.table, params.sharpness
    asked, ids = persons.asked_for(params.sql), [row[0] for row in rows]
    answer, fits = persons.ask(rows, params.sql), persons.likeness(asked, ids)
    weights, twice = softmax(fits, beta), softmax(fits, ASKED_AT)
    best = int(weights.argmax())
    page_parts.show(
        look_up_table(("ID", "Name"), [row[:2] for row in rows], {_("match"): fits, _("weight"): weights}),
        f"{SLUG}.soft",
        _("Weights {weights} at β = {beta:g}.", weights=weights.round(2).tolist(), beta=beta),
    )
    page_parts.summary(
        _(
            "Query “{query}”, β = {beta:g}: {key} gets {most}, the smallest weight is {least}; uniform weights would be {uniform:.4f} each.",
            query=asked,
            beta=beta,
            key=ids[best],
            most=softmax_weight(weights[best]),
            least=softmax_weight(weights.min()),
            uniform=1 / len(ids),
        )
    )
    room = exhibit_parts.presenting()
    if not room:  # it moves both pictures: between them, and before a room below both
        params.show(SLUG, "sharpness")
    told = exhibit_parts.predict_number(
        f"{SLUG}.twice",
        _("At β = {beta:g}, what weight does {key} get?", beta=ASKED_AT, key=ids[best]),
        0,
        1,
        float(twice[best]),
        _(
            "Softmax of {beta:g} times the matches {matches} gives {weights}.",
            beta=ASKED_AT,
            matches=row_of_numbers(fits),
            weights=row_of_numbers(twice, 3),
        ),
        0.03,
    )
    names = [shorten(f"{i}: {name}", 16) for i, name in enumerate(ids, start=1)]
    curve = CURVE if told else CURVE[CURVE <= SHARPNESS]
    page_parts.show(
        marks.lines(
            pd.DataFrame([softmax(fits, sharp) for sharp in curve], curve, names),
            x=_("inverse temperature β"),
            title=_("weight"),
            form="~g",
            ends=(0, 1),
            dashed=names[1::2],
            scales=("symlog", "linear"),
            overlay=marks.rules({"": min(beta, curve[-1])}),
            legend=False,
            height=205 if room else 230,
        ),
        f"{SLUG}.curves",
        _("The weight of each row over the inverse temperature β.")
        if told
        else _("The weight of each row over the inverse temperature β, up to {most:g}.", most=SHARPNESS),
    )
    if room:
        params.show(SLUG, "sharpness")
    shown_fits, shown_weights = (row_of_numbers(row, 4, r",\; ") for row in (fits, weights))
    return Folds(
        lambda: _frame(rows, similarity=answer.similarity, match=fits, weight=weights),
        {"fits": fits, "weights": weights, "sharpness": [beta]},
        {"asked": asked, "ids": ids},
        told,
        {"retrieval.sharp": {"beta": f"{beta:g}", "a_i": f"{weights[best]:.4f}", "s_i": f"{fits[best]:.4f}"}},
        (rf"s = [{shown_fits}]", rf"a = [{shown_weights}]"),
        change=lambda: _table(params),
    )


def _table(params: Params) -> None:
    """Draw the rows for editing."""

    def pack(frame: pd.DataFrame) -> str:
        cells = (
            ["" if cell is None else str(cell)[: persons.LETTERS] for cell in row] for row in frame.to_numpy()
        )
        return pack_rows([row for row in cells if any(row)][: persons.ROWS] or persons.PERSONS)

    frame = pd.DataFrame(list(params.table), columns=list(persons.COLUMNS)).astype("object")
    edited(frame, f"{SLUG}.rows", pack, grows=True)


def _frame(rows: tuple[persons.Row, ...], **columns: Iterable[object]) -> pd.DataFrame:
    lists: dict[str, Any] = {name: list(values) for name, values in columns.items()}
    return pd.DataFrame(list(rows), columns=list(persons.COLUMNS)).assign(**lists)
