"""Names for the heads from texts of the visitor's own: lines that are typed, or a file; measured behind the page, for this visitor alone."""

from __future__ import annotations

import streamlit as st

from core.model import Model
from core.reading import surveys
from core.reading.surveys import LINES, SurveyProgress
from viz.labels import percent
from viz.languages import _
from viz.widgets import engine_client, page_parts
from viz.workspace.shared.text_file import file_lines

TYPED, FILE = "your_model.lines", "your_model.file"


def standing(model: Model) -> SurveyProgress | None:
    """Return the progress of the survey on this visitor's texts; None without one."""
    return surveys.default().visitor_survey(model, engine_client.session())


def show(model: Model) -> None:
    """Draw the box for lines, the place for a file, and the button; in a fold, for most models are named by our texts."""
    if model.spec.reads is not None:
        return
    with page_parts.fold(_("Name the heads on these texts"), f"your_model.naming.{model.name}") as fold:
        if fold.open:
            _form(model)


def _form(model: Model) -> None:
    st.text(
        _(
            "The names of heads come from English sentences. With texts that this model was made for they say more: one text per line, in any language or notation, up to {n} lines. They stay in this visit.",
            n=LINES,
        )
    )
    typed = st.text_area(_("Texts, one per line"), key=TYPED, height=160)
    lines = [*typed.splitlines(), *file_lines(FILE)]
    filled = any(line.strip() for line in lines)

    def name_heads() -> None:
        surveys.default().name_on(model, lines, engine_client.session())

    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.button(
            _("Name the heads on these texts"),
            icon=":material/label:",
            disabled=not filled,
            help=None if filled else _("Type a line, or choose a file."),
            on_click=name_heads,
        )
        if standing(model):
            st.button(
                _("Back to the names from our sentences"),
                type="tertiary",
                icon=":material/undo:",
                on_click=lambda: surveys.default().forget(model, engine_client.session()),
            )


def unread(model: Model, survey: SurveyProgress) -> str:
    """Return the sentence that the texts name no head, as plain text, if the model has no tokens for them; else ""."""
    if all(heads.readable for heads in survey.heads.values()):
        return ""
    words = {"model": model.name, "share": percent(survey.unread)}
    if survey.texts:
        return _(
            "{model} has no token for {share} of your texts, so they name no head. Open “Name the heads on these texts” below and give lines that it can read.",
            **words,
        )
    return _(
        "{model} has no token for {share} of the survey's English sentences, so they name no head. Open “Name the heads on these texts” below and give lines that it can read.",
        **words,
    )
