"""A statement: a page whose words are a Markdown file beside its module, which can be read without the app, too."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import streamlit as st

from viz.languages import current


def sections(file: Path) -> list[tuple[str, str]]:
    """Return the parts of a Markdown file, each with its heading; the first, below the title of the file, has none.

    Where a `statement.es.md` is beside it, a visitor who reads Spanish gets that.
    """
    translated = file.with_suffix(f".{current().code}.md")
    text = (translated if translated.exists() else file).read_text("utf-8")
    first, *others = re.split(r"^## ", text, flags=re.MULTILINE)
    parts = (part.partition("\n")[::2] for part in others)
    return [("", first.partition("\n")[2].strip()), *((heading, text.strip()) for heading, text in parts)]


def show(parts: Iterable[tuple[str, str]]) -> None:
    """Draw parts below each other."""
    for heading, text in parts:
        if heading:
            st.header(heading, anchor=False)
        st.markdown(text)
