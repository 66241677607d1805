"""The outputs of heads of fine-tuning as people read them: probabilities of classes, a tag for each word, the answer in a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.maths import sigmoid, softmax
from core.model import Model
from core.run import Run

if TYPE_CHECKING:
    from jaxtyping import Float


Array = np.ndarray
MAX_ANSWER_TOKENS = 40
"""Tokens that an answer may have."""


def activation_of(model: Model) -> str:
    """Return what turns a model's scores into probabilities: "softmax" over all, "sigmoid" of each class by itself,
    "none" for a score that is no probability.
    """
    if model.main_output == "score":
        return "none"
    return (
        "sigmoid"
        if model.main_output == "classes" and model.head is not None and model.head.several
        else "softmax"
    )


def chances(model: Model, scores: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Return the probabilities that a model's scores stand for, by `activation_of`; a score itself."""
    made = {"softmax": softmax, "sigmoid": sigmoid, "none": lambda values: values.astype(np.float64)}
    return made[activation_of(model)](scores)


@dataclass(frozen=True)
class TaggedWord:
    """A word with the most probable tag of its first token, the one at `row`, and the tag's probability."""

    word: str
    tag: str
    chance: float
    row: int = 0


def tagged_words(run: Run) -> list[TaggedWord]:
    """Return every word of the text with its tag."""
    side = run.side
    special, chances, names = (
        set(side.special_positions),
        softmax(run.tags[: side.n_real]),
        run.model.tag_names,
    )
    places = [(word.text, word.pieces[0]) for word in side.words if word.pieces[0] < side.n_real]
    return [
        TaggedWord(text, names[best], float(chances[place, best]), place)
        for text, place in places
        if place not in special
        for best in (int(chances[place].argmax()),)
    ]


@dataclass(frozen=True)
class Span:
    """An answer in a text: its words, the probability that an answer begins with the first and that it ends with the last token."""

    text: str
    begins: float
    ends: float
    tokens: tuple[int, int]


def answer_span(run: Run) -> Span | None:
    """Return the span with the largest sum of both scores among the tokens of the second text, or of the only one; None without a token there."""
    side = run.source or run.side
    scores = run.answer[: side.n_real].astype(np.float64)
    asked = [
        place
        for place in range(side.n_real)
        if side.spans[place] is not None and (side.pair is None or side.segments[place] == 1)
    ]
    if not asked:
        return None
    sums = scores[asked, 0][:, None] + scores[asked, 1][None, :]
    n = len(asked)
    allowed = np.triu(np.ones((n, n), dtype=bool)) & ~np.triu(np.ones((n, n), dtype=bool), MAX_ANSWER_TOKENS)
    first, last = np.unravel_index(np.where(allowed, sums, -np.inf).argmax(), sums.shape)
    begin, end = asked[int(first)], asked[int(last)]
    chances = softmax(scores.T)
    first_span, last_span = side.spans[begin], side.spans[end]
    assert first_span is not None and last_span is not None
    text = side.text if side.pair is None else side.pair
    return Span(
        text[first_span[0] : last_span[1]],
        float(chances[0, begin]),
        float(chances[1, end]),
        (begin, end),
    )
