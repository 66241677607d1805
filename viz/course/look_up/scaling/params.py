"""Settings of the exhibit on the scale."""

from __future__ import annotations

from dataclasses import dataclass

from viz.course.look_up.scaling.maths import WIDTHS
from viz.widgets.knobs import Knobs, knob, seed_input, select_slider, sentence, slider, toggle

MODEL = "gpt-mini"
CHOICES = WIDTHS[2:]
SENTENCES = (
    "The little dog ran after the ball.",
    "She was hungry, so she ate the apple.",
    "Once upon a time there was a king.",
)


@dataclass(frozen=True)
class Params(Knobs):
    """Settings that a visitor chooses and a link holds: the width and the seed; the real model's sentence; the largest of three
    scores, and the switch."""

    d_k: int = knob(64, select_slider("d, the numbers in a query and in a key", CHOICES))
    draw: int = knob(0, seed_input(99))
    text: str = knob(SENTENCES[0], sentence("Sentence", SENTENCES, model=MODEL, quiet=True), link="text")
    safe: bool = knob(False, toggle("Subtract the largest score first"))
    score: int = knob(200, slider("The largest score", 0, 200))
