"""The feed-forward network: each word by itself through a wide hidden layer, and the role of its units."""

from __future__ import annotations

from typing import Any

from core.serving.engine import RunRequest, default
from viz.charts import thumbs
from viz.course.exhibit import Exhibit, Step
from viz.course.transformer.feed_forward import maths, promises, steps, units
from viz.course.transformer.feed_forward.params import LONGEST, MODELS, SENTENCES, Params
from viz.instruments.kit import origin
from viz.widgets import input_hints


def compute(params: Params) -> maths.Inner:
    """Run the network of the layer on every token of the sentence. Errors: InputError for no token, or more than can be drawn."""
    input_hints.check_length(params.model, params.text, LONGEST)
    source = default().open(params.model).spec.has_source
    more: dict[str, Any] = {"target": "."} if source else {}  # the source side does not depend on it
    run = default().run(RunRequest(params.model, params.text, keep=maths.KEEP, **more))
    return maths.inner(run, params.at_layer)


def thumbnail() -> str:
    """Draw the first units as a grid of active and inactive ones, by word."""
    return thumbs.cells(compute(Params()).fires[:8, :18].astype(float))


EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(steps.word_tiles, ("text",), promises=promises.TILES),
        Step(steps.activations, ("at",), texts=("text",), promises=promises.ACTIVATIONS),
        Step(steps.sentence, change=("model",), texts=("text",), promises=promises.SENTENCE),
        Step(steps.one_word_negated, texts=("text",), promises=promises.NEGATED),
        Step(units.one_unit, texts=("text",), promises=promises.ONE_UNIT),
        Step(units.count, ("d_ff",), promises=promises.COUNT),
    ),
    compute_fields=("text", "model", "layer"),
    cost=lambda params: 10 * max(1, len(params.text)),
    tells=lambda params, data: origin.tell(model=params.model, text=params.text),
    presets=(*({"text": text} for text in SENTENCES[1:]), *({"model": model} for model in MODELS[1:])),
)
