"""The claims of the exhibit on convolution and attention, each a condition on the run that a page shows."""

from __future__ import annotations

import numpy as np

from viz.course.self_attention.convolution_and_attention import maths
from viz.course.self_attention.convolution_and_attention.params import Params
from viz.course.self_attention.convolution_and_attention.steps import FAR, MIDDLE, NEAR, Data

SURE, HALF, NEVER = 0.9, 0.5, 0.05


def field_is_exact(params: Params, data: Data) -> bool:
    """Check that another symbol changes the top convolution at every position of its field, and at no other."""
    at = len(data.signs) - 1
    moves = maths.sensitivity(data.signs, at, attends=False)
    inside = list(maths.tree(maths.dilations(), at)[0])
    return bool((moves[inside] > 0).all() and not np.delete(moves, inside).any())


def attention_finds_the_answer(params: Params, data: Data) -> bool:
    """Check that in one layer the last position gives the answer's position at least SURE of its attention."""
    patterns = data.halves["both"].patterns
    return bool(data.truth and patterns is not None and patterns[:, -1, data.truth.place].max() >= SURE)


GUESS = {
    "both kinds of block find the answer that the text shows": lambda params, data: (
        data.truth is not None and data.halves["both"].chance(data.truth.answer) >= SURE
    ),
    "with the convolutions alone the answer is lost": lambda params, data: (
        data.halves["convolutions"].chance(data.right) < HALF
    ),
}
FIELD = {
    "the field of eight convolutions is 31 positions": lambda params, data: (
        maths.reach(maths.dilations()) == 31
    ),
    "every symbol inside the field changes the top, none outside": field_is_exact,
}
TOGETHER = {
    "attention finds the answer at any distance": attention_finds_the_answer,
    "without convolutions attention is less sure": lambda params, data: (
        data.halves["attention"].chance(data.right) < data.halves["both"].chance(data.right) - 0.3
    ),
}
TRAINED = {
    "both kinds of block are right at every distance": lambda params, data: (
        min(maths.compared(params.draw).by_place["both"].values()) >= SURE
    ),
    "convolutions alone are not right beyond their field": lambda params, data: (
        maths.compared(params.draw).by_place["convolutions"][FAR] <= NEVER
    ),
    "convolutions alone are seldom right inside their field, too": lambda params, data: all(
        maths.compared(params.draw).by_place["convolutions"][place] < HALF for place in (NEAR, MIDDLE)
    ),
    "attention alone is seldom right": lambda params, data: (
        maths.compared(params.draw).mean("attention") < HALF
    ),
}
