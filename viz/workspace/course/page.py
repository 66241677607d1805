"""The course: the way to continue, and its chapters, each with its claim and its exhibits."""

from __future__ import annotations

import base64
import functools
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import streamlit as st

from viz import theme
from viz.charts import thumbs
from viz.labels import literal
from viz.languages import _, ngettext
from viz.shell import links, pages, progress
from viz.shell.pages import Chapter, Entry, ExhibitInfo, Page
from viz.widgets import engine_client, page_parts
from viz.workspace.course.page_cards import PAGES, PageCard

PAGE = Page(
    title="Course",
    order=20,
    menu="top",
    claim="Every exhibit runs a real model or the real arithmetic: change something and watch the numbers.",
)

Picture = Callable[[str, Callable[[], str]], str]
"""Returns the drawing of that name."""


@dataclass(frozen=True)
class Params:
    """The course has no knobs."""


def compute(_: Params = Params()) -> tuple[tuple[Chapter, tuple[Entry, ...]], ...]:
    """Return the chapters in order, with their exhibits."""
    return tuple((chapter, pages.exhibits(chapter)) for chapter in Chapter)


def page() -> None:
    """Draw the way to continue, then a card for each chapter: its claim, its exhibits, the pages of the workspace that belong to it."""
    page_parts.title(PAGE, lesson_only=True)
    with engine_client.many() as submit:
        draw = partial(_picture, submit)
        _go_on(progress.last_exhibit(), draw)
        for chapter, entries in compute():
            _chapter(chapter, entries, draw)
    _reference_pages()
    _stays()
    progress.sync_with_browser()


def _reference_pages() -> None:
    """Draw the links to the pages for readers of a paper or a script."""
    with st.container(border=True, key="course-beside"):
        st.header(_("Beside the course"), anchor=False)
        for entry in pages.workspace():
            if entry.info.menu == "course":  # type: ignore[union-attr]
                page_parts.page_row(entry, entry.info.claim)


def _stays() -> None:
    """Say what of the visitor's is kept, and where; the button takes it back."""
    if not progress.opened_exhibits():
        return
    answered, right = progress.score()
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key="course-progress"):
        st.markdown(
            _(
                ":gray[:small[{opened} of {total} exhibits opened, {right} of {answered} answers right. This is kept in your browser only.]]",
                opened=len(progress.opened_exhibits()),
                total=len(pages.exhibits()),
                right=right,
                answered=answered,
            ),
            width="content",
        )
        st.button(
            _("Forget my progress"),
            type="tertiary",
            icon=":material/delete:",
            on_click=progress.forget_progress,
        )


def _go_on(entry: Entry | None, picture: Picture) -> None:
    if entry is None:
        return
    begun, step = entry.slug in progress.opened_exhibits(), _step(entry)
    with (
        st.container(border=True, key="course-on"),
        st.container(horizontal=True, vertical_alignment="center", gap="large"),
    ):
        st.image(picture(entry.slug, _drawing(entry)), width=thumbs.WIDE, alt="")
        with st.container(width="stretch", gap="small"):
            st.markdown(
                f":gray[{_('Continue') if begun else _('Begin here')}]"
                + (f" :gray[{literal(step)}]" if begun and step else "")
            )
            at = progress.last_step(entry.slug)
            links.page_link(
                entry.slug,
                f"**{literal(entry.info.title)}**  →",
                **({f"{entry.slug}.step": at} if at else {}),
            )
            st.markdown(entry.info.claim)


