"""What can be set on the exhibit on the next token."""

from __future__ import annotations

from dataclasses import dataclass

from viz.course.gpt.maths.conditionals import LONGEST
from viz.course.texts import data
from viz.widgets.knobs import Knobs, knob, sentence, slider

SLUG, MODEL = "next_token.", "gpt-mini"
SENTENCES: list[str] = data(__file__)["sentences"]


@dataclass(frozen=True)
class Params(Knobs):
    """What the visitor chose: the text, and the window of the last step."""

    text: str = knob(
        SENTENCES[0], sentence("Text", SENTENCES, model=MODEL, most=f"up to {LONGEST} tokens"), link="text"
    )
    k: int = knob(1, slider("k, tokens that the model reads", 1, LONGEST))
