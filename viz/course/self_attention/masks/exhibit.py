"""Masks: why the next word leaks, sums over the words so far, the mask that does the same; one's own."""

from __future__ import annotations

import numpy as np

from viz.charts import thumbs
from viz.course.lesson import Lesson, Step
from viz.course.self_attention.masks import editor, lines, read, steps
from viz.course.self_attention.masks.params import EDITOR, SLUG, Params
from viz.course.shared.maths.masks import Recipe
from viz.shell import state


def compute(params: Params) -> read.Head:
    """The head that is looked at: the chosen one, or the one that looks back most sharply."""
    own = read.opening()
    return read.Head(
        *(at if chosen < 0 else chosen for chosen, at in ((params.layer, own.layer), (params.head, own.head)))
    )


def thumbnail() -> str:
    """Window, global words and the past, as BigBird has it: the mask of the kind "sparse"."""
    allowed = Recipe("sparse").allowed(10)
    return thumbs.cells(np.where(allowed, 0.8, 0.0), allowed)


def arrive() -> None:
    """A link from before there were steps that holds something of the editor's opens the editor."""
    if not state.peek(SLUG + "step") and any(state.peek(SLUG + name) for name in EDITOR):
        state.write(**{SLUG + "step": len(LESSON.steps)})


HEAD = ("layer", "head")
LESSON = Lesson(
    __file__,
    Params,
    compute,
    (
        Step(steps.leak, ("sees", "draw"), change=("digits",), alone=True),
        Step(steps.prefix, ("text",), change=HEAD),
        Step(steps.mask, ("lifted", "text"), change=HEAD),
        Step(lines.lines, ("example",), change=HEAD),
        Step(lines.edges, ("m", "edge", "text"), change=HEAD),
        Step(editor.editor, HEAD),
    ),
    arrive=arrive,
)
