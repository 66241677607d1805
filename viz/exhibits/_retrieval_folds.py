"""The folds of the exhibit on retrieval: each step hands over what belongs in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from viz.pages import Exhibit
from viz.ui import lesson, parts

CREDIT = "The sum is the same in all four steps: retrieval(q, k, v) = Σ similarity(q, kᵢ) × vᵢ. Only the similarity changes: 0 or 1, a softmax of fits, of dot products, of cosines."


@dataclass(frozen=True)
class Shown:
    """What a step hands to the folds: its equations by key (each with values of its symbols), this run's numbers (LaTeX), what the picture is, table, arrays, lines of Python."""

    equations: Mapping[str, Mapping[str, str]]
    numbers: tuple[str, ...]
    looking: str
    frame: Callable[[], pd.DataFrame]
    arrays: dict[str, Any]
    code: str
    change: Callable[[], None] | None = field(default=None)


def folds(exhibit: Exhibit, name: str, shown: Shown) -> None:
    """Change it, the equation, what one looks at, the documents, the table, and what to take along."""
    with parts.fold("Change it", f"retrieval.change.{name}") as opened:
        if opened.open and shown.change:
            shown.change()
    with parts.fold(parts.EQUATION, "retrieval.equation") as opened:
        if opened.open:
            for key, values in shown.equations.items():
                lesson.equation(key, "retrieval.", values=values)
            for line in shown.numbers:
                parts.equation(line)
    with parts.fold(parts.LOOKING, "retrieval.looking") as opened:
        if opened.open:
            st.markdown(shown.looking)
            st.text(CREDIT)
    parts.documents(exhibit, lambda: lesson.errata("E28", "E47", "E53"))
    parts.as_table(shown.frame, "retrieval")
    parts.take_away({name: np.asarray(value, dtype=np.float64) for name, value in shown.arrays.items()}, shown.code, key="retrieval")
