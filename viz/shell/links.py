"""Links from page to page. The frame says which pages there are; what travels goes along in the link."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import streamlit as st

from viz.shell import pages, state

_PAGES = "atlas.pages"


def know(streamlit_pages: dict[str, Any]) -> None:
    """Called by the frame: the Streamlit pages by slug. Kept in the session, because a fragment runs without the frame."""
    st.session_state[_PAGES] = streamlit_pages


def to(slug: str, label: str, *, icon: str | None = None, **values: object) -> None:
    """A link to another page: what is on screen goes along whole, with `values` (such as another model, or a head) in its place."""
    query = state.travelling(pages.whole(slug), {name: str(value) for name, value in values.items()})
    page = st.session_state.get(_PAGES, {}).get(slug)
    if page is None:  # a page that is drawn on its own, in a test or a notebook
        st.markdown(f"[{label}](/{slug}{'?' if query else ''}{urlencode(query)})", width="content")
        return
    st.page_link(page, label=label, icon=icon, query_params=query, width="content")


def follow(slug: str, query: dict[str, str]) -> None:
    """Go to another page, as a link would, with this query and nothing else; this run ends."""
    page = st.session_state.get(_PAGES, {}).get(slug)
    if page is not None:
        st.switch_page(page, query_params=query)
