"""Settings of the map of the Transformer, and its computation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core.analysis.diagram_nodes import Box, boxes, count_parameters, parameter_count
from core.errors import InputError
from core.serving.engine import RunRequest, default
from viz.exhibit_text import data
from viz.shell import state
from viz.widgets.knobs import Knobs, knob, sentence, toggle, url_only

SLUG, MODEL = "walk_through.", "translator-en-es"
SENTENCES: list[str] = data(__file__)["sentences"]
LONGEST = 24


@dataclass(frozen=True)
class Params(Knobs):
    """Settings: the sentence, the layer of the map, and whether the decoder's input is shifted.

    The box, the word and the sizes open with what the run gives: they are read in the steps.
    """

    text: str = knob(
        SENTENCES[0],
        sentence(
            "English sentence",
            SENTENCES,
            drops=("word", "station"),
            model=MODEL,
            most=f"up to {LONGEST} tokens",
        ),
        link="text",
    )
    layer: int = knob(0, url_only(state.whole_number(0, 63)), link="layer")
    shift: bool = knob(True, toggle("Shift right"))


@dataclass(frozen=True, eq=False)
class Data:
    """One run of the translator, its boxes in the order of computing, the parameters of each, and of the network."""

    run: Any
    boxes: tuple[Box, ...]
    counts: Mapping[str, int] = field(repr=False)
    total: int


def compute(params: Params) -> Data:
    """Run the sentence through the translator and record every tensor. Raises InputError for more tokens than the map can hold."""
    model = default().open(MODEL)
    n = len(model.tokenizer.encode(params.text).ids)
    if n > LONGEST:
        raise InputError(
            f"The sentence has {n} tokens.",
            f"The map holds up to {LONGEST}.",
            "Shorten it, or take an example.",
        )
    found = boxes(model)
    counts = {box.name: parameter_count(model, box) for box in found}
    return Data(default().run(RunRequest(MODEL, params.text)), found, counts, count_parameters(model.network))
