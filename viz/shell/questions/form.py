"""The controls in which a lecturer writes a question; the same in "Ask the room" and in "Add to a lesson".

Each function draws the controls and returns what makes the question of them: call it when the lecturer sends the question, inside
`errors.guard()` or where InputError is handled. The controls may stand in an `st.form`.
"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from viz.labels import literal
from viz.languages import _, mark
from viz.shell.questions.question import (
    LONGEST_OPTION,
    LONGEST_UNIT,
    LONGEST_WORDS,
    MOST_OPTIONS,
    Choice,
    Number,
    read_options,
    write_options,
)

OPTIONS = mark("Options, one per line; put * before the right one")
_LONGEST_LINES = (MOST_OPTIONS + 8) * (LONGEST_OPTION + 4)


def draw_choice(key: str, question: Choice | None = None, *, poll: bool) -> Callable[[], Choice]:
    """Draw the controls of a multiple-choice question, filled from `question`; return a function that builds the question from them.

    With `poll`, no option has to be right.
    """
    words = _words(key, question.words if question else "")
    lines = st.text_area(
        _(OPTIONS),
        "\n".join(write_options(question)) if question else "",
        height=110,
        max_chars=_LONGEST_LINES,
        placeholder=_("yes\n* no"),
        help=_(
            "Several options may be right: put * before each. An option that itself begins with * is written \\\\*."
        ),
        key=f"{key}.options",
    )
    options, right = read_options(filter(str.strip, lines.splitlines()))
    if options:
        listed = " · ".join(
            _("**{option}** (right)", option=literal(o)) if o in right else literal(o) for o in options
        )
        missing = (
            _("No option is marked as right: a poll.") if poll else _("No option is marked as right yet.")
        )
        st.caption(listed if right else f"{listed}  \n{missing}")
    why = _explanation(key, question.explanation if question else "")
    return lambda: Choice(words, options, right, why)


def number(key: str, question: Number | None = None, *, poll: bool) -> Callable[[], Number]:
    """Draw the controls of a question about a number; `question` fills them. `poll`: the right one may be left out."""
    words = _words(key, question.words if question else "")
    now = question or Number("?", 0, 100)
    columns = st.columns(4)
    low = columns[0].number_input(_("From"), value=float(now.low), format="%g", key=f"{key}.low")
    high = columns[1].number_input(_("To"), value=float(now.high), format="%g", key=f"{key}.high")
    right = columns[2].number_input(
        _("Right (optional)") if poll else _("Right"),
        value=None if now.right is None else float(now.right),
        format="%g",
        key=f"{key}.right",
    )
    unit = columns[3].text_input(_("Unit"), now.unit, max_chars=LONGEST_UNIT, key=f"{key}.unit").strip()
    why = _explanation(key, question.explanation if question else "")
    return lambda: Number(words, low, high, right, unit, why)


def _words(key: str, text: str) -> str:
    return st.text_input(_("Your question"), text, max_chars=LONGEST_WORDS, key=f"{key}.words").strip()


def _explanation(key: str, text: str) -> str:
    return st.text_input(_("Explanation, shown after the answer"), text, key=f"{key}.why").strip()
