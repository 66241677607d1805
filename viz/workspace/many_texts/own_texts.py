"""Texts of the visitor's own: typed, or a file of lines or of a table; they stay in this visit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import streamlit as st

from core.data.text_lines import TextLine, read_upload
from core.errors import InputError, in_reader_language
from core.model import Model
from core.reading.data_set_jobs import TEXTS, TOKENS
from viz.languages import _, mark
from viz.shell import notices
from viz.widgets import page_parts
from viz.workspace.many_texts.data import SESSION_TEXTS, TextSet
from viz.workspace.shared import text_file
from viz.workspace.shared.text_file import TextFile

TYPED, FILE = "many_texts.typed", "many_texts.file"
TYPED_BEFORE = "many_texts.lines"
"""The key of the typed texts, while their box is not drawn."""
TYPED_NAME = mark("typed texts")


def show_form(model: Model) -> None:
    """Draw a fold with a box for texts, the place for a file, the choice of its columns, and the button."""
    with page_parts.fold(mark("Your own texts"), "many_texts.own") as fold:
        if fold.open:
            _form(model)


def _form(model: Model) -> None:
    st.text(
        _(
            "One text per line, or a table (CSV, TSV) whose first row names its columns: up to {texts} texts, the first {tokens} tokens of each. They stay in this visit and are in no link.",
            texts=TEXTS,
            tokens=TOKENS,
        )
    )
    typed = st.text_area(
        _("Texts, one per line"), st.session_state.get(TYPED_BEFORE, ""), key=TYPED, height=150
    )
    st.session_state[TYPED_BEFORE] = typed
    file = text_file.choose(FILE, _target_name(model), groups=True)
    filled = bool(file or typed.strip())
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        if st.button(
            _("Measure these texts"),
            icon=":material/menu_book:",
            disabled=not filled,
            help=None if filled else _("Type a text, or choose a file."),
        ):
            try:
                st.session_state[SESSION_TEXTS] = from_file(file) if file else from_box(typed)
                st.rerun()
            except InputError as error:  # the texts that were measured before stay
                notices.box(error.wrong, error.rule, error.remedy)
        if SESSION_TEXTS in st.session_state:
            st.button(
                _("Back to the ready-made texts"),
                type="tertiary",
                icon=":material/undo:",
                on_click=lambda: st.session_state.pop(SESSION_TEXTS, None),
            )


def _target_name(model: Model) -> str:
    """Return what a second column holds for this model; "" for one that has no use for it."""
    if model.spec.has_source and model.head is None:
        return _("Column of the translation")
    return _("Column of the class") if model.is_classifier else ""


def from_box(typed: str) -> TextSet:
    """Return the texts that were typed, one per line; empty lines are no texts. Raises InputError where there is none."""
    data = typed.encode("utf-8", "replace")
    text_file.check_size(_("What was typed"), len(data))
    return _text_set(TYPED_NAME, (line for line in read_upload("typed.txt", data) if line.text.strip()))


def from_file(file: TextFile) -> TextSet:
    """Return the texts of a file. Raises InputError for one that is too large, empty, in another encoding, or without such a column."""
    return _text_set(file.name, file.lines())


def _text_set(name: str, lines: Iterable[TextLine]) -> TextSet:
    """Return the first texts, and how many there are beyond; lines without a text at the end of a file do not count. Raises InputError where none can be read."""
    rows = list(lines)
    while rows and not rows[-1].text.strip() and rows[-1].error:
        rows.pop()
    usable = [line for line in rows if not line.error]
    if not usable:
        shown = _(name) if name == TYPED_NAME else name
        reason = f" {in_reader_language(rows[0].error)}" if rows else ""
        raise InputError(
            _("{name} has no text to read.", name=f"{shown[:1].upper()}{shown[1:]}") + reason,
            _("One text at least must be read."),
            _("Type a text, or choose another file."),
        )
    lines = tuple(replace(line, text=line.text.strip() or line.text) for line in rows[:TEXTS])
    if all(line.error for line in lines):
        lines = tuple(usable[:TEXTS])
    return TextSet(
        _(name) if name == TYPED_NAME else _("texts of {name}", name=name),
        lines,
        from_visitor=True,
        beyond=len(rows) - len(lines),
    )
