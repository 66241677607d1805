"""One word, many vectors: “bank” about money and rivers, layer by layer; and vectors of sentences."""

from __future__ import annotations

from core.serving.engine import default
from viz.charts import thumbs
from viz.course.bert import contextual_vectors, senses
from viz.course.bert.bank import many, promises, words
from viz.course.bert.bank.params import MODEL, Params
from viz.course.exhibit import Exhibit, Step
from viz.instruments.kit import origin


def compute(params: Params) -> senses.Word:
    """Return the chosen word of ours; each step reads other sentences and runs the models itself."""
    return senses.WORDS[params.which]


def thumbnail() -> str:
    """Draw the cosine of the two vectors by layer."""
    model, params = default().open(MODEL), Params()
    values = contextual_vectors.uses(model, (params.one, params.two), params.word).by_layer()
    return thumbs.bars(values, ["table", "place", *(f"layer {i + 1}" for i in range(model.config.n_layers))])


EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(words.two, texts=("one", "two", "word"), promises=promises.TWO),
        Step(many.matrix, ("layer",), change=("which",), texts=("own",), promises=promises.MANY),
        Step(many.on_map, ("layer",), change=("which",), texts=("own",), promises=promises.MAP),
        Step(words.static, ("which",), promises=promises.STATIC),
        Step(many.whole_sentences, ("how",), texts=("sentence",), promises=promises.WHOLE_SENTENCES),
    ),
    tells=lambda params, word: origin.tell(model=MODEL),
    presets=(
        *({"one": one, "two": two, "word": word} for one, two, word in words.EXAMPLES[1:]),
        *({"which": which} for which in tuple(senses.WORDS)[1:]),
    ),
)
