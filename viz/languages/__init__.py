"""Languages of the screen: English is in the source and is the key; every other language is a catalogue of gettext beside this file.

How a string reaches the screen. Code writes `_("The text has {n:,} letters.", n=count)` or `ngettext("1 step", "{n} steps", count)`,
imported from here and called when the page is drawn, never while a module is imported: a constant of a module is marked
(`LABELS = {"a": mark("Above")}`) and translated where it is used (`_(LABELS["a"])`). The language belongs to the visitor's session:
`viz.shell.language` reads it from the link (`?lang=es`), keeps it there from page to page, and calls `use` at the beginning of each
run, so a look-up reads one variable of the thread and, in English, returns its argument. `viz.memo` keeps what was made in each
language apart. The texts of exhibits are files, `text.es.md` beside `text.md` (`viz.exhibit_text`); scripts get the words of their
component with its data (`script_words`). An error keeps its parts and values, and is worded when it is read (`core.errors`). Numbers follow the language where they are filled in here or written by
`viz.number_text`. What is not translated yet stays English.

`python -m viz.languages extract` brings the catalogues (`es/`, a file for each package) up to date with the source, `compile` writes
the files that are read here (`es.mo`); both need Babel. `?lang=qps` is a language made from the English at once, accented, in brackets
and a third longer: what looks plain there is not translated, and what is cut there is too narrow.
"""

from __future__ import annotations

import functools
import gettext
import string
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from core import errors
from viz.languages import pseudo

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Language:
    """A language: its code as in `lang` of HTML, its name in itself, where its lines begin, its marks in numbers.

    >>> LANGUAGES["es"].write_number("12,345.6%")
    '12\u202f345.6\u202f%'
    """

    code: str
    name: str
    direction: Literal["ltr", "rtl"] = "ltr"
    decimal: str = "."
    group: str = ","
    percent: str = "%"
    hidden: bool = False
    """Whether no menu offers it."""

    def write_number(self, english: str) -> str:
        """Return a number, written in the English way, with the marks of this language."""
        return english.translate(self._marks)

    @functools.cached_property
    def of_charts(self) -> dict[str, Any]:
        """Return the marks as charts of Vega-Lite and Plotly take them (d3-format); nothing where they are those of English."""
        if self is ENGLISH:
            return {}
        marks = {"decimal": self.decimal, "thousands": self.group, "percent": self.percent}
        return marks | {"grouping": [3], "currency": ["$", ""]}

    @functools.cached_property
    def _marks(self) -> dict[int, str]:
        return str.maketrans({".": self.decimal, ",": self.group, "%": self.percent})


ENGLISH = Language("en", "English")
LANGUAGES = {
    language.code: language
    for language in (
        ENGLISH,
        # the Ortografía of 2010 recommends the point, which half of the countries write; a comma between thousands would be read as one
        Language("es", "Español", group="\u202f", percent="\u202f%"),
        Language("qps", "Pseudo", decimal=",", group="\u2019", percent="\u202f%", hidden=True),
    )
}
"""The languages by their codes, English first."""
_language: ContextVar[Language] = ContextVar("language", default=ENGLISH)


def current() -> Language:
    """Return the language in which this thread draws."""
    return _language.get()


def use(code: str) -> None:
    """Draw in this language from here on, in this thread; in English for a code that is unknown."""
    _language.set(LANGUAGES.get(code, ENGLISH))


@contextmanager
def using(code: str) -> Iterator[None]:
    """Draw in this language inside the context.

    >>> with using("es"): _("Course")
    'Curso'
    """
    token = _language.set(LANGUAGES.get(code, ENGLISH))
    try:
        yield
    finally:
        _language.reset(token)


def preferred(header: str) -> str:
    """Return the code of the language that a header Accept-Language asks for first among those that we have.

    >>> preferred("de-DE,es-MX;q=0.8,en;q=0.5"), preferred("fr"), preferred("en,es;q=0.9")
    ('es', 'en', 'en')
    """
    wishes = []
    for place, wish in enumerate(header.split(",")[:20]):
        tag, _sign, weight = wish.strip().partition(";q=")
        share = float(weight) if weight.replace(".", "", 1).isdecimal() else 1.0
        wishes.append((-share, place, tag.partition("-")[0].lower()))
    codes = (code for _share, _place, code in sorted(wishes))
    return next((code for code in codes if code in LANGUAGES and not LANGUAGES[code].hidden), ENGLISH.code)


def _(message: str, /, **values: Any) -> str:
    """Return a message in the language of this thread, its `{names}` replaced by the values.

    >>> _("It has {n:,} at most.", n=4000)
    'It has 4,000 at most.'
    """
    language = _language.get()
    if language is ENGLISH:
        return message.format(**values) if values else message
    text = catalogue(language.code).gettext(message) if message else message
    return _fill(language, text, values) if values else text


def ngettext(one: str, many: str, n: int, /, **values: Any) -> str:
    """Return the form of a message for a number of things, which is `{n}` in it.

    >>> ngettext("{n} step", "{n} steps", 1), ngettext("{n} step", "{n} steps", 1200), ngettext("{n:,} step", "{n:,} steps", 1200)
    ('1 step', '1200 steps', '1,200 steps')
    """
    language = _language.get()
    if language is ENGLISH:
        return (one if n == 1 else many).format(n=n, **values)
    return _fill(language, catalogue(language.code).ngettext(one, many, n), {"n": n} | values)


def mark(message: str) -> str:
    """Return a message as it is, marked for the catalogues: it is translated where it is used."""
    return message


def write_number(english: str) -> str:
    """Return a number, written in the English way, with the marks of the language of this thread."""
    language = _language.get()
    return english if language is ENGLISH else language.write_number(english)


errors.language = _


@functools.cache
def catalogue(code: str) -> gettext.NullTranslations:
    """Return the messages of a language."""
    if code == pseudo.CODE:
        return pseudo.PseudoTranslations()
    file = FOLDER / f"{code}.mo"
    if not file.exists():
        return gettext.NullTranslations()
    with file.open("rb") as compiled:
        return gettext.GNUTranslations(compiled)


class _NumberFormatter(string.Formatter):
    """`str.format` with the marks of a language in its numbers."""

    def __init__(self, language: Language) -> None:
        self.language = language

    def format_field(self, value: Any, format_spec: str) -> str:
        text = super().format_field(value, format_spec)
        is_number = isinstance(value, float) or "," in format_spec
        return self.language.write_number(text) if is_number else text


def _fill(language: Language, text: str, values: dict[str, Any]) -> str:
    return _NumberFormatter(language).format(text, **values)
