"""The folds of an exhibit whose steps each hand over what belongs in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from viz.charts.parts import panels
from viz.labels import formulas
from viz.shell.pages import Exhibit
from viz.widgets import lesson, parts

LATER = "Guess first: the numbers would give the answer away."


@dataclass(frozen=True)
class Shown:
    """What a step hands to the folds: its equations by key (each with values of its symbols), this run's numbers (LaTeX), what the picture is, table, arrays, lines of Python."""

    equations: Mapping[str, Mapping[str, Any]]
    numbers: tuple[str, ...]
    looking: str
    frame: Callable[[], pd.DataFrame]
    arrays: dict[str, Any]
    code: str
    change: Callable[[], object] | None = None


def folds(exhibit: Exhibit, slug: str, step: str, shown: Shown, aside: Callable[[], object], errata: Callable[[], None]) -> None:
    """More to change, the equation, what one looks at (and `aside`), the documents with their errata, the table, and what to take along."""
    if shown.change:
        with parts.fold("Change it", f"{slug}.change.{step}") as opened:
            if opened.open:
                shown.change()
    with parts.fold(parts.EQUATION, f"{slug}.equation") as opened:
        if opened.open:
            for key, values in shown.equations.items():
                lesson.equation(key, f"{slug}.", values=values)
            for line in shown.numbers:
                parts.equation(line)
    with parts.fold(parts.LOOKING, f"{slug}.looking") as opened:
        if opened.open:
            st.markdown(formulas(shown.looking, ours=True))
            aside()
    parts.documents(exhibit, errata)
    parts.as_table(shown.frame, slug)
    parts.take_away({name: np.asarray(value, dtype=np.float64) for name, value in shown.arrays.items()}, shown.code, key=slug)


def show(figure: go.Figure | panels.Layers, key: str, told: str, room: int) -> None:
    """Draw a figure, before a room `room` pixels high, so that question, picture and sentence stand on one screen; `told` is for who cannot see it."""
    if lesson.presenting():
        figure = go.Figure(figure).update_layout(height=room) if isinstance(figure, go.Figure) else figure.properties(height=room)
    parts.show(figure, key, told)


def later() -> pd.DataFrame:
    """What a table holds before the guess."""
    return pd.DataFrame({"": [LATER]})


def wait() -> None:
    """What stands for an erratum before the guess."""
    st.text(LATER)
