"""The visitor's language: chosen in the link (`lang=es`), it goes along from page to page; English where none is chosen."""

from __future__ import annotations

import streamlit as st

from viz import languages
from viz.languages import ENGLISH, LANGUAGES, Language
from viz.shell import state

NAME = "lang"


def begin() -> None:
    """Draw in the visitor's language from here on: at the beginning of a page, and of a part of it that is drawn again."""
    languages.use(state.peek(NAME) or ENGLISH.code)


def require_known() -> None:
    """Say so on the page where the link names a language that there is not."""
    state.read(NAME, ENGLISH.code, state.one_of(tuple(LANGUAGES), ENGLISH.code))


def choices() -> tuple[Language, ...]:
    """Return the languages to choose from, and the one that is chosen."""
    return tuple(each for each in LANGUAGES.values() if not each.hidden or each is languages.current())


def draw_suggestion() -> None:
    """Draw a button for the browser's language, where there is one and nothing is chosen; in another language one for English."""
    now = languages.current()
    wanted = ENGLISH if now is not ENGLISH else LANGUAGES.get(str(st.context.locale or "").partition("-")[0])
    if wanted is None or wanted.hidden or wanted is now or (now is ENGLISH and state.peek(NAME)):
        return
    st.button(
        wanted.name,
        key="atlas.language",
        type="tertiary",
        icon=":material/language:",
        on_click=_choose,
        args=(wanted.code,),
    )


def _choose(code: str) -> None:
    state.write(**{NAME: code})
