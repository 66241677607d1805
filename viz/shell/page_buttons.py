"""The buttons "Add to a lesson", "Present", "Start over" and "?", the list of keys. Streamlit keeps the R key for its own rerun, so this is a small component."""

from __future__ import annotations

from pathlib import Path

from streamlit.components import v2

from viz.languages.script_words import ScriptWords, joined
from viz.shell import answers, state
from viz.shell.lessons import session

_FOLDER = Path(__file__).parent
_HTML = (
    '<button type="button" data-act="lesson" title="Add this view to your lesson"><span aria-hidden="true">+</span> Add to a lesson</button>'
    '<button type="button" data-act="present" title="Large type for a room; Escape leaves">Present</button>'
    '<button type="button" data-act="restore" title="Back to the opening state">Start over <kbd>R</kbd></button>'
    '<button type="button" data-act="keys" title="The list of keys" aria-label="The list of keys">?</button>'
)
_WORDS = ScriptWords(_HTML)
_button = v2.component(
    "atlas_restore",
    html=_HTML,
    css=(_FOLDER / "restore.css").read_text("utf-8"),
    js=joined(_FOLDER / "restore.js"),
)


def draw_page_buttons(lesson_only: bool = False) -> None:
    """Draw the buttons: add the view to a lesson (the only one of a `lesson_only` page), present mode, start over (also the R key), the list of keys."""
    _button(
        key="restore",
        data={"still": lesson_only, **_WORDS.data()},
        on_lesson_change=session.request_adding,
        on_restore_change=_restore,
        on_present_change=_present,
        width="content",
        height="content",
    )


def _restore() -> None:
    for name in (state.page(), session.QUESTION):
        answers.forget(name)
    state.restore()


def _present() -> None:
    state.write(present=None if state.presenting() else True)
