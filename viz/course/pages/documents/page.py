"""By document: which section, equation or figure is shown by which page; made from the pages' own citations."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

import streamlit as st

from viz.course.equations import EQUATIONS
from viz.course.pages.documents import citations
from viz.labels import literal
from viz.languages import _, mark
from viz.shell import links, pages
from viz.shell.pages import Cite, Entry, Page
from viz.sources import SOURCES, Source
from viz.widgets import controls, page_parts

PAGE = Page(
    title="By source",
    order=60,
    menu="course",
    claim="You have the slides or the paper open: find the page that runs what you are reading.",
)
DOCUMENT_KEY = "documents.which"
PART, PARTS = "documents.part", {"equations": mark("Equations"), "sections": mark("Sections and figures")}
PAPERS = "papers"


@dataclass(frozen=True)
class Params:
    """Settings: the displayed document, by its key, or all papers."""

    document: str = "ghojogh2020"


Rows = tuple[tuple[Cite, Entry], ...]


@functools.cache
def compute(_: Params = Params()) -> tuple[tuple[Source, Rows], ...]:
    """Return each cited document in the order of `viz.sources`, with its places and the pages that show them."""
    rows = [(cite, entry) for entry in pages.discover() for cite in entry.info.cites]
    return tuple(
        (source, tuple(row for row in rows if row[0].document == key))
        for key, source in SOURCES.items()
        if any(row[0].document == key for row in rows)
    )


@functools.lru_cache(8)
def by_equation(document: str, rows: Rows) -> tuple[tuple[int, str, Rows], ...]:
    """Return every numbered equation of a document: number, title, and the citations that name it."""
    found = {
        number: [row for row in rows if number in citations.equations(row[0].item)]
        for number in citations.NUMBERED[document]
    }
    return tuple(
        (number, _titles(document, number), tuple(found[number])) for number in citations.NUMBERED[document]
    )


def page() -> None:
    """Choose a document; its numbered equations, or its sections and figures, each with the page that runs it."""
    page_parts.title(PAGE, lesson_only=True)
    groups = compute()
    teaching = {_key(rows): (source, rows) for source, rows in groups if source.teaching}
    names = {key: source.label for key, (source, _rows) in teaching.items()} | {PAPERS: _("Papers")}
    which = controls.pills(
        _("Source"),
        names,
        DOCUMENT_KEY,
        Params().document if Params().document in names else PAPERS,
        names.__getitem__,
        quiet=True,
    )
    if which == PAPERS:
        for source, rows in groups:
            if not source.teaching:
                _document(source, rows)
        return
    source, rows = teaching[which]
    st.markdown(f"**{source.authors}, {source.year}.** {source.title}  \n:gray[{source.where}]")
    if (
        which in citations.NUMBERED
        and controls.segmented(
            _("Which sections"), PARTS, PART, "equations", lambda part: _(PARTS[part]), quiet=True
        )
        == "equations"
    ):
        return _equations(which, rows)
    with st.container(border=True):
        for cite, entry in sorted(rows, key=lambda row: _order(row[0])):
            _row(cite.section, cite.item, ((cite, entry),))


def _equations(document: str, rows: Rows) -> None:
    listed = by_equation(document, rows)
    with st.container(border=True):
        for number, title, found in listed:
            if found:
                _row(f"({number})", title, found)
    if missing := [number for number, _title, found in listed if not found]:
        st.caption(_("Not on a page of their own yet: {numbers}.", numbers=runs(missing)))
    st.caption(
        _(
            "From (26) on the survey's numbers are one higher than those of the slides of 2023: the slides give mean and deviation of layer norm one number, (25)."
        )
    )


def runs(numbers: list[int]) -> str:
    """Return numbers as the documents write them, neighbours joined.

    >>> runs([1, 6, 7, 8, 23])
    '(1), (6)-(8), (23)'
    """
    starts = [number for number in numbers if number - 1 not in numbers]
    ends = [number for number in numbers if number + 1 not in numbers]
    return ", ".join(f"({a})" if a == b else f"({a})-({b})" for a, b in zip(starts, ends, strict=True))


def _row(place: str, about: str, citations_of_row: Rows) -> None:
    """Draw one row: the place in the document, its subject, and the pages as links; a page that cites it twice is one link."""
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.markdown(f"**{literal(place)}**", width=70 if place.startswith("(") else 300)
        st.markdown(literal(about), width=330)
        for slug, (cite, entry) in {entry.slug: (cite, entry) for cite, entry in citations_of_row}.items():
            links.page_link(
                slug,
                _("{title}, step {n}", title=literal(entry.info.title), n=cite.step)
                if cite.step
                else literal(entry.info.title),
                **page_parts.step_params(slug, cite.step),
            )


def _document(source: Source, rows: Rows) -> None:
    with st.container(border=True):
        left, right = st.columns([2, 3], gap="medium")
        left.markdown(f"**{source.authors}, {source.year}.** {source.title}  \n:gray[{source.where}]")
        for cite, entry in rows:
            with right:
                page_parts.page_row(
                    entry,
                    literal(", ".join(part for part in (cite.section, cite.item) if part)),
                    step=cite.step,
                )


def _titles(document: str, number: int) -> str:
    """Return the title of the equation of that number; both where the slides give two of them one number."""
    return "; ".join(
        dict.fromkeys(
            equation.title
            for equation in EQUATIONS.values()
            if {"ghojogh2020", "ghojogh2023"} <= {at for at, *_ in equation.where}
            for at, _, item in equation.where
            if at == document and item == f"Eq. ({number})"
        )
    )


def _key(rows: Rows) -> str:
    return rows[0][0].document


def _order(cite: Cite) -> tuple[float, ...]:
    """Return a sort key: the section number if there is one, then the equation."""
    numbers = tuple(float(number) for number in re.findall(r"\d+", cite.section)) or (99.0,)
    return (*numbers, float(min(citations.equations(cite.item), default=99)))
