"""Cross-attention: each target word attends to the source sentence; and padding must not change anything."""

from __future__ import annotations

from core.serving.engine import RunRequest, default
from viz.charts import thumbs
from viz.course.exhibit import Exhibit, Step
from viz.course.shared import cross_shapes
from viz.course.transformer.cross_attention import layer, maths, promises, steps
from viz.course.transformer.cross_attention.params import LONGEST, MODEL, SENTENCES, Params
from viz.instruments.kit import origin
from viz.widgets import input_hints


def compute(params: Params) -> maths.Data:
    """Run the sentence through the translator. Errors: InputError for more tokens than can be drawn."""
    input_hints.check_length(MODEL, params.text, LONGEST)
    run = default().run(RunRequest(MODEL, params.text, keep=cross_shapes.KEEP))
    return maths.read_run(run, *maths.resolve_head(params.layer, params.head))


def thumbnail() -> str:
    """Draw the map of the sentence that the page opens with."""
    return thumbs.cells(compute(Params()).pattern)


TEXT = ("text",)
EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(steps.two_axes, texts=TEXT, promises=promises.TWO_AXES),
        Step(steps.who_asks, texts=TEXT, promises=promises.WHO_ASKS),
        Step(steps.swap, ("side",), texts=TEXT, promises=promises.SWAP),
        Step(steps.once, texts=TEXT, promises=promises.ONCE),
        Step(layer.padding, ("first", "second", "draw"), promises=promises.PADDING),
        Step(layer.layer, texts=TEXT, promises=promises.LAYER),
    ),
    compute_fields=("text", "layer", "head"),
    cost=lambda params: 20 * len(params.text),
    tells=lambda params, data: origin.tell_run(data.run, "cross", data.layer, data.head),
    presets=(*({"text": text} for text in SENTENCES[1:]), {"side": "target"}),
)
