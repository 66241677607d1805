"""Settings of the exhibit on cross-attention."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from core.serving.engine import default
from viz.course.shared.masks_batch import TRANSLATOR
from viz.course.transformer.cross_attention.maths import BEST, MODEL
from viz.exhibit_text import data
from viz.shell import state
from viz.widgets.knobs import Knobs, knob, seed_input, segmented, sentence, url_only

SENTENCES: list[str] = data(__file__)["sentences"]
LONGEST = 24
SIDES = {"source": "an English word", "target": "a Spanish word"}


def _of_model(count: str) -> Callable[[str], int]:
    """Return the parser for a layer or a head; `count` names the model's number of them."""
    return lambda raw: state.one_of((BEST, *range(getattr(default().open(MODEL).config, count))), BEST)(raw)


@dataclass(frozen=True)
class Params(Knobs):
    """Settings: the English sentence; layer and head; the side with an exchanged word; the padded batch."""

    text: str = knob(
        SENTENCES[0],
        sentence("English sentence", SENTENCES, model=MODEL, most=f"up to {LONGEST} tokens"),
        link="text",
    )
    layer: int = knob(BEST, url_only(_of_model("n_layers")), link="layer")
    head: int = knob(BEST, url_only(_of_model("n_heads")), link="head")
    side: str = knob("source", segmented("Exchange", tuple(SIDES), SIDES.__getitem__))
    first: str = knob(
        "The red house on the hill is very old.",
        sentence("The longer sentence", model=TRANSLATOR, placeholder=None, width="stretch"),
    )
    second: str = knob(
        "She has a white car.",
        sentence(
            "The shorter sentence, padded with PAD", model=TRANSLATOR, placeholder=None, width="stretch"
        ),
    )
    draw: int = knob(0, seed_input(99, next_label="Other tokens on the padding"))