def _chapter(chapter: Chapter, entries: tuple[Entry, ...], picture: Picture) -> None:
    opened, beside = progress.opened_exhibits(), PAGES[chapter]
    with st.container(border=True, key=f"course-{chapter.number}"):
        with st.container(horizontal=True, vertical_alignment="bottom", horizontal_alignment="distribute"):
            st.header(chapter.title, anchor=False, width="content")
            if entries:
                st.markdown(f":gray[:small[{_summary(entries, opened)}]]", width="content")
        st.markdown(f":gray[{chapter.claim}]")
        with st.container(horizontal=True, gap="medium", key=f"course-tiles-{chapter.number}"):
            for entry in entries:
                note = _minutes(entry, entry.slug in opened)
                _tile(entry.slug, entry.info.title, note, picture(entry.slug, _drawing(entry)))
            for other in beside:
                if other.draw:
                    drawing = picture(f"{chapter.number}-{other.slug}", other.draw)
                    _tile(other.slug, _(other.title), "", drawing, **other.link)
        if quiet := [other for other in beside if not other.draw]:
            _also(quiet)


def _summary(entries: tuple[Entry, ...], opened: tuple[str, ...]) -> str:
    minutes = sum(entry.info.minutes for entry in entries if isinstance(entry.info, ExhibitInfo))
    visited = sum(entry.slug in opened for entry in entries)
    count = ngettext("1 exhibit", "{n} exhibits", len(entries))
    seen = ngettext(", {n} visited", ", {n} visited", visited) if visited else ""
    return f"{count}, {minutes} min{seen}"


def _minutes(entry: Entry, opened: bool) -> str:
    return f"{getattr(entry.info, 'minutes', 5)} min" + (" :material/check:" if opened else "")


def _tile(slug: str, title: str, note: str, picture: str, **link: str) -> None:
    """Draw a link that holds a picture (an SVG), and a name below it."""
    words = f"{literal(title)} :gray[:small[{note}]]" if note else literal(title)
    links.page_link(slug, f"![]({_image_address(picture)}) {words}", **link)


@functools.lru_cache(maxsize=256)
def _image_address(svg: str) -> str:
    """Return an address that holds the drawing itself."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def _also(others: list[PageCard]) -> None:
    with st.container(horizontal=True, gap="medium", vertical_alignment="center"):
        st.markdown(_(":gray[:small[Also in the workspace]]"), width="content")
        for other in others:
            links.page_link(other.slug, literal(_(other.title)), **other.link)


def _picture(submit: Callable[..., str], name: str, draw: Callable[[], str]) -> str:
    """Return a drawing in the visitor's colours; it says nothing that its name does not say."""
    drawing = submit(*_drawing_job(name, draw))
    return theme.svg_in_dark(drawing) if st.context.theme.type == "dark" else drawing


def drawing_job(entry: Entry) -> tuple[tuple[str, ...], Callable[[], str], float]:
    """Return the drawing of an exhibit as the arguments of `viz.widgets.engine_client.submit`."""
    return _drawing_job(entry.slug, _drawing(entry))


def _drawing_job(name: str, draw: Callable[[], str]) -> tuple[tuple[str, ...], Callable[[], str], float]:
    return ("course", name, draw.__module__, draw.__qualname__), lambda: _safely(name, draw), 50


def _safely(name: str, draw: Callable[[], str]) -> str:
    try:
        return draw()
    except Exception:  # a damaged model takes away its picture, not the course
        logging.getLogger("atlas").exception("no picture of %s", name)
        return thumbs.plain("")


def _drawing(entry: Entry) -> Callable[[], str]:
    """Return the function that draws an exhibit's own picture, or its number in the course."""
    own = getattr(entry.module, "thumbnail", None)
    if own:
        return own
    chapter = entry.info.chapter  # type: ignore[union-attr]
    number = f"{chapter.number}.{pages.exhibits(chapter).index(entry) + 1}"
    return lambda: thumbs.plain(number)


def _step(entry: Entry) -> str:
    """Name the step of the exhibit where the visitor is: "at step 2 of 4, Scores"."""
    steps, at = entry.steps, progress.last_step(entry.slug)
    if not at.isdecimal() or not 0 < int(at) <= len(steps):
        return ""
    return _("at step {n} of {total}, {name}", n=at, total=len(steps), name=steps[int(at) - 1])
