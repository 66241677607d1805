"""Texts of the visitor's own: typed, or a file of lines or of a table; they stay in this visit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import streamlit as st

from core.data.text_lines import TextLine, read_upload, upload_columns
from core.errors import InputError
from core.model import Model
from core.reading.data_set_jobs import TEXTS, TOKENS
from viz.number_text import megabytes
from viz.shell import notices
from viz.widgets import page_parts
from viz.workspace.many_texts.data import SESSION_TEXTS, TextSet
from viz.workspace.shared.text_file import MOST_BYTES

TYPED, FILE, ENCODING = "many_texts.typed", "many_texts.file", "many_texts.encoding"
COLUMNS = ("many_texts.column", "many_texts.target", "many_texts.group")
TYPED_BEFORE = "many_texts.lines"
"""The key of the typed texts, while their box is not drawn."""
ENCODINGS = {"utf-8": "UTF-8", "utf-16": "UTF-16", "cp1252": "Windows-1252 (Western Europe)"}
NO_COLUMN = "none"
TYPED_NAME = "typed texts"


def show_form(model: Model) -> None:
    """Draw a fold with a box for texts, the place for a file, the choice of its columns, and the button."""
    with page_parts.fold("Your own texts", "many_texts.own") as fold:
        if fold.open:
            _form(model)


def _form(model: Model) -> None:
    with_target = _target_name(model)
    st.text(
        f"One text per line, or a table (CSV, TSV) whose first row names its columns: up to {TEXTS} texts, the first {TOKENS} tokens of each. "
        "They stay in this visit and are in no link."
    )
    typed = st.text_area("Texts, one per line", st.session_state.get(TYPED_BEFORE, ""), key=TYPED, height=150)
    st.session_state[TYPED_BEFORE] = typed
    file = st.file_uploader("Or a file", type=["txt", "csv", "tsv"], key=FILE)
    name, data = (file.name, file.getvalue()) if file else ("", b"")
    columns: tuple[str | None, ...] = (None, None, None)
    if file:
        encoding = _encoding(data)
        try:
            columns = _columns(upload_columns(name, data, encoding), with_target)
        except InputError as error:
            notices.box(error.wrong, error.rule, error.remedy)
    filled = bool(file or typed.strip())
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        if st.button(
            "Measure these texts",
            icon=":material/menu_book:",
            disabled=not filled,
            help=None if filled else "Type a text, or choose a file.",
        ):
            try:
                lines = from_file(name, data, *columns, encoding=_encoding(data)) if file else from_box(typed)
                st.session_state[SESSION_TEXTS] = lines
                st.rerun()
            except InputError as error:  # the texts that were measured before stay
                notices.box(error.wrong, error.rule, error.remedy)
        if SESSION_TEXTS in st.session_state:
            st.button(
                "Back to the ready-made texts",
                type="tertiary",
                icon=":material/undo:",
                on_click=lambda: st.session_state.pop(SESSION_TEXTS, None),
            )


def _encoding(data: bytes) -> str:
    """Draw the choice of the encoding once; a file that begins with the mark of UTF-16 is read so."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    return st.session_state.get(ENCODING) or "utf-8"


def _target_name(model: Model) -> str:
    """Return what a second column holds for this model; "" for one that has no use for it."""
    if model.spec.has_source and model.head is None:
        return "Column of the translation"
    return "Column of the class" if model.is_classifier else ""


def _columns(columns: list[str], with_target: str) -> tuple[str | None, str | None, str | None]:
    """Draw the choice of the encoding, and of a table that of its columns; return the columns of the text, its target and its group."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        chosen: list[str | None] = [None, None, None]
        named = list(dict.fromkeys(columns))
        if named:
            texts = next((at for at, each in enumerate(named) if each.lower() == "text"), 0)
            chosen[0] = st.selectbox("Column of the texts", named, texts, key=COLUMNS[0])
            rest = [NO_COLUMN, *named]
            if with_target:
                chosen[1] = st.selectbox(with_target, rest, key=COLUMNS[1])
            chosen[2] = st.selectbox("Column of the groups", rest, key=COLUMNS[2])
        st.selectbox("Encoding", list(ENCODINGS), key=ENCODING, format_func=ENCODINGS.__getitem__)
    text, target, group = (None if each == NO_COLUMN else each for each in chosen)
    return text, target, group


def from_box(typed: str) -> TextSet:
    """Return the texts that were typed, one per line; empty lines are no texts. Raises InputError where there is none."""
    _check_size("What was typed", len(typed.encode("utf-8", "replace")))
    data = typed.encode("utf-8", "replace")
    return _text_set(TYPED_NAME, (line for line in read_upload("typed.txt", data) if line.text.strip()))


def from_file(
    name: str,
    data: bytes,
    column: str | None = None,
    target: str | None = None,
    group: str | None = None,
    *,
    encoding: str = "utf-8",
) -> TextSet:
    """Return the texts of a file. Raises InputError for one that is too large, empty, in another encoding, or without such a column."""
    _check_size(name, len(data))
    lines = read_upload(name, data, column=column, target=target, group=group, encoding=encoding)
    return _text_set(name, lines)


def _check_size(name: str, n: int) -> None:
    if n > MOST_BYTES:
        raise InputError(
            f"{name} has {megabytes(n, 1)}.",
            f"A file of texts has at most {megabytes(MOST_BYTES)}, and {TEXTS} of its texts are read.",
            "Give a part of it.",
        )


def _text_set(name: str, lines: Iterable[TextLine]) -> TextSet:
    """Return the first texts, and how many there are beyond; lines without a text at the end of a file do not count. Raises InputError where none can be read."""
    rows = list(lines)
    while rows and not rows[-1].text.strip() and rows[-1].error:
        rows.pop()
    usable = [line for line in rows if not line.error]
    if not usable:
        reason = f" {rows[0].error}" if rows else ""
        raise InputError(
            f"{name[:1].upper()}{name[1:]} has no text to read.{reason}",
            "One text at least must be read.",
            "Type a text, or choose another file.",
        )
    lines = tuple(replace(line, text=line.text.strip() or line.text) for line in rows[:TEXTS])
    if all(line.error for line in lines):
        lines = tuple(usable[:TEXTS])
    return TextSet(
        name if name == TYPED_NAME else f"texts of {name}",
        lines,
        from_visitor=True,
        beyond=len(rows) - len(lines),
    )
