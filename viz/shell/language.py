"""The visitor's language: chosen in the link (`lang=es`), it goes along from page to page; English where none is chosen."""

from __future__ import annotations

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
