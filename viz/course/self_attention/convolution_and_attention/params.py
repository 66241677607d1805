"""What can be set on the exhibit on convolution and attention: a text, what is switched on, a draw."""

from __future__ import annotations

from dataclasses import dataclass

from core.data.episodes import TASKS
from viz.course.self_attention.convolution_and_attention.maths import LONGEST, MODEL, example, signs_of
from viz.widgets.knobs import Knobs, draw, knob, segmented, sentence, toggle

SLUG = "convolution_and_attention"
LAYERS = 2
"""Layers of the shipped network, each convolutions and then attention."""
TEXT = example("recall", 2)


@dataclass(frozen=True)
class Params(Knobs):
    """`own` is the text; `draw` says which texts are offered, and on which the three networks are compared."""

    own: str = knob(
        TEXT,
        sentence(
            "Your text",
            lambda p: tuple(example(task, p.draw) for task in TASKS),
            of=MODEL,
            most=f"the last {LONGEST} signs",
            placeholder="k3F m7Q k3?",
        ),
    )
    draw: int = knob(2, draw(9999, again="Other texts"))
    layer: int = knob(LAYERS - 1, segmented("Layer of the map", tuple(range(LAYERS)), width=1))
    convolves: bool = knob(True, toggle("Convolutions", width=1))
    attends: bool = knob(True, toggle("Attention", width=1))

    @property
    def signs(self) -> str:
        """What the model reads of the text."""
        return signs_of(self.own) or signs_of(TEXT)
