"""A text file or a table (CSV, TSV) that a visitor gives, as lines; what cannot be read is refused in words, and nothing is replaced."""

from __future__ import annotations

import codecs
import csv
import io

import streamlit as st

from core.checkpoints.files import printable
from core.errors import InputError
from viz.shell import notices

MOST_BYTES = 2**20
"""Of a file so much is read."""
TYPES = ["txt", "tsv", "csv"]
COLUMN = "text"
"""The column that is offered first, where a table has it."""
RULE = "A file has one text per line, or is a table whose first row names its columns, in UTF-8."


def file_lines(key: str) -> list[str]:
    """Draw the place for a file, and of a table the choice of its column; return its texts, none where it cannot be read, with the reason."""
    file = st.file_uploader("Or a text file, one text per line, or a table (CSV, TSV)", type=TYPES, key=key)
    if file is None:
        return []
    try:
        text = decoded(file.name, file.getvalue())
        names = columns_of(file.name, text)
        if len(names) > 1:
            first = names.index(COLUMN) if COLUMN in names else 0
            place = st.selectbox(
                "Column of the texts",
                range(len(names)),
                first,
                format_func=names.__getitem__,
                key=f"{key}.column",
            )
        else:
            place = 0
        lines = lines_of(file.name, text, place or 0)
    except InputError as error:
        notices.box(error.wrong, error.rule, error.remedy)
        return []
    if file.size > MOST_BYTES:
        st.caption(f"The file is larger than {MOST_BYTES / 2**20:.0f} MiB; the rest of it is not read.")
    return lines


def decoded(name: str, data: bytes) -> str:
    """Return the text of a file: UTF-16 by its mark, else UTF-8. Raises InputError, in words, for an empty file and for other bytes.

    >>> decoded("a.txt", "a\\r\\né".encode("utf-16"))
    'a\\r\\né'
    """
    name = printable(name)
    whole = len(data) <= MOST_BYTES
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(data[:MOST_BYTES], final=whole)
    except UnicodeDecodeError as error:
        wrong = f"{name} is not {encoding.removesuffix('-sig').upper()} at byte {error.start + 1:,}."
        raise InputError(wrong, RULE, "Save it as UTF-8.") from None
    if "\0" in text:
        raise InputError(f"{name} is not a text: it has zero bytes.", RULE, "Save it as text, in UTF-8.")
    if not text.strip():
        raise InputError(f"{name} is empty.", RULE, "Choose a file with text.")
    return text


def columns_of(name: str, text: str) -> list[str]:
    """Return the names in the first row of a table; none for a file of lines.

    >>> columns_of("a.csv", "id;text\\n1;a b"), columns_of("a.txt", "id,text")
    (['id', 'text'], [])
    """
    return _rows(name, text)[0] if _is_table(name) else []


def lines_of(name: str, text: str, column: int = 0) -> list[str]:
    """Return the texts of a file: its lines, or the cells of a column of a table, each on one line. Raises InputError for a table without such a column.

    >>> lines_of("a.csv", 'id,text\\n1,"a, b"\\n2,"c\\nd"', 1)
    ['a, b', 'c d']
    """
    if not _is_table(name):
        return text.splitlines()
    cells = [row[column] for row in _rows(name, text)[1:] if column < len(row)]
    if not any(cell.strip() for cell in cells):
        wrong = f"{printable(name)} has no text in this column."
        raise InputError(wrong, RULE, "Choose another column, or save a list of lines as .txt.")
    return [" ".join(cell.split()) for cell in cells]


def _is_table(name: str) -> bool:
    return name.lower().endswith((".csv", ".tsv"))


def _rows(name: str, text: str) -> list[list[str]]:
    first = text.lstrip().partition("\n")[0]
    between = "\t" if name.lower().endswith(".tsv") else max(",;\t", key=first.count)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=between))
    except csv.Error as error:
        wrong = f"{printable(name)} cannot be read as a table: {error}."
        raise InputError(wrong, RULE, "Save it as CSV again, or as a .txt of lines.") from None
    return [row for row in rows if row]
