"""What can be set on the exhibit on families."""

from __future__ import annotations

from dataclasses import dataclass

from viz.course.gpt.families import read
from viz.course.gpt.families.maths import two_chains
from viz.course.texts import data
from viz.widgets.knobs import Knobs, knob, seed_input, sentence

SLUG = "families."
SENTENCES: list[str] = data(__file__)["sentences"]


@dataclass(frozen=True)
class Params(Knobs):
    """What the visitor chose: the sentence, and the drawn weights of the two chains; the word is the steps' own."""

    text: str = knob(
        SENTENCES[0],
        sentence(
            "Sentence", SENTENCES, drops=("word",), model=read.BOTH, most=f"up to {read.LONGEST} tokens"
        ),
        link="text",
    )
    draw: int = knob(two_chains.DRAW, seed_input(99, next_label="Other weights"))
