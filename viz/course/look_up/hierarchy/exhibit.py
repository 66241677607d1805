"""Words, sentences, a document: one learned query weights the words of each sentence, another one the sentences."""

from __future__ import annotations

from viz.charts import thumbs
from viz.course.exhibit import Exhibit, Step
from viz.course.look_up.hierarchy import maths, promises, steps
from viz.course.look_up.hierarchy.params import EXAMPLES, Params
from viz.instruments.kit import origin


def compute(params: Params) -> maths.Data:
    """Return the run of the text through the network, in full and without each sentence. Errors: InputError for no word, or too
    many."""
    return maths.read_document(params.text)


def thumbnail() -> str:
    """Draw the weights of the sentences of the opening text."""
    data = compute(Params())
    return thumbs.bars(
        data.sentences, [str(1 + i) for i in range(len(data.sentence_texts))], marked=data.heaviest
    )


EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(steps.guess, texts=("text",), promises=promises.GUESS),
        Step(steps.inside, texts=("text",), promises=promises.INSIDE),
        Step(steps.product, texts=("text",), promises=promises.PRODUCT),
        Step(steps.kinds, texts=("text",), promises=promises.KINDS),
        Step(steps.deletion, texts=("text",), promises=promises.DELETION),
        Step(steps.measured, without_data=True, promises=promises.MEASURED),
    ),
    presets=tuple({"text": text} for text in EXAMPLES.values()),
    cost=lambda params: 10 + 4 * len(params.text),
    tells=lambda params, data: origin.tell(model=maths.MODEL, text=params.text),
)
