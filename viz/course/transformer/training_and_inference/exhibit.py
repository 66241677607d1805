"""Training and inference of a translator: it learns a pair at all positions at once, and writes one token after the other."""

from __future__ import annotations

from core.serving.engine import default
from viz.charts import thumbs
from viz.course.exhibit import Exhibit, Step
from viz.course.transformer.training_and_inference import learn, promises, steps, write
from viz.course.transformer.training_and_inference.parallel_decoder import AtOnce, at_once
from viz.course.transformer.training_and_inference.params import MODEL, PAIRS, Params
from viz.instruments.kit import origin


def compute(params: Params) -> AtOnce:
    """Run the pair through the shipped translator: all positions at once, then one after the other."""
    return at_once(default().open(MODEL), params.text, params.spanish)


def thumbnail() -> str:
    """Draw the loss of each position of the opening pair."""
    found = compute(Params())
    return thumbs.bars(found.losses, [token.removeprefix(" ") for token in found.target])


EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(steps.shift, ("shift", "text"), promises=promises.SHIFT),
        Step(steps.all_at_once, ("text",), promises=promises.ALL_AT_ONCE),
        Step(steps.step_by_step, ("text",), promises=promises.STEP_BY_STEP),
        Step(learn.one_step, ("text",), promises=promises.ONE_STEP),
        Step(write.last_layer, ("text",), promises=promises.LAST_LAYER),
        Step(write.not_always, ("text",), promises=promises.NOT_ALWAYS),
    ),
    compute_fields=("text", "target"),
    cost=lambda params: 20 * len(params.text + params.target) + 400,
    tells=lambda params, data: origin.tell(model=MODEL, text=params.text, second_text=params.spanish),
    presets=tuple({"text": text, "target": target} for text, target in PAIRS[1:]),
)
