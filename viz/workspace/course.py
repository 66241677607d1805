"""The course: chapters in order, each with what it claims and its exhibits."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from viz import pages
from viz.pages import Chapter, Entry, Page
from viz.ui import parts

PAGE = Page(title="Course", order=20, menu="top",
            claim="Every exhibit runs a real model or the real arithmetic: change something and watch the numbers.")


@dataclass(frozen=True)
class Params:
    """The course has no knobs."""


def compute(_: Params = Params()) -> tuple[tuple[Chapter, tuple[Entry, ...]], ...]:
    """The chapters that have exhibits, in order, with them."""
    found = ((chapter, pages.exhibits(chapter)) for chapter in Chapter)
    return tuple((chapter, entries) for chapter, entries in found if entries)


def page() -> None:
    """A card for each chapter: what it claims on the left, its exhibits on the right."""
    parts.title(PAGE, still=True)
    for chapter, entries in compute():
        with st.container(border=True):
            left, right = st.columns([2, 3], gap="medium", vertical_alignment="center")
            with left:
                st.subheader(chapter.title, anchor=False)
                st.markdown(f":gray[{chapter.claim}]")
            with right:
                for entry in entries:
                    parts.card(entry)
