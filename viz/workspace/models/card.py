"""The card of a model, with its curve and its heads drawn."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.analysis.heads.head_file import HeadMeasures
from core.checkpoints.manifest import shipped_folder
from core.checkpoints.record import Training
from core.tools.card_heads import habits, linked
from core.tools.card_sections import NAMES, card_in_reader_language, column_notes
from core.tools.card_template import remove_places
from viz.charts import marks
from viz.languages import ENGLISH, _, current
from viz.widgets import page_parts
from viz.workspace.shared.card_text import card_text


def draw(
    name: str, card: str, training: Training | None, heads: HeadMeasures | None, *, shipped: bool
) -> None:
    """Draw a card: our own ones are Markdown, their curve and heads drawn here; a foreign one is shown as the text it is."""
    if not shipped:
        st.code(card_text(card) or _("This folder has no card."), language=None, wrap_lines=True)
        return
    written = card if current() is ENGLISH else card_in_reader_language(card, shipped_folder() / name)
    st.markdown(remove_places(written, "curve", "heads"))
    if training:
        _training(name, training)
    if heads:
        _heads(heads)


def _training(name: str, training: Training) -> None:
    lines = {_(words): points for measure, words in NAMES.items() if (points := training.curve(measure))}
    if lines:
        st.markdown(_("**The training, step by step**"))
        page_parts.show(
            marks.lines(pd.DataFrame({words: dict(points) for words, points in lines.items()})),
            f"models.{name}.training",
            _(
                "The training, step by step: {measures}",
                measures="; ".join(
                    _("{measure} {value:.2f} at the end", measure=words, value=points[-1][1])
                    for words, points in lines.items()
                ),
            ),
        )


def _heads(heads: HeadMeasures) -> None:
    st.markdown(_("**Its heads, beside those of an untrained copy**"))
    for rows, what, control in (
        (habits(heads), _("looks at"), _("shuffled")),
        (linked(heads), _("should find"), _("other words")),
    ):
        if rows:
            columns = [_("attention"), what, _("head"), _("score"), control, _("untrained"), _("its best")]
            st.table(
                pd.DataFrame(
                    [(row.attention, _(row.words), row.name, *row.numbers) for row in rows], columns=columns
                ).set_index(columns[0])
            )
    st.caption(column_notes(heads))
