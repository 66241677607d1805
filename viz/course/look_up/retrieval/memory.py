"""The read of a neural Turing machine: memory, key, sharpness, weights, and what comes out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from viz.course.exhibit import Folds
from viz.course.look_up.retrieval import charts, memory_read
from viz.course.look_up.retrieval.editing import edited
from viz.course.look_up.retrieval.params import MEMORIES, SLUG, Params, pack
from viz.languages import _
from viz.number_text import row_of_numbers, true_minus
from viz.shell import state
from viz.widgets import exhibit_parts, page_parts


def reading(params: Params, _data: object) -> Folds:
    """Draw question, memory and read vector; rows and key can be changed below."""
    table, key = np.array(params.stored[:-1]), np.array(params.stored[-1])
    rows, beta = len(table), params.beta
    plain = memory_read.read(table, key, 1.0)
    most, least = plain.cosines.max(), plain.cosines.min()
    largest = float(plain.weights.max())
    why = _(
        "Its cosine is {most:.2f}, the smallest {least:.2f}: a factor e^{apart:.2f} = {factor:.2f} between them, and never more than e² = {bound:.3f}.",
        most=most,
        least=least,
        apart=most - least,
        factor=largest / plain.weights.min(),
        bound=memory_read.BOUND,
    )
    told = exhibit_parts.predict_share(
        f"{SLUG}.share",
        _("With β = 1, how large is the weight of the best match among {n} rows?", n=rows),
        round(largest, 3),
        true_minus(why),
    )
    row = min(params.row, rows)
    read = memory_read.read_row(table, key, row - 1) if row else memory_read.read(table, key, beta)
    vector = row_of_numbers(read.vector, 3)
    of = _("A memory of {rows} rows of {n} numbers", rows=rows, n=len(key))
    if told:
        figure = charts.memory(table, read.weights, read.vector, key)
        of += _("; weights {weights}", weights=read.weights.round(3).tolist())
        said = true_minus(
            _(
                "Read with {how}: weights from {least:.4f} to {most:.4f}, r = ({vector}).",
                how=_("row {n} alone", n=row) if row else f"β = {beta:g}",
                least=read.weights.min(),
                most=read.weights.max(),
                vector=vector,
            )
        )
    else:
        figure = charts.memory(table, np.zeros(rows), np.zeros(len(key)), key, blind=True)
        said = _("Choose a share, and the weights appear.")
    page_parts.show(figure, f"{SLUG}.memory", f"{of}.")
    page_parts.summary(said)
    terms = " + ".join(f"{w:.4f} M({i})" for i, w in enumerate(read.weights[:4], start=1))
    terms += r" + \dots" if rows > 4 else ""
    how, last = ("read_row", row - 1) if row else ("read", f"{beta:g}")
    call = f"{how}({table.tolist()}, {key.tolist()}, {last})"
    return Folds(
        lambda: pd.DataFrame(table).rename(columns=str).assign(cosine=read.cosines, weight=read.weights),
        {
            "memory": table,
            "key": key,
            "cosines": read.cosines,
            "weights": read.weights,
            "read": read.vector,
        },
        {"call": call},
        told,
        {"ntm.read": {"p": str(rows)}, "ntm.address": {"beta": f"{beta:g}"}},
        (r"\sum_i w_t(i) = 1, \quad 0 \le w_t(i) \le 1", rf"r = {terms} = ({vector})"),
        change=lambda: _change(params),
    )


def _change(params: Params) -> None:
    """Draw ready-made memories, and an editor for the numbers: the last line is the key."""

    def take() -> None:
        if wanted := MEMORIES.get(st.session_state.get(f"{SLUG}.memories") or ""):
            state.write(**{f"{SLUG}.memory": pack(wanted), f"{SLUG}.row": None})

    key = f"{SLUG}.memories"
    st.pills(_("Ready-made memories"), list(MEMORIES), key=key, format_func=_, on_change=take)

    def packed(frame: pd.DataFrame) -> str:
        numbers = frame.drop(columns="row").apply(pd.to_numeric, errors="coerce").fillna(0.0).clip(-9, 9)
        return pack(numbers.round(2).to_numpy().tolist())

    frame = pd.DataFrame([list(row) for row in params.stored]).rename(columns=lambda c: str(c + 1))
    frame.insert(0, "row", [*(str(i) for i in range(1, len(params.stored))), _("key")])
    edited(frame, f"{SLUG}.memory", packed, disabled=["row"], column_config={"row": _("row")})
