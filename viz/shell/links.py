"""Links from page to page. The frame registers the pages; the selection on screen goes along in the link."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import streamlit as st

from viz.shell import pages, state

_PAGES = "atlas.pages"


def register_pages(streamlit_pages: dict[str, Any]) -> None:
    """Store the Streamlit pages by slug, for the links; in the session, because a fragment runs without the frame."""
    st.session_state[_PAGES] = streamlit_pages


def page_link(slug: str, label: str, *, icon: str | None = None, **values: object) -> None:
    """Draw a link to another page: the selection on screen goes along, with `values` (such as another model, or a head) in its place."""
    query = state.carried_params(
        pages.takes_selection(slug), {name: str(value) for name, value in values.items()}
    )
    page = st.session_state.get(_PAGES, {}).get(slug)
    if page is None:  # a page that is drawn on its own, in a test or a notebook
        st.markdown(f"[{label}](/{slug}{'?' if query else ''}{urlencode(query)})", width="content")
        return
    st.page_link(page, label=label, icon=icon, query_params=query, width="content")


def open_page(slug: str, query: dict[str, str]) -> None:
    """Go to another page, as a link would, with this query and nothing else; this run ends."""
    page = st.session_state.get(_PAGES, {}).get(slug)
    if page is not None:
        st.switch_page(page, query_params=query)
