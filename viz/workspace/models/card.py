"""The card of a model, with its curve and its heads drawn."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.analysis.heads.head_file import HeadMeasures
from core.checkpoints.record import Training
from core.tools.card_heads import habits, linked
from core.tools.card_sections import NAMES, column_notes
from core.tools.card_template import remove_places
from viz.charts import marks
from viz.widgets import page_parts
from viz.workspace.shared.card_text import card_text


def draw(
    name: str, card: str, training: Training | None, heads: HeadMeasures | None, *, shipped: bool
) -> None:
    """Draw a card: our own ones are Markdown, their curve and heads drawn here; a foreign one is shown as the text it is."""
    if not shipped:
        st.code(card_text(card) or "This folder has no card.", language=None, wrap_lines=True)
        return
    st.markdown(remove_places(card, "curve", "heads"))
    if training:
        _training(name, training)
    if heads:
        _heads(heads)


def _training(name: str, training: Training) -> None:
    lines = {words: points for measure, words in NAMES.items() if (points := training.curve(measure))}
    if lines:
        st.markdown("**The training, step by step**")
        page_parts.show(
            marks.lines(pd.DataFrame({words: dict(points) for words, points in lines.items()})),
            f"models.{name}.training",
            "The training, step by step: "
            + "; ".join(f"{words} {points[-1][1]:.2f} at the end" for words, points in lines.items()),
        )


def _heads(heads: HeadMeasures) -> None:
    st.markdown("**Its heads, beside those of an untrained copy**")
    for rows, what, control in (
        (habits(heads), "looks at", "shuffled"),
        (linked(heads), "should find", "other words"),
    ):
        if rows:
            columns = ["attention", what, "head", "score", control, "untrained", "its best"]
            st.table(
                pd.DataFrame(
                    [(row.attention, row.words, row.name, *row.numbers) for row in rows], columns=columns
                ).set_index("attention")
            )
    st.caption(column_notes(heads))
