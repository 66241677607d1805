"""A text file or a table (CSV, TSV) that a visitor gives; what cannot be read is refused in words, and nothing is replaced."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from core.checkpoints.files import printable
from core.data.text_lines import COLUMN, TextLine, read_upload, upload_columns
from core.errors import InputError, in_reader_language
from viz.languages import _, mark
from viz.number_text import megabytes
from viz.shell import notices

MOST_BYTES = 2**20
"""Bytes of a file: the uploader takes no larger one (.streamlit/config.toml)."""
TYPES = ["txt", "csv", "tsv"]
ENCODINGS = {"utf-8": "UTF-8", "utf-16": "UTF-16", "cp1252": "Windows-1252 (Western Europe)"}
NO_COLUMN = mark("none")


@dataclass(frozen=True)
class TextFile:
    """A file of texts with the choices of how to read it: its encoding and, of a table, the columns of the text, of its target and of its group."""

    name: str
    data: bytes
    column: str | None = None
    target: str | None = None
    group: str | None = None
    encoding: str = "utf-8"

    def lines(self) -> list[TextLine]:
        """Return the texts, and the lines that cannot be read with the reason. Raises InputError for a file that cannot be read at all."""
        check_size(self.name, len(self.data))
        return list(
            read_upload(
                self.name,
                self.data,
                column=self.column,
                target=self.target,
                group=self.group,
                encoding=self.encoding,
            )
        )


def check_size(name: str, n_bytes: int) -> None:
    """Raise InputError where texts have more bytes than a file of texts may have."""
    if n_bytes > MOST_BYTES:
        raise InputError(
            _("{name} has {size}.", name=name, size=megabytes(n_bytes, 1)),
            _("A file of texts has at most {size}.", size=megabytes(MOST_BYTES)),
            _("Give a part of it."),
        )


def choose(key: str, target: str = "", *, groups: bool = False) -> TextFile | None:
    """Draw the place for a file and the choices of how to read it; return the file, or None without one that has such columns.

    `target` is the label of the column of translations or classes, where the model has a use for one.
    """
    file = st.file_uploader(_("Or a text file, one text per line, or a table (CSV, TSV)"), TYPES, key=key)
    if file is None:
        return None
    path, data = Path(file.name), file.getvalue()
    name = f"{printable(path.stem, 60)}{printable(path.suffix)}"
    marked = data[:2] in (b"\xff\xfe", b"\xfe\xff")  # the byte order mark of UTF-16
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        encoding = "utf-16"
        if not marked:
            encoding = st.selectbox(
                _("Encoding"), list(ENCODINGS), key=f"{key}.encoding", format_func=ENCODINGS.__getitem__
            )
        try:
            names = list(dict.fromkeys(upload_columns(name, data, encoding)))
        except InputError as error:
            notices.box(error.wrong, error.rule, error.remedy)
            return None
        if not names:
            return TextFile(name, data, encoding=encoding)
        first = next((at for at, each in enumerate(names) if each.lower() == COLUMN), 0)
        column = st.selectbox(_("Column of the texts"), names, first, key=f"{key}.column")
        others = {"target": target, "group": _("Column of the groups") if groups else ""}
        further = {
            kind: st.selectbox(
                label,
                [NO_COLUMN, *names],
                key=f"{key}.{kind}",
                format_func=lambda name: _(name) if name == NO_COLUMN else name,
            )
            for kind, label in others.items()
            if label
        }
    chosen = {kind: None if each == NO_COLUMN else each for kind, each in further.items()}
    return TextFile(name, data, column, chosen.get("target"), chosen.get("group"), encoding)


def file_lines(key: str) -> list[str]:
    """Draw the place for a file; return its texts, none where it cannot be read, with the reason. Lines that cannot be used are named and left out."""
    file = choose(key)
    if file is None:
        return []
    try:
        rows = file.lines()
    except InputError as error:
        notices.box(error.wrong, error.rule, error.remedy)
        return []
    refused = [row for row in rows if row.error and row.text.strip()]
    if refused:
        st.text(
            _(
                "{n} cannot be read and are left out; the first is line {line}: {error}",
                n=len(refused),
                line=refused[0].line,
                error=in_reader_language(refused[0].error),
            )
        )
    return [row.text for row in rows if not row.error]
