"""Lines of the visitor's own as the corpus: typed, or from a file; read behind the page, for this visitor alone."""

from __future__ import annotations

import streamlit as st

from core.errors import in_reader_language
from core.model import Model
from core.reading import corpus_jobs
from core.reading.corpus_jobs import LINES, TOKENS, CorpusProgress
from viz.labels import literal
from viz.languages import _
from viz.shell import errors
from viz.widgets import engine_client, page_parts
from viz.workspace.shared.text_file import file_lines

TYPED, FILE = "find.own.lines", "find.own.file"
BEAT = 1.0
"""Seconds between two looks at a reading that runs."""


def progress(model: Model) -> CorpusProgress | None:
    """Return the state of the reading of this visitor's lines; None without one."""
    return corpus_jobs.default().progress(model, engine_client.session())


def show_progress(model: Model) -> None:
    """Draw the state of a reading: how far it is, or why it ended."""
    if (standing := progress(model)) and not standing.over:
        st.fragment(_running, run_every=BEAT)(model)
    elif standing and standing.problem:
        st.info(
            literal(
                _(
                    "Your lines could not be read: {problem} The lines that were read before are shown.",
                    problem=in_reader_language(standing.problem),
                )
                if standing.corpus
                else _(
                    "Your lines could not be read: {problem}", problem=in_reader_language(standing.problem)
                )
            )
        )


def show_form(model: Model) -> None:
    """Draw a fold with a box for lines, the place for a file, and the button; none for a model that reads no words."""
    if model.spec.reads is not None:
        return
    with page_parts.fold(_("On lines of your own"), f"find.own.{model.name}") as fold:
        if fold.open:
            _form(model, progress(model))


def _running(model: Model) -> None:
    with errors.guard():
        standing = progress(model)
        if standing is None or standing.over:
            st.rerun()
        st.progress(
            standing.done / max(standing.total, 1),
            _("Reading your lines: {done} of {total} steps", done=standing.done, total=standing.total or "…"),
        )


def _form(model: Model, standing: CorpusProgress | None) -> None:
    st.text(
        _(
            "One text per line, up to {lines} lines, {tokens} tokens of each. All heads are measured on them, and again on their words shuffled. They stay in this visit.",
            lines=LINES,
            tokens=TOKENS,
        )
    )
    typed = st.text_area(_("Texts, one per line"), key=TYPED, height=160)
    lines = [*typed.splitlines(), *file_lines(FILE)]
    filled = any(line.strip() for line in lines)
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.button(
            _("Read these lines"),
            icon=":material/menu_book:",
            disabled=not filled,
            help=None if filled else _("Type a line, or choose a file."),
            on_click=lambda: corpus_jobs.default().begin(model, lines, engine_client.session()),
        )
        if standing:
            st.button(
                _("Leave these lines"),
                type="tertiary",
                icon=":material/undo:",
                on_click=lambda: corpus_jobs.default().forget(model, engine_client.session()),
            )
    if standing and standing.beyond:
        st.caption(_("{n} lines beyond the first {lines} were not read.", n=standing.beyond, lines=LINES))
