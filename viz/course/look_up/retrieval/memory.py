"""The read of a neural Turing machine: memory, key, sharpness, weights, and what comes out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from viz.course.look_up.retrieval import link
from viz.course.look_up.retrieval.charts import memory as memory_figure
from viz.course.look_up.retrieval.editing import edited
from viz.course.look_up.retrieval.maths import memory_read
from viz.course.shared.shown import Shown
from viz.shell import state
from viz.widgets import controls, lesson, parts

SLUG = "retrieval."
PRESETS = {"Three rows": (*memory_read.THREE, (1.0, 0.2, 0.4)), "Ten rows, one that matches": (*memory_read.TEN, (1.0, 1.0, 0.0))}
LOOKING = (
    "Every row of the grid is a row of the memory; blue is positive, orange negative. Above it the key that asks, below it what is read. The bar before a row is its weight. "
    "**Why an inverse temperature β?** A cosine lies between −1 and 1, so without β no weight is more than e² times another: with ten rows even a perfect match gets less than half. "
    "**Try** the ten rows with β = 1 and β = 10, and then one row alone: a plain memory, the weights one-hot."
)


def show(params: Any) -> Shown:
    """Question, memory, one sentence, the slider of beta; rows and key can be changed below."""
    table, key = np.array(params.memory[:-1]), np.array(params.memory[-1])
    rows = len(table)
    plain = memory_read.read(table, key, 1.0)
    best, ratio = int(plain.weights.argmax()), float(plain.weights.max() / plain.weights.min())
    low = plain.cosines.min()
    why = (f"Its cosine is {plain.cosines[best]:.2f}, the smallest {low:.2f}: a factor e^{plain.cosines[best] - low:.2f} = {ratio:.2f} between them, "
           f"and never more than e² = {memory_read.BOUND:.3f}.").replace("-", "−")  # fmt: skip
    known = lesson.predict_number(SLUG + "share", f"With β = 1, how much of the reading goes to the row that fits best, of {rows}?", 0, 1,
                                  round(float(plain.weights[best]), 3), why, 0.05, "%")  # fmt: skip
    row = min(params.row, rows)
    read = memory_read.read_row(table, key, row - 1) if row else memory_read.read(table, key, params.beta)
    hidden = not known
    parts.show(memory_figure(table, np.zeros(rows) if hidden else read.weights, np.zeros(len(key)) if hidden else read.vector, key, blind=hidden), SLUG + "memory",
               f"A memory of {rows} rows of {len(key)} numbers" + ("." if hidden else f"; weights {read.weights.round(3).tolist()}."))  # fmt: skip
    vector = ", ".join(f"{value:.3f}" for value in read.vector)
    how = f"row {row} alone" if row else f"β = {params.beta:g}"
    parts.numbers("Say how much, and the weights appear." if hidden else
                  f"Read with {how}: weights from {read.weights.min():.4f} to {read.weights.max():.4f}, r = ({vector}).".replace("-", "−"))  # fmt: skip
    controls.slider("Inverse temperature β", 0.0, 20.0, SLUG + "beta", 1.0, 0.5)
    controls.segmented("Read", range(rows + 1), SLUG + "row", 0, lambda i: f"row {i}" if i else "by content", quiet=True)
    terms = " + ".join(f"{w:.4f} M({i})" for i, w in enumerate(read.weights[:4], start=1)) + (r" + \dots" if rows > 4 else "")
    return Shown(
        {"ntm.read": {"p": str(rows)}, "ntm.address": {"beta": f"{params.beta:g}"}},
        (r"\sum_i w_t(i) = 1, \quad 0 \le w_t(i) \le 1", r"\dots" if hidden else rf"r = {terms} = ({vector})"),
        LOOKING,
        lambda: pd.DataFrame(table).rename(columns=str).assign(**({} if hidden else {"cosine": read.cosines, "weight": read.weights})),
        {"memory": table, "key": key} | ({} if hidden else {"cosines": read.cosines, "weights": read.weights, "read": read.vector}),
        "from viz.course.look_up.retrieval.maths import memory_read\n\n" + (f"memory_read.read_row({table.tolist()}, {key.tolist()}, {row - 1})" if row else f"memory_read.read({table.tolist()}, {key.tolist()}, {params.beta:g})"),
        lambda: _change(params),
    )  # fmt: skip


def _change(params: Any) -> None:
    """Ready-made memories, and the numbers themselves: the last line is the key."""
    def take() -> None:
        wanted = PRESETS.get(st.session_state.get(SLUG + "memories") or "")
        if wanted:
            state.write(**{SLUG + "memory": link.pack(wanted), SLUG + "row": None})

    st.pills("Ready-made memories", list(PRESETS), key=SLUG + "memories", on_change=take)

    def pack(frame: pd.DataFrame) -> str:
        numbers = frame.drop(columns="row").apply(pd.to_numeric, errors="coerce").fillna(0.0).clip(-9, 9)
        return link.pack(numbers.round(2).to_numpy().tolist())

    names = [*(str(i) for i in range(1, len(params.memory))), "key"]
    frame = pd.DataFrame([list(row) for row in params.memory]).rename(columns=lambda c: str(c + 1))
    frame.insert(0, "row", names)
    edited(frame, SLUG + "memory", pack, disabled=["row"])
