"""Another order of the words: invariant, and a set operation? Both measured."""

from __future__ import annotations

from viz.charts import thumbs
from viz.course.exhibit import Exhibit, Step
from viz.course.self_attention.permutation import maths, promises, steps
from viz.course.self_attention.permutation.params import SENTENCES, Params
from viz.instruments.kit import origin


def compute(params: Params) -> maths.Measured:
    """Return the results of all steps. Errors: InputError for a sentence without another order, or too long."""
    return maths.measured(params.text, params.order, params.twice, params.draw)


def thumbnail() -> str:
    """Draw each word of the opening sentence, joined to its new position."""
    data = compute(Params())
    return thumbs.links(maths.matrix(data.order), data.pieces, [data.pieces[i] for i in data.order])


EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(steps.guess, ("text",), promises=promises.GUESS),
        Step(steps.head_weights, ("text",), promises=promises.WEIGHTS),
        Step(steps.positions, ("text",), promises=promises.POSITIONS),
        Step(steps.mean, ("places", "text"), promises=promises.MEAN),
        Step(steps.as_set, ("text",), promises=promises.SET),
        Step(steps.mask, ("text",), promises=promises.MASK),
    ),
    compute_fields=("text", "order", "draw", "twice"),
    cost=60,
    tells=lambda params, data: origin.tell(
        model=maths.MODEL, text=params.text, kind="self", layer=0, head=data.head, changed="without positions"
    ),
    presets=(*({"text": text} for text in SENTENCES[1:]), {"twice": 6}),
)
