"""The claims of the exhibit on answers and tags, each a condition on the models that a page uses."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from viz.course.bert.spans_and_tags import answers, maths
from viz.course.bert.spans_and_tags.answers import RELIABLE
from viz.course.bert.spans_and_tags.maths import Answer, Tagged
from viz.course.bert.spans_and_tags.pairs import crossing, where
from viz.course.bert.spans_and_tags.params import LONGEST, Models, Params
from viz.course.bert.tuning_live import BEFORE
from viz.widgets import engine_client

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MOST = 0.5


@lru_cache(maxsize=16)
def answered(model: str, question: str, passage: str) -> Answer:
    """Return the answer of a model to a question about a passage."""
    return maths.answer(engine_client.open(model), question, passage, LONGEST)


def page_answer(params: Params, models: Models) -> Answer:
    """Return the answer to the question of the page."""
    return answered(str(models["answers"].model), params.question, params.passage)


def tagged(params: Params, models: Models) -> Tagged:
    """Return the tags of the sentence of the page."""
    return maths.tagged(engine_client.open(str(models["tags"].model)), params.text)


def sort_of(text: str) -> str:
    """Return the sort of question that a text could answer.

    >>> [sort_of(text) for text in ("Rosa", "on Monday", "in the barn", "a red hat", "red")]
    ['who', 'when', 'where', 'what', 'color']
    """
    if any(day in text for day in DAYS):
        return "when"
    if text[:2] == "a ":
        return "what"
    return "where" if " " in text else "who" if text[:1].isupper() else "color"


def sort_is_found_and_sentence_is_not(params: Params, models: Models) -> bool:
    """Check the first line of the page: few answers are right, and most answers of the pool are of the right sort."""
    used = models["answers"]
    if used.reports[-1].right >= RELIABLE:
        return True
    found = [(item, answered(str(used.model), item.question, item.passage)) for item in answers.pool()]
    sorts = [sort_of(one.text(one.span_scores.best)) == item.kind for item, one in found]
    return (
        float(np.mean(sorts))
        > MOST
        > float(np.mean([one.text(one.span_scores.best) == item.answer for item, one in found]))
    )


def choices_cross(params: Params, models: Models) -> bool:
    """Check that the push of the question makes the end come before the start, and that the answer still does not."""
    one = page_answer(params, models)
    crossed = one.pushed(*where(one), crossing(one))
    return (
        crossed.separate_choices[1] < crossed.separate_choices[0]
        and crossed.span_scores.best[0] <= crossed.span_scores.best[1]
    )


def one_word_two_tags(params: Params, models: Models) -> bool:
    """Check that in the opening text a word that comes twice gets two tags."""
    if params.text != Params().text:
        return True
    one = tagged(params, models)
    words = [word.lower() for word in one.words]
    found = {(word, int(one.chances[at].argmax())) for word, at in zip(words, one.firsts, strict=True)}
    return any(len({tag for other, tag in found if other == word}) > 1 for word in words)


def attention_moved(params: Params, models: Models) -> bool:
    """Check that tuning changed a tenth of the attention of some head, and a part of every head's."""
    runs = [
        engine_client.open(name).run(params.question, pair=params.passage, keep=("*.pattern",))
        for name in (BEFORE, str(models["answers"].model))
    ]
    moved = maths.moved_heads(*(run.attention().weights for run in runs))
    return bool(moved.max() > 0.1 and moved.min() > 0)


MARKING = {
    "the opening question is answered correctly": lambda params, models: (
        (known := answers.truth(params)) is not None
        and page_answer(params, models).text(page_answer(params, models).span_scores.best) == known.answer
    ),
    "the sort of answer is mostly found, the sentence is not": sort_is_found_and_sentence_is_not,
}
PAIRS = {"pushed by hand, the two choices cross and the answer does not": choices_cross}
TAGGING = {
    "a word that comes twice gets two tags": one_word_two_tags,
    "nearly all words of new sentences get the right tag": lambda params, models: (
        models["tags"].reports[-1].right >= 0.95
    ),
    "each token has a distribution of its own": lambda params, models: bool(
        (abs(tagged(params, models).chances.sum(1) - 1) < 1e-6).all()
    ),
}
LOOKED = {"tuning moved the attention of every head": attention_moved}
TRAINED = {
    "more answers and tags are right than before the first step": lambda params, models: all(
        used.reports[-1].right > used.reports[0].right + 0.1 for used in models.values()
    ),
}
