"""Settings of the exhibit on the feed-forward network."""

from __future__ import annotations

from dataclasses import dataclass

from viz.course.transformer.one_word import OneWord, text
from viz.exhibit_text import data
from viz.shell import state
from viz.widgets.knobs import Knobs, knob, model_choice, seed_input, select_slider, slider, url_only

LONGEST = 32
MODELS = ("translator-en-es", "gpt-mini", "bert-mini")
SENTENCES: list[str] = data(__file__)["sentences"]
END = 3.0
"""Where the curves end, at both sides of 0."""
WIDTHS = (512, 1024, 2048, 4096)
HIDDEN = "Hidden width of the base model, $d_{ff}$ (its words have d = 512)"


@dataclass(frozen=True)
class Params(Knobs, OneWord):
    """Settings: sentence, model, layer, word; the input on the curves; the width of the base model; the seed of the directions."""

    text: str = text(SENTENCES, LONGEST)
    model: str = knob(MODELS[0], model_choice("Model", MODELS))
    layer: int = knob(0, url_only(state.whole_number(0, 11)))
    word: int = knob(2, url_only(state.whole_number(0, LONGEST - 1)))
    at: float = knob(-1.0, slider("The number that goes in", -END, 2.0, 0.1))
    d_ff: int = knob(2048, select_slider(HIDDEN, WIDTHS, "{:,}".format, width=0))
    draw: int = knob(0, seed_input(99, next_label="Other directions"))
