"""The settings of the exhibit on Vision Transformers: a doodle, a patch size, a layer and a head, the hidden patches."""

from __future__ import annotations

from dataclasses import dataclass

from core.data import doodles
from viz.course.vision.picture_as_words.maths import MEAN, ROLLOUT, SIZES
from viz.languages import _, mark
from viz.widgets.knobs import Knobs, doodle, knob, pills, seed_input, segmented, slider

SLUG = "picture_as_words"
LAYERS, HEADS = 4, 4
"""Layers and heads of the shipped ViT."""
OPENING = doodles.as_text(doodles.example("cat"))


def head_name(head: str) -> str:
    """Return the name of a choice of heads, in the reader's language."""
    return _(head) if head in (MEAN, ROLLOUT) else head


@dataclass(frozen=True)
class Params(Knobs):
    """`own` is the doodle's text, `patch` the side of a patch, `share` of the patches in percent is hidden by the draw."""

    own: str = knob(OPENING, doodle())
    patch: int = knob(4, segmented("Side of a patch", SIZES, lambda size: f"{size} × {size}"))
    layer: int = knob(LAYERS - 1, segmented("Layer", tuple(range(LAYERS)), width=1))
    head: str = knob(MEAN, pills("Head", (MEAN, *map(str, range(HEADS)), ROLLOUT), head_name))
    share: int = knob(75, slider("Hidden, in percent", 5, 95, 5))
    draw: int = knob(0, seed_input(999, next_label=mark("Hide others")))
