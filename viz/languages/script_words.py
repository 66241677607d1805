"""Words of components: what their HTML and their scripts show, translated and sent with their data.

A script says `say("Next")` for a text of its own, and calls `speak(parentElement, data.words)` first, which translates the texts of
its HTML (words.js, joined before it, or imported by a page of its own). In English nothing is sent. A page that is written as a file has
its HTML `translated` here.
"""

from __future__ import annotations

import html
import re
from pathlib import Path

from viz.languages import ENGLISH, _, current, extract

SCRIPT = Path(__file__).with_name("words.js")
_BEFORE = "|".join(f'(?<= {name}=")' for name in extract.ATTRIBUTES)
_TEXTS = re.compile(rf'(?<=>)[^<>]+(?=<)|(?:{_BEFORE})[^"<>]+(?=")')
"""Texts between tags, and the attributes that are shown."""


def joined(*scripts: Path) -> str:
    """Return the text of scripts with `say` and `speak` before them."""
    return "\n".join(file.read_text("utf-8") for file in (SCRIPT, *scripts))


class ScriptWords:
    """The words of one component.

    >>> words = ScriptWords('<button title="Back to the opening state">Start over</button>')
    >>> words.data(), words.messages
    ({}, ('Back to the opening state', 'Start over'))
    """

    def __init__(self, markup: str, *scripts: Path) -> None:
        texts = [*extract.html_messages(markup)]
        for script in scripts:
            texts += extract.script_messages(script.read_text("utf-8"))
        self.messages = tuple(dict.fromkeys(texts))

    def data(self) -> dict[str, dict[str, str]]:
        """Return what is added to the data of the component: nothing in English."""
        return {} if current() is ENGLISH else {"words": {message: _(message) for message in self.messages}}

    def page_language(self) -> dict[str, dict[str, str]]:
        """Return what a page of its own brings in its body, for `speakPage`: words, and how numbers are written."""
        return self.data() | numbers()


def numbers() -> dict[str, dict[str, str]]:
    """Return how numbers are written, for the pictures in a page (`atlasNumbers` of common.js): nothing in English."""
    now = current()
    if now is ENGLISH:
        return {}
    marks = {"decimal": now.decimal, "group": now.group, "percent": now.percent}
    return {"numbers": marks | {"over": _("over"), "under": _("under"), "nan": _("not a number")}}


def translated(markup: str) -> str:
    """Return HTML with the texts and attributes that are shown in the language of this thread.

    >>> from viz.languages import using
    >>> with using("es"): translated('<a id="Course" title="Course">Course %%NAME%%</a><b>Course</b>')
    '<a id="Course" title="Curso">Course %%NAME%%</a><b>Curso</b>'
    """
    messages = {*extract.html_messages(markup)}

    def worded(match: re.Match[str]) -> str:
        text = match[0].strip()
        message = html.unescape(text)
        return match[0].replace(text, html.escape(_(message))) if message in messages else match[0]

    return markup if current() is ENGLISH else _TEXTS.sub(worded, markup)
