"""Files of texts that a visitor gives: lines, tables with quotes and line ends, other encodings, empty and enormous ones."""

from __future__ import annotations

import pytest

from core.errors import InputError
from viz.workspace.shared.text_file import MOST_BYTES, columns_of, decoded, lines_of

TABLE = 'id;"the text";note\r\n1;"He said ""no"";\r\nand left.";x\r\n2;Short\r\n\r\n3;"a, b";y\r\n'


def read(name, data, column=0):
    return lines_of(name, decoded(name, data), column)


@pytest.mark.parametrize(
    ("name", "data", "column", "lines"),
    [
        ("a.txt", "á\r\nb\n\nc".encode(), 0, ["á", "b", "", "c"]),
        ("a.txt", b"\xef\xbb\xbfa\nb", 0, ["a", "b"]),
        ("a.txt", "á\nb".encode("utf-16"), 0, ["á", "b"]),
        ("a.txt", b"x" * MOST_BYTES, 0, ["x" * MOST_BYTES]),
        ("a.txt", "é\n".encode() * MOST_BYTES, 0, ["é"] * (MOST_BYTES // 3)),
        ("a.csv", TABLE.encode(), 1, ['He said "no"; and left.', "Short", "a, b"]),
        ("A.CSV", TABLE.replace(";", ",").encode("utf-16"), 2, ["x", "y"]),
        ("a.tsv", b'text\tn\n"one\ntwo"\t1\nthree, four\t2\n', 0, ["one two", "three, four"]),
    ],
)
def test_texts_of_a_file(name, data, column, lines):
    found = read(name, data, column)
    assert found[: len(lines)] == lines and len(found) - len(lines) in (0, 1)


def test_the_columns_of_a_table_are_offered():
    assert columns_of("a.csv", TABLE) == ["id", "the text", "note"]
    assert columns_of("a.csv", "text\na, b\n") == ["text"] and columns_of("a.txt", TABLE) == []


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.txt", b"", "a.txt is empty"),
        ("a.csv", b" \r\n\n", "a.csv is empty"),
        ("a.txt", "caf\xe9 au lait".encode("latin-1"), "a.txt is not UTF-8 at byte 4"),
        ("a.txt", "no mark".encode("utf-16-le"), "it has zero bytes"),
        ("a.txt", b"%PDF-1.7\n\xe2\xe3\xcf\xd3", "is not UTF-8"),
        ("a.txt", b"\xff\xfea\x00\x00\xd8b\x00", "is not UTF-16"),
        ("a.csv", b"id,text\n1,2\n", "no text in this column"),
        ("a.csv", b'text\n"' + b"x" * 200_000 + b'"', "cannot be read as a table"),
        ("a\n<b>.csv", b"", r"a\\n<b>.csv is empty"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_words(name, data, words):
    with pytest.raises(InputError, match=words):
        read(name, data, 2)
