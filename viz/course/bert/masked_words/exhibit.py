"""BERT's training: fill blanks. Which tokens are chosen, their replacement, the value of both sides."""

from __future__ import annotations

from core.serving.engine import default
from viz.charts import thumbs
from viz.course.bert import hidden_words
from viz.course.bert.masked_words import blanks, draws, promises, recipe
from viz.course.bert.masked_words.params import LONGEST, MODEL, SENTENCES, Params
from viz.course.exhibit import Exhibit, Step
from viz.instruments.kit import origin


def compute(params: Params) -> hidden_words.Text:
    """Return the sentence as bert-mini reads it. Errors: InputError for no word, or more than can be drawn."""
    return hidden_words.read(default().open(MODEL), params.text, LONGEST)


def thumbnail() -> str:
    """Draw the predictions at the opening blank."""
    params = Params()
    best = blanks.guess(default().open(MODEL), compute(params), params).best
    return thumbs.bars([chance for _, chance in best], [word for word, _ in best], 0)


RATES = ("share", "masked", "redrawn")
EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(blanks.blank, texts=("text",), promises=promises.BLANK),
        Step(draws.one_draw, ("draw",), change=RATES, texts=("text",), promises=promises.ONE_DRAW),
        Step(draws.counted, ("draw", "draws"), change=RATES, texts=("text",), promises=promises.COUNTED),
        Step(blanks.sides, texts=("text",), promises=promises.SIDES),
        Step(blanks.both_or_left, texts=("text",), promises=promises.BOTH_OR_LEFT),
        Step(recipe.recipe, ("warm_up", "steps", "sequences", "length"), promises=promises.RECIPE),
    ),
    tells=lambda params, data: origin.tell(model=MODEL, text=params.text),
    presets=tuple({"text": text} for text in SENTENCES[1:]),
)
