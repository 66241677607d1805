"""Files of texts that a visitor gives, on the page: the place for a file, the choices of how to read it, and what is left out.

`core/test_over_texts.py` reads files of every kind; a file that is refused is refused there.
"""

from __future__ import annotations

import pytest
from shown_values import states
from streamlit.testing.v1 import AppTest

from viz.workspace.shared.text_file import MOST_BYTES, TextFile

QUOTED = 'He said "no";\r\nand left.'
TABLE = 'id;"Text";note\r\n1;"He said ""no"";\r\nand left.";x\r\n2;Short;\r\n\r\n3;"a, b";y\r\n'


def page(name: str, data: bytes) -> AppTest:
    """Return a page with nothing but the place for a file, into which this one was put."""
    test = AppTest.from_string(
        "import streamlit as st\n"
        "from viz.workspace.shared.text_file import file_lines\n"
        "st.session_state['lines'] = file_lines('one')",
        default_timeout=30,
    ).run()
    test.file_uploader[0].set_value((name, data, "text/plain")).run()
    assert not test.exception
    return test


def test_the_columns_and_the_encoding_of_a_table_are_chosen():
    test = page("a.csv", TABLE.encode())
    assert test.session_state["lines"] == [QUOTED, "Short", "a, b"]
    column = test.selectbox[1]
    assert column.options == ["id", "Text", "note"] and column.value == "Text"
    column.set_value("note").run()
    assert test.session_state["lines"] == ["x", "y"]
    test.selectbox[0].set_value("utf-16").run()
    assert test.session_state["lines"] == [] and len(test.selectbox) == 1


@pytest.mark.parametrize(
    ("name", "data", "lines"),
    [
        ("a.txt", "á\nb".encode("utf-16"), ["á", "b"]),
        ("x" * 120 + ".csv", b"text\na\n", ["a"]),
        ("a.txt", b"", []),
        ("a\n<b>.csv", "text\ncafé".encode("latin-1"), []),
        ("a.csv", b'text\n"' + b"x" * 200_000 + b'"\nb', ["b"]),
    ],
)
def test_texts_of_a_file(name, data, lines):
    assert page(name, data).session_state["lines"] == lines


def test_lines_that_cannot_be_read_are_counted_and_a_file_that_is_too_large_is_refused():
    test = page("a.txt", b"one\n" + b"x" * 200_000 + b"\ntwo")
    assert test.session_state["lines"] == ["one", "two"]
    assert states(" ".join(each.value for each in test.text), "1", "line 2", "200,000 characters")
    with pytest.raises(ValueError, match=r"1\.0 MB"):
        TextFile("a.txt", b"x" * (MOST_BYTES + 1)).lines()
