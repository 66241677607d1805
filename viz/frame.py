"""The picture frame: page settings, navigation from what `viz.shell.pages` finds, run the page inside the error boundary."""

import functools
from pathlib import Path

import streamlit as st

from viz.shell import errors, links, pages, state
from viz.shell.lessons import walking
from viz.shell.room_bar import bar
from viz.shell.stage import stage

MENUS = {"top": "", "lab": "Lab", "more": "More"}  # of the top bar; others are reached from the course
FAVICON = str(Path(__file__).parent / "static" / "favicon.svg")


def framed(entry: pages.Entry) -> None:
    """Draw one page inside the error boundary, with the state of this visit."""
    with (
        errors.guard(),
        state.visit(entry.slug, entry.whole),
        st.container(horizontal_alignment="center"),
        st.container(width=1120, key="atlas-page"),
        walking.along(entry),
        stage.around(entry),
        bar.around(entry),
        walking.around(entry),
        errors.guard(),
    ):
        entry.page()


def main() -> None:
    """Settings, navigation, page."""
    st.logo(FAVICON)
    menu, known = {name: [] for name in MENUS.values()}, {}
    for entry in pages.discover():
        where = getattr(entry.info, "menu", "course")
        known[entry.slug] = st.Page(
            functools.partial(framed, entry),
            title=getattr(entry.info, "called", entry.info.title),
            url_path=entry.slug,
            default=entry.slug == pages.HOME,
            visibility="visible" if where in MENUS else "hidden",
        )
        menu[MENUS.get(where, "")].append(known[entry.slug])
    links.know(known)
    shown = st.navigation({name: found for name, found in menu.items() if found}, position="top")
    st.set_page_config(
        f"{shown.title.partition(':')[0]} · Attention Atlas",
        FAVICON,
        layout="wide",
        initial_sidebar_state="collapsed",
    )
    shown.run()


main()
