"""Settings of the exhibit on convolution and attention: a text, the switches, a seed."""

from __future__ import annotations

from dataclasses import dataclass

from core.data.episodes import TASKS
from viz.course.self_attention.convolution_and_attention.maths import LONGEST, MODEL, example, signs_of
from viz.widgets.knobs import Knobs, knob, seed_input, segmented, sentence, toggle

SLUG = "convolution_and_attention"
LAYERS = 2
"""Layers of the shipped network, each convolutions and then attention."""
TEXTS = (
    "k3F m7Q k7B m3R k7?",
    "b4K c4L d4M b5N c5P d5A b6C c6D d6E b7G c7H b4?",
    "abcdeR qtvwxS abzde?",
)


def sampled_text(number: int) -> str:
    """Return a text by its number: pairs and classes in turn.

    >>> sampled_text(2)[:7], sampled_text(3)[:6]
    ('t2D y2G', 'okmpaB')
    """
    return example(tuple(TASKS)[number % len(TASKS)], number)


@dataclass(frozen=True)
class Params(Knobs):
    """`own` is a text of the visitor's; while it is empty, `draw` is the number of a sampled one, and of the texts on which three networks are compared."""

    own: str = knob(
        "",
        sentence(
            "Your own text; empty for a sampled one",
            TEXTS,
            model=MODEL,
            most=f"the last {LONGEST} symbols",
            placeholder=lambda p: sampled_text(p.draw),
        ),
    )
    draw: int = knob(2, seed_input(9999, drops=("own",), next_label="Other texts"))
    layer: int = knob(LAYERS - 1, segmented("Layer of the map", tuple(range(LAYERS)), width=1))
    convolves: bool = knob(True, toggle("Convolutions", width=1))
    attends: bool = knob(True, toggle("Attention", width=1))

    @property
    def signs(self) -> str:
        """Return the symbols that the model reads."""
        return signs_of(self.own) or signs_of(sampled_text(self.draw))
