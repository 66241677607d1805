"""Settings of the exhibit on residual and norm."""

from __future__ import annotations

from dataclasses import dataclass

from viz.course.transformer.one_word import OneWord, text
from viz.exhibit_text import data
from viz.shell import state
from viz.widgets.knobs import Knobs, knob, model_choice, seed_input, segmented, slider, toggle, url_only

LONGEST = 32
"""Pieces of a sentence: each is a pill."""
MODELS = ("gpt-mini", "translator-en-es", "bert-mini")
SENTENCES: list[str] = data(__file__)["sentences"]
N_RANDOM = 512
NUMBERS = {"word": "the word's own", "drawn": f"{N_RANDOM} random numbers"}
AXES = {"layer": "layer norm: along a row", "batch": "batch norm: down a column"}
ORDERS = {"post": "LN(x + f(x))", "pre": "x + f(LN(x))", "worded": "x + LN(f(x))"}


@dataclass(frozen=True)
class Params(Knobs, OneWord):
    """Settings: sentence, model, layer, word; the size of sub-layers; g, b, sigma; the axis; the order; the seed."""

    text: str = text(SENTENCES, LONGEST)
    model: str = knob(MODELS[0], model_choice("Model", MODELS))
    layer: int = knob(3, url_only(state.whole_number(0, 11)))
    word: int = knob(2, url_only(state.whole_number(0, 999)))
    residual: str = knob("off", segmented("Residual sums", ("on", "off"), width=1))
    size: float = knob(0.5, slider("Scale of each sub-layer's output", 0.1, 1.0, 0.1, width=300))
    gain: float = knob(1.0, slider("Gain g", 0.0, 3.0, 0.1, width=220))
    bias: float = knob(0.0, slider("Bias b", -2.0, 2.0, 0.1, width=220))
    printed: bool = knob(False, toggle("σ as printed", width=1))
    numbers: str = knob(
        "word", segmented("Numbers", tuple(NUMBERS), NUMBERS.__getitem__, quiet=True, width=1)
    )
    axis: str = knob("layer", segmented("Norm", tuple(AXES), AXES.__getitem__, width=1))
    push: float = knob(
        10.0, slider("Add to the first number of the framed word", -20.0, 20.0, 0.5, width=500)
    )
    order: str = knob("post", segmented("Order of sum and norm", tuple(ORDERS), ORDERS.__getitem__, width=1))
    draw: int = knob(0, seed_input(99))
