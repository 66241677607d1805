"""The whole Transformer as a map: click a box and see what goes in and out of it for your own sentence."""

from __future__ import annotations

from core.analysis.diagram_nodes import tensor_at
from viz.charts import thumbs
from viz.course.exhibit import Exhibit, Step
from viz.course.transformer.walk_through import promises, steps
from viz.course.transformer.walk_through.params import SENTENCES, Params, compute
from viz.instruments.kit import origin


def thumbnail() -> str:
    """Draw the last cross-attention of the sentence that the page opens with."""
    run = compute(Params()).run
    return thumbs.cells(
        tensor_at(run, f"decoder.layer.{run.model.config.n_layers - 1}.cross_attn.pattern").mean(0)
    )


EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(steps.guess, ("text",), promises=promises.GUESS),
        Step(steps.feed, ("text",), promises=promises.FEED),
        Step(steps.open_box, ("text",), promises=promises.OPEN),
        Step(steps.count, ("text",), promises=promises.COUNT),
        Step(steps.walk, ("text",), promises=promises.WALK),
    ),
    compute_fields=("text",),
    cost=lambda params: 40 * len(params.text),
    tells=lambda params, data: origin.tell_run(data.run),
    presets=tuple({"text": text} for text in SENTENCES[1:]),
)
