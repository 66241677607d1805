"""Masks: why the next word leaks, sums over the words so far, the mask that does the same; a mask of your own."""

from __future__ import annotations

import numpy as np

from viz.charts import thumbs
from viz.course.exhibit import Exhibit, Step
from viz.course.self_attention.masks import editor, lines, promises, read, steps
from viz.course.self_attention.masks.params import EDITOR, READ, ROWS, SEES, SLUG, Params
from viz.course.shared.masks import Recipe
from viz.shell import state


def compute(params: Params) -> read.Head:
    """Return the head in view: the chosen one, or the one that looks back most sharply."""
    own = read.opening()
    return read.Head(
        *(at if chosen < 0 else chosen for chosen, at in ((params.layer, own.layer), (params.head, own.head)))
    )


def thumbnail() -> str:
    """Draw window, global words and causal mask, as in BigBird: the mask of the kind "sparse"."""
    allowed = Recipe("sparse").allowed(10)
    return thumbs.cells(np.where(allowed, 0.8, 0.0), allowed)


def arrive() -> None:
    """Open the editor for a link from before there were steps that sets anything of the editor."""
    if not state.peek(SLUG + "step") and any(state.peek(SLUG + name) for name in EDITOR):
        state.write(**{SLUG + "step": len(EXHIBIT.steps)})


HEAD = ("layer", "head")
EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(steps.leak, ("sees", "draw"), change=("digits",), without_data=True, promises=promises.LEAK),
        Step(steps.prefix, ("text",), change=HEAD, promises=promises.PREFIX),
        Step(steps.mask, ("lifted", "text"), change=HEAD, promises=promises.MASK),
        Step(lines.lines, ("example",), change=HEAD, promises=promises.REMEMBER),
        Step(lines.edges, ("m", "edge", "text"), change=HEAD, promises=promises.EDGES),
        Step(editor.editor, HEAD, promises=promises.EDITOR),
    ),
    arrive=arrive,
    presets=(
        *({"text": text, "own": text} for text in read.SENTENCES),
        {"example": READ[1]},
        {"lifted": True},
        *({"sees": sees} for sees in SEES),
        *({"edge": edge} for edge in ROWS),
    ),
)
