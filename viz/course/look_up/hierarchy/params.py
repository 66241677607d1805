"""Settings of the exhibit on words, sentences, a document: the text; the sentence in view depends on it, see the steps."""

from __future__ import annotations

from dataclasses import dataclass

from core.data.texts import texts
from viz.course.look_up.hierarchy.maths import MODEL
from viz.languages import _, mark
from viz.widgets.knobs import Knobs, knob, sentence

SLUG, MOST = "hierarchy", 1024
EXAMPLES = {row.task: row.text for row in texts("presets") if row.kind == "genre"}
TITLES = (
    mark("fairy tale at sea"),
    mark("a whale"),
    mark("a murder at sea"),
    mark("a murder on a ranch"),
    mark("nature"),
)
"""Titles of our texts that are not those of their kinds."""


@dataclass(frozen=True)
class Params(Knobs):
    """Settings that a visitor chooses and a link holds; the sentence in view depends on the text, see the steps."""

    text: str = knob(
        EXAMPLES["fairy tale at sea"],
        sentence(
            "A text of a few sentences, your own or one of ours",
            model=MODEL,
            most=lambda: _("a page of up to {n:,} words and punctuation marks", n=MOST),
            placeholder=mark("Type or paste a few sentences"),
        ),
    )
