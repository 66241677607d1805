"""What can be set on the exhibit on the encoder."""

from __future__ import annotations

from dataclasses import dataclass

from viz.widgets.knobs import Knobs, knob, segmented, sentence

MODELS = {"translator-en-es": "Translator's encoder", "bert-mini": "BERT"}
SENTENCES = (
    "She has a white car.",
    "The animal didn't cross the street because it was too tired.",
    "The bank of the river was steep.",
    "You are welcome.",
)
LONGEST = 28
SHAPES = {"own": "This encoder", "base": "Base of 2017", "printed": "The same with 512 inner units"}


@dataclass(frozen=True)
class Params(Knobs):
    """What the visitor chose: the sentence, whose encoder reads it, whose sizes are counted; word, layer and
    N are the steps' own."""

    text: str = knob(
        SENTENCES[0],
        sentence(
            "Sentence", SENTENCES, drops=("word",), of=lambda p: p.model, most=f"up to {LONGEST} tokens"
        ),
        link="text",
    )
    model: str = knob(
        "translator-en-es",
        segmented("Whose encoder", tuple(MODELS), MODELS.__getitem__),
        link="encoder.of",
    )
    shape: str = knob("own", segmented("Sizes", tuple(SHAPES), SHAPES.__getitem__, quiet=True))
