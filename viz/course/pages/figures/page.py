"""Figures of papers: well-known pictures of attention drawn from the models here, each with the link that opens it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

import streamlit as st

from viz import theme
from viz.course.pages.figures.drawings import WIDE
from viz.course.pages.figures.papers import FIGURES, PaperFigure
from viz.labels import literal
from viz.languages import _
from viz.shell import errors, links, pages, state
from viz.shell.pages import Cite, Page
from viz.widgets import controls, engine_client, page_parts

PAGE = Page(
    title="Figures of papers",
    order=62,
    menu="course",
    claim="Eight well-known figures, drawn from the models here; each link opens its picture, to touch and change.",
    cites=(
        Cite("bahdanau2015", "Figure 3", "alignments of a translation"),
        Cite("vaswani2017", "Figures 3 to 5", "heads of an encoder"),
        Cite("clark2019", "Figures 2 and 6", "attention to special tokens; a map of all heads"),
        Cite("olsson2022", "Argument 1", "the phase change of induction heads"),
        Cite("xiao2024", "Figure 2", "attention sinks"),
    ),
)
FIGURE = "figures.figure"


@dataclass(frozen=True)
class Params:
    """The figure that is shown in Present, by its name."""

    figure: str = "alignment"


def compute(params: Params = Params()) -> PaperFigure:
    """Compute one figure from runs of the models; the engine stores it."""
    return FIGURES[params.figure].draw(engine_client.open)


def page() -> None:
    """Draw all figures, two side by side; in Present one of them, by choice."""
    page_parts.title(PAGE, lesson_only=True)
    figures = {}
    with engine_client.many() as submit:
        for name in FIGURES:
            with errors.guard():
                figures[name] = submit(
                    *engine_client.per_language(("figure of a paper", name), partial(compute, Params(name))),
                    300,
                )
    if state.presenting():
        name = controls.pills(
            _("Figure"), figures, FIGURE, next(iter(figures)), lambda name: figures[name].title, quiet=True
        )
        _in_present(name, figures[name])
        return
    names = list(figures)
    for first in range(0, len(names), 2):
        for name, column in zip(names[first : first + 2], st.columns(2, gap="medium"), strict=False):
            with column, st.container(border=True, gap="small", height="stretch"):
                _figure(name, figures[name])
    page_parts.sources_fold(PAGE)


def _figure(name: str, figure: PaperFigure) -> None:
    """Draw a figure, its sentence, how it differs from the paper, its source and its link."""
    st.header(figure.title, anchor=False)
    _drawing(figure, WIDE)
    st.text(figure.result)
    with page_parts.fold(_("Beside the paper"), f"figures.{name}") as fold:
        if fold.open:
            st.markdown(_("**The paper.** {text}", text=literal(figure.paper)))
            st.markdown(_("**Different here.** {text}", text=literal(figure.difference)))
    _source(name, figure)


def _in_present(name: str, figure: PaperFigure) -> None:
    """Draw one figure large, with its sentences beside it."""
    left, right = st.columns(2, gap="medium")
    with left:
        _drawing(figure, "stretch")
    with right:
        st.text(figure.result)
        _source(name, figure)


def _drawing(figure: PaperFigure, width: int | Literal["stretch"]) -> None:
    st.image(
        theme.svg_in_dark(figure.svg) if st.context.theme.type == "dark" else figure.svg,
        width=width,
        alt=_(
            "{title}, as in {number} of {source}. {result}",
            title=figure.title,
            number=figure.number,
            source=figure.source.label,
            result=figure.result,
        ),
    )


def _source(name: str, figure: PaperFigure) -> None:
    opening = FIGURES[name]
    st.caption(literal(_("{number} of {source}", number=figure.number, source=figure.source.reference())))
    links.page_link(
        opening.page, _("Open it in {page}", page=pages.find(opening.page).info.title), **opening.query
    )
