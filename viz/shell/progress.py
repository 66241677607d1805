"""What this visitor has seen of the course, in this session: for the ticks and "Continue" of the course page."""

from __future__ import annotations

import streamlit as st

from viz.shell import pages
from viz.shell.pages import Entry

_SEEN = "course.seen"  # the slugs of the exhibits that were opened, the last one last


def note(slug: str) -> None:
    """This exhibit is open now."""
    st.session_state[_SEEN] = [*(other for other in seen() if other != slug), slug]


def seen() -> tuple[str, ...]:
    """The exhibits that were opened, the last one last."""
    return tuple(st.session_state.get(_SEEN, ()))


def latest() -> Entry | None:
    """Where to go on: the exhibit that was open last, or the first of the course."""
    course = {entry.slug: entry for entry in pages.exhibits()}
    opened = [course[slug] for slug in seen() if slug in course]
    return (opened or list(course.values())[:1] or [None])[-1 if opened else 0]
