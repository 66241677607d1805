"""What can be set on the map."""

from __future__ import annotations

from dataclasses import dataclass

from viz.widgets.knobs import Knobs, knob, sentence, toggle

MODEL = "translator-en-es"
SENTENCES = (
    "She has a white car.",
    "You are welcome.",
    "The animal didn't cross the street because it was too tired.",
    "I gave my little sister a red ball.",
)
LONGEST = 24


@dataclass(frozen=True)
class Params(Knobs):
    """What the visitor chose: the sentence, and the switch of the shift; box, layer, word and sizes are the
    steps' own, for they are those of the run."""

    text: str = knob(
        SENTENCES[0],
        sentence(
            "English sentence", SENTENCES, drops=("word", "station"), of=MODEL, most=f"up to {LONGEST} tokens"
        ),
        link="text",
    )
    shift: bool = knob(True, toggle("Shift right"))
