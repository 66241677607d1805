"""Settings of the exhibit on the encoder."""

from __future__ import annotations

from dataclasses import dataclass

from viz.course.transformer.one_word import text
from viz.exhibit_text import data
from viz.widgets.knobs import Knobs, knob, segmented

MODELS = {"bert-mini": "BERT", "translator-en-es": "Translator's encoder"}
SENTENCES: list[str] = data(__file__)["sentences"]
LONGEST = 28
SHAPES = {"own": "This encoder", "base": "Base of 2017", "printed": "The same with 512 inner units"}


@dataclass(frozen=True)
class Params(Knobs):
    """Settings: the sentence, the model whose encoder reads it, the sizes to count; the steps read word, layer and N themselves."""

    text: str = text(SENTENCES, LONGEST)
    model: str = knob(
        "bert-mini",
        segmented("Whose encoder", tuple(MODELS), MODELS.__getitem__),
        link="encoder.of",
    )
    shape: str = knob("own", segmented("Sizes", tuple(SHAPES), SHAPES.__getitem__, quiet=True))
