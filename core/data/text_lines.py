"""Texts of a data set, one after another: from a list, an iterator, or a file with one text per line or in a column.

A text that cannot be read keeps its line and the reason, so that one bad line does not end the reading of a million.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from core.errors import InputError, reason_of
from core.wording import mark

MOST_LETTERS = 100_000
"""Characters of one text: longer ones are refused before they are split into tokens."""
MOST_READ = 2**22
"""Characters of one line of a file that are read; the rest of the line is passed over."""
SEPARATORS = {".csv": ",", ".tsv": "\t"}
SPREADSHEETS = ",;\t"
"""Characters that spreadsheets put between the cells of a CSV file."""
COLUMN = "text"
"""The column that is read of a file with several, where none is named."""


@dataclass(frozen=True)
class TextLine:
    """One text with its line, counted from 1: the line of a file on which it begins, or its place in a list. With an `error` it cannot be used.

    `target`: its translation, or the name of its class; `group`: the group of texts that it belongs to; "" where there is none.
    """

    line: int
    text: str
    error: str = ""
    target: str = ""
    group: str = ""


def read_texts(
    texts: str | Path | Iterable[str], *, column: str | None = None, encoding: str = "utf-8"
) -> Iterator[TextLine]:
    """Yield the texts of a list, an iterator, or a file, each when it is asked for.

    A string is the path of a file: of .csv and .tsv, or with `column`, the texts are the cells of that column (it may be left out where
    there is one column, or one called "text"), else the lines. Raises InputError for a file that is not there or has no such column.
    """
    if isinstance(texts, str | Path):
        yield from _file_lines(Path(texts), column, encoding)
    elif column is not None:
        raise InputError(
            "A column '{column}' is named of a list.",
            "A column is one of a file; a list has the texts themselves.",
            "Leave column out.",
            column=column,
        )
    elif not isinstance(texts, Iterable):
        raise InputError(
            "The texts are given as {name}.",
            "They are a list, an iterator, or the path of a file.",
            "Give a list of strings.",
            name=type(texts).__name__,
        )
    else:
        yield from (_text_line(number, text) for number, text in enumerate(texts, 1))


def _text_line(number: int, text: object) -> TextLine:
    """Return a text with the reason why it cannot be used, if there is one."""
    wrong = ""
    if not isinstance(text, str):
        wrong = reason_of(
            InputError(
                "The text is given as {kind}.",
                "A text is a string.",
                "Give str(text), or leave it out.",
                kind=type(text).__name__,
            )
        )
        text = ""
    elif not text.strip():
        wrong = reason_of(
            InputError(
                "The text is empty.",
                "Each text needs at least one word.",
                "Delete the line, or write a text there.",
            )
        )
    elif len(text) > MOST_LETTERS:
        wrong = _too_long(mark("The text has {n:,} characters."), len(text))
        text = text[:MOST_LETTERS]
    elif any("\udc80" <= letter <= "\udcff" for letter in text):
        wrong = reason_of(
            InputError(
                "The text has bytes that its encoding does not have.",
                "A file is read as UTF-8 unless encoding= names another.",
                'Save it as UTF-8, or name its encoding: encoding="cp1252".',
            )
        )
        text = text.encode("utf-8", "replace").decode()
    return TextLine(number, text, wrong)


def _too_long(wrong: str, n: int = 0) -> str:
    error = InputError(
        wrong, "A text has at most {most:,}.", "Cut it into several texts.", n=n, most=MOST_LETTERS
    )
    return reason_of(error)


def read_upload(
    name: str,
    data: bytes,
    *,
    column: str | None = None,
    target: str | None = None,
    group: str | None = None,
    encoding: str = "utf-8",
) -> Iterator[TextLine]:
    """Yield the texts of a file that was sent: of a table (.csv, .tsv) those of a `column`, with the cells of the columns `target` and `group`, else its lines.

    Raises InputError for a file that is empty, has other bytes than its encoding, or has no such column.
    """
    check_encoding(name, data, encoding)
    path = Path(name)
    if path.suffix.lower() not in SEPARATORS:
        yield from _parsed(path, lambda: io.BytesIO(data), None, encoding)
        return
    header = upload_columns(name, data, encoding)
    columns = [header[_column_index(path, header, column)], target, group]
    separator = _separator(name, data, encoding)
    texts, *further = (
        _parsed(path, lambda: io.BytesIO(data), each, encoding, separator) if each else None
        for each in columns
    )
    cells = [{row.line: row.text for row in rows} if rows else {} for rows in further]
    for row in texts or ():
        own, of = (each.get(row.line, "").strip() for each in cells)
        yield replace(row, target=own, group=of)


def upload_columns(name: str, data: bytes, encoding: str = "utf-8") -> list[str]:
    """Return the names of the columns of a table that was sent; none for a file of lines.

    >>> upload_columns("a.csv", b'id;"the text"\\n1;a'), upload_columns("a.txt", b"a,b")
    (['id', 'the text'], [])
    """
    if Path(name).suffix.lower() not in SEPARATORS:
        return []
    check_encoding(name, data, encoding)
    with io.TextIOWrapper(io.BytesIO(data), encoding=encoding, newline="") as file:
        rows = csv.reader(_read_lines(file), delimiter=_separator(name, data, encoding))
        try:
            return next(rows, [])
        except csv.Error as error:
            raise _unread(Path(name), error) from None


def check_encoding(name: str, data: bytes, encoding: str) -> None:
    """Raise InputError where a file that was sent has bytes that are no text of its encoding, or is a file of another kind."""
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(data, final=True)  # as a file is read
    except UnicodeError as error:
        place = error.start + 1 if isinstance(error, UnicodeDecodeError) else 0
        raise InputError(
            "{name} is not {encoding}: the byte at {place:,} is no part of it."
            if place
            else "{name} is not {encoding}.",
            "A file of texts is read in the encoding that is chosen for it.",
            "Choose another encoding, or save the file as UTF-8.",
            name=name,
            encoding=encoding.upper(),
            place=place,
        ) from None
    if "\0" in text:
        raise InputError(
            "{name} is not a text: it has zero bytes.",
            "A file of texts is plain text, CSV or TSV.",
            "Save the table as CSV, in UTF-8.",
            name=name,
        )


def _separator(name: str, data: bytes, encoding: str) -> str:
    """Return the character between the cells: the one that the first line has most often; a tab in a .tsv."""
    if name.lower().endswith(".tsv"):
        return SEPARATORS[".tsv"]
    first = data.decode(encoding).lstrip("\ufeff").partition("\n")[0]
    return max(SPREADSHEETS, key=first.count)


def _file_lines(path: Path, column: str | None, encoding: str) -> Iterator[TextLine]:
    """Yield the texts of a file; where reading fails in its middle, a last line with the reason."""
    return _parsed(path, lambda: path.open("rb"), column, encoding)


def _parsed(
    path: Path,
    opened: Callable[[], BinaryIO],
    column: str | None,
    encoding: str,
    separator: str | None = None,
) -> Iterator[TextLine]:
    """Yield the texts of an opened file, which may be one that was sent."""
    number = 0
    try:
        with opened() as raw:
            wide = raw.read(2) in (b"\xff\xfe", b"\xfe\xff")
        if wide and encoding == "utf-8":
            raise InputError(
                "{name} is UTF-16.",
                "A file is read as UTF-8 unless encoding= names another.",
                'Give encoding="utf-16", or save it as UTF-8.',
                name=path.name,
            )
        tables = column is not None or path.suffix.lower() in SEPARATORS
        with io.TextIOWrapper(opened(), encoding, "surrogateescape", newline="") as file:
            for found in _cells(path, file, column, separator) if tables else _lines(file):
                number = found.line
                yield found
    except (OSError, LookupError, UnicodeError, csv.Error) as error:
        failed = _unread(path, error)
        if not number:
            raise failed from None
        yield TextLine(number + 1, "", str(failed))
    if not number:
        raise InputError(
            "{name} has no text.", "A file has one text per line.", "Give a file with text.", name=path.name
        )


def _unread(path: Path, error: Exception) -> InputError:
    if isinstance(error, OSError):
        return InputError(
            "No file '{path}' can be read: {strerror}.",
            "A string is the path of a file of texts; texts themselves are a list.",
            "Check the path, or write [text].",
            path=path,
            strerror=error.strerror,
        )
    return InputError(
        "{name} cannot be read: {error}.",
        "encoding= is the encoding that the file has.",
        "Name it, or save the file as UTF-8.",
        name=path.name,
        error=str(error),
    )


def _read_lines(file: TextIO) -> Iterator[str]:
    """Yield the lines of a file with their ends and without a byte order mark; of one that is too long the beginning."""
    while line := file.readline(MOST_READ):
        rest = line
        while len(rest) == MOST_READ and not rest.endswith(("\n", "\r")):
            rest = file.readline(MOST_READ)
        yield line.removeprefix("\ufeff")


def _lines(file: TextIO) -> Iterator[TextLine]:
    return (_text_line(number, line.rstrip("\r\n")) for number, line in enumerate(_read_lines(file), 1))


def _cells(path: Path, file: TextIO, column: str | None, separator: str | None = None) -> Iterator[TextLine]:
    """Yield the cells of a column; a row that has none, or cannot be read, as a line with the reason."""
    between = separator or SEPARATORS.get(path.suffix.lower(), ",")
    rows = csv.reader(_read_lines(file), delimiter=between)
    header = next(rows, [])
    place = _column_index(path, header, column)
    line = rows.line_num + 1
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            # a field above the limit of the module, or a bare carriage return
            if "limit" in str(error):
                wrong = _too_long(mark("The text has too many characters."))
            else:
                wrong = _broken_row(mark("The row cannot be read: {error}."), error=str(error))
            yield TextLine(line, "", wrong)
        else:
            if place < len(row):
                yield _text_line(line, row[place])
            elif row:
                wrong = mark("The row cannot be read: it has {n} of {columns} columns.")
                yield TextLine(line, "", _broken_row(wrong, n=len(row), columns=len(header)))
        line = rows.line_num + 1


def _broken_row(wrong: str, **values: Any) -> str:
    error = InputError(
        wrong,
        "A cell with a comma, a quote or a line end is in double quotes.",
        "Mend the row, or save the table again as CSV.",
        **values,
    )
    return reason_of(error)


def _column_index(path: Path, header: Sequence[str], column: str | None) -> int:
    name = column or (header[0] if len(header) == 1 else COLUMN)
    if name in header:
        return header.index(name)
    if not header:
        raise InputError(
            "{name} is empty.", "Its first line names the columns.", "Give a file with text.", name=path.name
        )
    raise InputError(
        "{file} has no column '{name}'." if column else "Which column of {file} has the texts is not clear.",
        "Its first line has the columns {names}.",
        'Name one of them, as column="{header}"; columns are split at tabs.'
        if path.suffix == ".tsv"
        else 'Name one of them, as column="{header}"; columns are split at commas.',
        file=path.name,
        name=name,
        names=", ".join(header),
        header=header[0],
    )
