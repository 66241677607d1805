"""The picture frame: page settings, navigation from what `viz.shell.pages` finds, run the page inside the error boundary."""

import streamlit as st

from viz.shell import links, menu


def main() -> None:
    """Settings, navigation, page."""
    st.logo(menu.icon())
    links.know(menu.shared())
    shown = st.navigation(menu.sections(), position="top")
    st.set_page_config(
        f"{shown.title.partition(':')[0]} · Attention Atlas",
        menu.icon(),
        layout="wide",
        initial_sidebar_state="collapsed",
    )
    shown.run()


main()
