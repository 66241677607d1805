"""Uses and risks: the applications of BERT and GPT that the sources name, each with its paper and a page where its mechanism runs."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from viz.labels import literal
from viz.languages import _
from viz.shell import links, pages
from viz.shell.pages import Cite, Page
from viz.widgets import page_parts

PAGE = Page(
    title="Uses and risks",
    order=75,
    menu="course",
    claim="The applications and risks that the sources name, each with its paper and the page here that shows its mechanism.",
    cites=(
        Cite("ghojogh2023", "GPT", "applications of GPT-2 and GPT-3, risks, memorization"),
        Cite("ghojogh2020", "section 5", "the same"),
        Cite("beigy2024", "GPT-2", "zero-shot, which BERT lacks"),
    ),
)


@dataclass(frozen=True)
class Params:
    """Nothing is chosen here."""


@dataclass(frozen=True)
class Card:
    """A use or a risk: its group, its title, a sentence, the paper and who names it; where its mechanism is shown, and with which link."""

    group: str
    title: str
    text: str
    paper: str
    page: str
    link: str
    query: dict[str, str]


CARDS = tuple(
    Card(**card) for card in tomllib.loads(Path(__file__).with_name("cards.toml").read_text("utf-8"))["cards"]
)


def compute(params: Params = Params()) -> tuple[Card, ...]:
    """Return the cards in the order of the page."""
    return CARDS


def page() -> None:
    """Draw the cards by group, two side by side."""
    page_parts.title(PAGE, lesson_only=True)
    titles = {entry.slug: entry.info.title for entry in pages.discover()}
    for group in dict.fromkeys(card.group for card in CARDS):
        st.header(_(group), anchor=False)
        for card, column in zip(
            cards := [card for card in CARDS if card.group == group],
            [column for _row in range(0, len(cards), 2) for column in st.columns(2, gap="medium")],
            strict=False,
        ):
            with column, st.container(border=True, gap="small"):
                st.markdown(f"**{literal(_(card.title))}**")
                st.text(_(card.text))
                st.caption(literal(_(card.paper)))
                links.page_link(card.page, f"{_(card.link)}: {titles[card.page]}", **card.query)
    page_parts.sources_fold(PAGE)
