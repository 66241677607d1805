"""The picture frame: page settings, navigation from what `viz.shell.pages` finds, run the page inside the error boundary."""

import streamlit as st

from viz import menu
from viz.shell import language, links


def main() -> None:
    """Register the pages, draw the navigation and run the page on screen."""
    language.begin()
    st.logo(menu.icon())
    links.register_pages(menu.shared_pages())
    shown = st.navigation(menu.sections(), position="top")
    st.set_page_config(
        f"{shown.title.partition(':')[0]} · Attention Atlas",
        menu.icon(),
        layout="wide",
        initial_sidebar_state="collapsed",
    )
    shown.run()


main()
