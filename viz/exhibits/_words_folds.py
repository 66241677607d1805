"""The folds of the exhibit on word vectors: each step hands over what belongs in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from viz.pages import Exhibit
from viz.ui import lesson, links, parts


@dataclass(frozen=True)
class Shown:
    """What a step hands to the folds: its equations by key (each with values of its symbols), this run's numbers (LaTeX), what the picture is, table, arrays, lines of Python."""

    equations: Mapping[str, Mapping[str, str]]
    numbers: tuple[str, ...]
    looking: str
    frame: Callable[[], pd.DataFrame]
    arrays: dict[str, Any]
    code: str
    change: Callable[[], None] | None = None


def folds(exhibit: Exhibit, name: str, shown: Shown) -> None:
    """More to change, the equation, what one looks at, the documents, the table, and what to take along."""
    if shown.change:
        with parts.fold("Change it", f"word_vectors.change.{name}") as opened:
            if opened.open:
                shown.change()
    with parts.fold(parts.EQUATION, "word_vectors.equation") as opened:
        if opened.open:
            for key, values in shown.equations.items():
                lesson.equation(key, "word_vectors.", values=values)
            for line in shown.numbers:
                parts.equation(line)
    with parts.fold(parts.LOOKING, "word_vectors.looking") as opened:
        if opened.open:
            st.markdown(shown.looking)
            links.to("models", "How these vectors were trained, and how often such sums are right")
    parts.documents(exhibit, lambda: lesson.errata("E55", "E56"))
    parts.as_table(shown.frame, "word_vectors")
    parts.take_away({name: np.asarray(value, dtype=np.float64) for name, value in shown.arrays.items()}, shown.code, key="word_vectors")
