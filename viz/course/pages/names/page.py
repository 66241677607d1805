"""Names: tensors, axes, symbols and letters, with their meaning here and in the sources; one box searches them all."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core.glossary import LETTERS
from viz.course.kit import equation_view as equations
from viz.course.pages.names import sections
from viz.course.pages.names.sections import Line, Section
from viz.labels import literal, shorten
from viz.languages import _, ngettext
from viz.shell import links, pages
from viz.shell.pages import Cite, Page
from viz.widgets import controls, page_parts

PAGE = Page(
    title="Names",
    order=70,
    menu="course",
    claim="One name for each tensor, the same in the code, on the pages and in the address bar.",
    cites=(
        Cite("ghojogh2020", "2.4 to 3.3", "the symbols of all equations"),
        Cite("vaswani2017", "3.2, 3.3", "h, d_model, d_ff"),
    ),
)
FIND = "names.find"
MOST = 15  # entries of a section that a search shows


@dataclass(frozen=True)
class Params:
    """Settings: the search text; empty shows the sections."""

    find: str = ""


def compute(params: Params = Params()) -> tuple[tuple[Section, tuple[Line, ...]], ...]:
    """Return the sections that have an entry with every word of the search, each with those entries."""
    found = ((section, section.matches(params.find)) for section in sections.sections())
    return tuple((section, lines) for section, lines in found if lines)


def page() -> None:
    """Draw a search box, one clickable equation and the closed sections; during a search, its results."""
    page_parts.title(PAGE, lesson_only=True)
    params = Params(
        controls.text(
            _("Find a name"), FIND, "", quiet=True, placeholder=_("Find a name: query, p, layer norm, ResNet")
        ).strip()
    )
    if params.find:
        _draw_results(params)
        return
    equations.show("self.matrix", "names.")
    for section, lines in compute(params):
        with page_parts.fold(f"{section.title} ({_many(section)})", f"names.{section.slug}") as fold:
            if fold.open:
                _section(section, lines)
    page_parts.sources_fold(PAGE)


def _many(section: Section) -> str:
    return (
        ", ".join(letter.letter for letter in LETTERS)
        if section.slug == "letters"
        else str(len(section.lines))
    )


def _draw_results(params: Params) -> None:
    """Draw all entries that contain the words, section by section."""
    groups = compute(params)
    words = shorten(params.find, 60)
    total = sum(len(lines) for _section, lines in groups)
    page_parts.summary(
        ngettext("{n} entry contains “{words}”.", "{n} entries contain “{words}”.", total, words=words)
        if total
        else _("No entry contains “{words}”. Try one word, or a letter as it is in a formula.", words=words)
    )
    for section, lines in groups:
        st.header(section.title, anchor=False)
        (_dense if section.dense else _lines)(lines[:MOST])
        if len(lines) > MOST:
            st.caption(_("And {n} more: add a word to the search.", n=len(lines) - MOST))


def _section(section: Section, lines: tuple[Line, ...]) -> None:
    st.markdown(f":gray[{literal(section.says)}]")
    if section.slug == "letters":
        _letters(lines)
    else:
        (_dense if section.dense else _lines)(lines)


def _letters(lines: tuple[Line, ...]) -> None:
    """Draw a card for each letter, two side by side."""
    columns = st.columns(2, gap="medium")
    for place, letter in enumerate(dict.fromkeys(line.head for line in lines)):
        with columns[place % 2], st.container(border=True, gap="small"):
            st.header(f"*{letter}*", anchor=False)
            for line in lines:
                if line.head == letter:
                    st.markdown(f"{literal(line.says)}  \n:gray[:small[{literal(line.note)}]]")


def _dense(lines: tuple[Line, ...]) -> None:
    """Draw one paragraph per entry: symbol or name, its meaning, a small note."""
    with st.container(border=True, gap="small"):
        for line in lines:
            first = f"${line.symbol}$" if line.symbol else f"**{literal(line.head)}.**"
            st.markdown(f"{first}   {literal(line.says)} :gray[:small[{literal(line.note)}]]")


def _lines(lines: tuple[Line, ...]) -> None:
    """Draw one row per entry; on a phone name and symbol are above the sentence."""
    titles = {entry.slug: entry.info.title for entry in pages.discover()}
    with st.container(border=True, gap="small"):
        for line in lines:
            with st.container(horizontal=True, gap="small"):
                st.markdown(
                    f"`{line.head}`" if line.code else f"**{literal(line.head)}**",
                    width=165 if line.symbol else 240,
                )
                if line.symbol:
                    st.markdown(f"${line.symbol}$", width=140)
                with st.container(width=640, gap=None):
                    st.markdown(
                        f"{literal(line.says)} :gray[:small[{literal(line.note)}]]"
                        if line.note
                        else literal(line.says)
                    )
                    if line.near:
                        links.page_link(line.near, _("Nearest page: {title}", title=titles[line.near]))
