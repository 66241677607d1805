"""Word vectors: king - man + woman, one vector per word, and the mix that attention makes of them."""

from __future__ import annotations

import numpy as np

import core.serving.engine
from core.model import Model
from core.run import Run
from core.serving.engine import RunRequest
from viz.charts import thumbs
from viz.course.exhibit import Exhibit, Step
from viz.course.look_up.word_vectors import context, sums
from viz.course.look_up.word_vectors.params import MODEL, READER, READY, SENTENCES, Params, places
from viz.course.shared import word_vectors
from viz.instruments.kit import origin


def compute(params: Params) -> Model:
    """Return the model with the shipped table of vectors; each step computes its own numbers, because each has words of its
    own."""
    return core.serving.engine.default().open(MODEL)


def thumbnail() -> str:
    """Draw the map of the opening sum."""
    found = sums.added(Params(), compute(Params()))
    return thumbs.points(found.map, marked=(len(found.map) - 1,))


NEAREST = dict(zip(READY, ("queen", "queen", "sister", "played", "came", "children"), strict=True))
"""The expected result of each ready-made sum."""


def _run(text: str) -> Run:
    return core.serving.engine.default().run(
        RunRequest(READER, text, keep=("embed.*", "layer.*.resid_*", "*.pattern", "*.allowed"))
    )


def _by_hand(params: Params, _: Model) -> bool:
    """Check that the sum in the plane leads to queen."""
    return sums.answer(places(params.points))[0] == "queen"


def _nearest(params: Params, data: Model) -> bool:
    """Check that the sum gives the expected word, among five options with different cosines."""
    found = sums.added(params, data)
    return (
        found.nearest[0] == NEAREST[params.a, params.b, params.c]
        and len(sums.answer_options(found, data)) == 5
    )


def _one_arrow(params: Params, data: Model) -> bool:
    """Check that both arrows of the map are equal, and that the map keeps at least two fifths of the differences."""
    found = sums.added(params, data)
    apart = (found.map[0] - found.map[1]) - (found.map[-1] - found.map[2])
    return bool(np.abs(apart).max() < 1e-4 and found.share >= 0.4)


def _drift(params: Params, _: Model) -> bool:
    """Check that the two vectors of the word are equal in the table, and clearly different after the last layer."""
    same = word_vectors.layer_cosines(_run(params.one), _run(params.two), params.word)
    return bool(same[0] > 0.9999 and same[-1] < 0.9)


def _mix(params: Params, _: Model) -> bool:
    """Check that the mix is the vector of no word: every weight and every cosine is below 0.9."""
    run = _run(params.text)
    layer, head = context.opening()
    found = word_vectors.head_mix(run, layer, head, context.ROWS[params.text])
    return bool(found.weights.max() < 0.9 and found.near.max() < 0.9)


EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(sums.by_hand, promises={"king − man + woman leads to queen": _by_hand}),
        Step(sums.trained, ("a",), promises={"each ready-made sum gives its word": _nearest}),
        Step(sums.on_the_map, ("a",), promises={"both arrows are one": _one_arrow}),
        Step(context.one_vector, ("one",), promises={"one vector in the table, two in the model": _drift}),
        Step(context.remember, ("text",), promises={"the mix is the vector of no word": _mix}),
    ),
    presets=(
        *(dict[str, str](zip("abc", three, strict=True)) for three in READY[1:]),
        {"text": SENTENCES[1]},
    ),
    tells=lambda params, data: origin.tell(model=MODEL),
)
