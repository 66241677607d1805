"""Words of components: what their HTML and their scripts show, translated and sent with their data.

A script says `say("Next")` for a text of its own, and calls `speak(parentElement, data.words)` first, which translates the texts of
its HTML (words.js, to be joined before it). In English nothing is sent.
"""

from __future__ import annotations

from pathlib import Path

from viz.languages import ENGLISH, _, current, extract

SCRIPT = Path(__file__).with_name("words.js")


def joined(*scripts: Path) -> str:
    """Return the text of scripts with `say` and `speak` before them."""
    return "\n".join(file.read_text("utf-8") for file in (SCRIPT, *scripts))


class ScriptWords:
    """The words of one component.

    >>> words = ScriptWords('<button title="Back to the opening state">Start over</button>')
    >>> words.data(), words.messages
    ({}, ('Back to the opening state', 'Start over'))
    """

    def __init__(self, html: str, *scripts: Path) -> None:
        texts = [*extract.html_messages(html)]
        for script in scripts:
            texts += extract.script_messages(script.read_text("utf-8"))
        self.messages = tuple(dict.fromkeys(texts))

    def data(self) -> dict[str, dict[str, str]]:
        """Return what is added to the data of the component: nothing in English."""
        return {} if current() is ENGLISH else {"words": {message: _(message) for message in self.messages}}
