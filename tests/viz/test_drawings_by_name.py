"""A drawing is a text of several hundred letters; on the pages it is named, and its letters stand only where they are data: in links, in code, in what an instrument is given."""

from __future__ import annotations

import re

import pytest
from exhibit_pages import drawn
from streamlit.testing.v1 import AppTest
from test_pages_by_shape import VIEWS
from workspace_pages import page

from core.data import doodles
from viz.instruments.kit.origin import title_of

CAT = doodles.as_text(doodles.example("cat"))
LETTERS = 200
"""How many letters of a drawing are looked for."""
LONG = re.compile(rb"(.{0,40})(?<![\w-])" + CAT[len(doodles.PREFIX) :][:LETTERS].encode(), re.DOTALL)
DATA = re.compile(rb"""("(text|doodle|beside)": ?"|run\(\\*['"]|[?&](\w+\.)?(text|own)=)doodle(:|%3A)$""")
"""What stands before a drawing where it is data: a field of an instrument, a call in lines of code, a link."""
HEAVY = (
    "find",
    "importance-words",
    "importance-many",
    "importance-patch",
    "decode-",
    "your_model",
    "inside-",
)
"""Views that take long, or that open no model of pictures."""


def read_out(test: AppTest) -> list[bytes]:
    """Return what stands before each drawing whose letters a visitor, or a screen reader, would be given."""
    found = []
    for element in test._tree:
        proto = getattr(element, "proto", None)
        if proto is not None:
            found += LONG.findall(proto.SerializeToString())
    return [before for before in found if not DATA.search(before)]


@pytest.mark.quick(3)
@pytest.mark.parametrize("view", [view for view in VIEWS if not view.startswith(HEAVY)])
def test_a_page_names_a_drawing_and_never_reads_its_letters_out(view: str) -> None:
    slug, query = VIEWS[view]
    assert read_out(page(slug, model="vit-doodles", text=CAT, **query)) == []


def test_an_exhibit_on_pictures_does_so_too() -> None:
    test = drawn(
        "picture_as_words", {"text": CAT, "picture_as_words.own": CAT, "picture_as_words.step": "2"}, {}
    )
    assert not test.exception and read_out(test) == []


def test_letters_in_a_sentence_are_found_and_those_of_data_are_not() -> None:
    test = AppTest.from_string(
        f"import streamlit as st\nst.text('It reads {CAT}.')\nst.markdown('[Look](/look?text={CAT})')"
    ).run()
    assert len(read_out(test)) == 1 and title_of(CAT) == "a cat, 28 × 28"
