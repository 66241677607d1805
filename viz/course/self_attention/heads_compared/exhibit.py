"""The heads of one layer of a trained model: what each attends to, its habit, and the loss without it."""

from __future__ import annotations

from viz.charts import thumbs
from viz.course.exhibit import Exhibit, Step
from viz.course.self_attention.heads_compared import maths, promises, steps, worth
from viz.course.self_attention.heads_compared.params import SENTENCES, Params
from viz.instruments.kit import origin


def compute(params: Params) -> maths.Layer:
    """Return the attention patterns of one layer, by words. Errors: InputError for a text that cannot be drawn."""
    return maths.read(params.reader, params.text, params.layer, params.word)


def thumbnail() -> str:
    """Draw the attention of each head (a row) from the word in question."""
    data = compute(Params())
    return thumbs.cells(data.weights[:, data.row])


CONTROLS = ("text", "model", "layer")
EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(steps.one_word, CONTROLS, promises=promises.ONE_WORD),
        Step(steps.all_heads, CONTROLS, promises=promises.ALL_HEADS),
        Step(steps.two_heads, CONTROLS, promises=promises.TWO_HEADS),
        Step(worth.kinds, CONTROLS, promises=promises.KINDS),
        Step(worth.ablation, CONTROLS, promises=promises.ABLATION),
    ),
    cost=lambda params: 10 * len(params.text),
    tells=lambda params, data: origin.tell(
        model=data.model, text=params.text, kind=data.kind, layer=data.layer
    ),
    presets=(*({"text": text} for text in SENTENCES[1:]), *({"model": model} for model in maths.MODELS)),
)
