"""By document: which section, equation or figure is shown by which page; made from the pages' own citations."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from viz import pages
from viz.pages import Cite, Entry, Page
from viz.sources import SOURCES, Source
from viz.ui import parts

PAGE = Page(title="By document", order=60, menu="more",
            claim="You have the slides or the paper open: find the page that runs what you are reading.")


@dataclass(frozen=True)
class Params:
    """Nothing to choose: the list is made from the citations."""


def compute(_: Params = Params()) -> tuple[tuple[Source, tuple[tuple[Cite, Entry], ...]], ...]:
    """Each cited document in the order of `viz.sources`, with its places and the pages that show them."""
    rows = [(cite, entry) for entry in pages.discover() for cite in entry.info.cites]
    return tuple(
        (source, tuple(row for row in rows if row[0].document == key))
        for key, source in SOURCES.items()
        if any(row[0].document == key for row in rows)
    )


def page() -> None:
    """The teaching documents first, then the papers behind them."""
    parts.title(PAGE, still=True)
    groups = compute()
    for heading, teaching in (("Teaching documents", True), ("Papers", False)):
        if chosen := [group for group in groups if group[0].teaching is teaching]:
            st.subheader(heading, anchor=False)
            for source, rows in chosen:
                _document(source, rows)


def _document(source: Source, rows: tuple[tuple[Cite, Entry], ...]) -> None:
    with st.container(border=True):
        left, right = st.columns([2, 3], gap="medium")
        left.markdown(f"**{source.authors}, {source.year}.** {source.title}  \n:gray[{source.where}]")
        for cite, entry in rows:
            with right:
                parts.line(entry, ", ".join(part for part in (cite.section, cite.item) if part))
