"""Output of a tuned model on a text: the answer to a question, and the part of speech of each word."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from core.data.spans import Spans, spans
from core.errors import InputError
from core.maths import softmax
from core.model import Model
from core.text.tokenizer import Span

Array = NDArray[np.float64]
Edge = Literal["start", "end"]


@dataclass(frozen=True, eq=False)
class Answer:
    """A passage with the scores of its tokens: `tokens` (position,), [SEP] last, their spans in it, and both scores
    (position,).

    The question is read with it, but nothing starts or ends there: `first` is the first position of the passage in the input.
    """

    passage: str
    first: int
    tokens: tuple[str, ...]
    places: tuple[Span, ...]
    starts: Array
    ends: Array

    @cached_property
    def span_scores(self) -> Spans:
        """Return both distributions over the positions, the score of each pair, and the best pair."""
        return spans(self.starts, self.ends)

    @property
    def separate_choices(self) -> tuple[int, int]:
        """Return the most probable start and the most probable end, each chosen separately: the end may be before the start."""
        return int(self.starts.argmax()), int(self.ends.argmax())

    def text(self, span: tuple[int, int]) -> str:
        """Return the words from the first token of a span to its last; "" where there are none, or it ends before it starts."""
        held = [place for place in self.places[span[0] : span[1] + 1] if place is not None]
        return self.passage[held[0][0] : held[-1][1]] if held else ""

    def span(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the tokens of the letters from `start` to `end` of the passage; None where no tokens begin and end there."""
        firsts = [at for at, place in enumerate(self.places) if place and place[0] == start]
        lasts = [at for at, place in enumerate(self.places) if place and place[1] == end]
        return (firsts[0], lasts[-1]) if firsts and lasts and firsts[0] <= lasts[-1] else None

    def pushed(self, edge: Edge, token: int, by: float) -> Answer:
        """Return the same with one score raised by hand."""
        raised = (self.starts if edge == "start" else self.ends).copy()
        raised[token] += by
        return replace(self, starts=raised) if edge == "start" else replace(self, ends=raised)


def answer(model: Model, question: str, passage: str, longest: int = 64) -> Answer:
    """Ask a model that was tuned to find answers: [CLS] question [SEP] passage [SEP].

    Raises InputError where one of the two has no word, or the passage more than `longest` tokens.
    """
    for name, text in (("question", question), ("passage", passage)):
        if not text.strip():
            raise InputError(
                f"The {name} has no word.",
                "A question is asked about a passage.",
                "Type one, or take an example.",
            )
    found = model.run(question, pair=passage, keep=())
    first = found.segments.index(1)
    n = len(found.tokens) - first
    if n - 1 > longest:
        raise InputError(
            f"The passage has {n - 1} tokens.",
            f"This page draws passages of up to {longest}.",
            "Shorten it, or take an example.",
        )
    starts, ends = found.answer[first:].astype(np.float64).T
    return Answer(passage, first, found.tokens[first:], found.spans[first:], starts.copy(), ends.copy())


@dataclass(frozen=True, eq=False)
class Tagged:
    """A text with its tags: `tokens` (token,) without [CLS] and [SEP], which of them begin a word, and the probability of each
    tag (token, tag)."""

    text: str
    tokens: tuple[str, ...]
    places: tuple[Span, ...]
    begins: NDArray[np.bool_]
    chances: Array

    @property
    def words(self) -> tuple[str, ...]:
        """Return each word as it is written."""
        edges = [*np.flatnonzero(self.begins).tolist(), len(self.tokens)]
        held = [[place for place in self.places[a:b] if place is not None] for a, b in pairwise(edges)]
        return tuple(self.text[row[0][0] : row[-1][1]] if row else "" for row in held)

    @property
    def firsts(self) -> tuple[int, ...]:
        """Return the first token of each word: the one that is tagged."""
        return tuple(np.flatnonzero(self.begins).tolist())


def tagged(model: Model, text: str, longest: int = 40) -> Tagged:
    """Ask a model that was tuned to tag words: softmax of every token's own scores.

    Raises InputError for no word, or more than `longest` pieces.
    """
    if not text.strip():
        raise InputError("There is no word.", "Each word gets a tag.", "Type a sentence.")
    found = model.run(text, keep=())
    tokens, places = found.tokens[1:-1], found.spans[1:-1]
    if len(tokens) > longest:
        raise InputError(
            f"The sentence has {len(tokens)} tokens.",
            f"This page draws sentences of up to {longest}.",
            "Shorten it, or take an example.",
        )
    heads = {min(word.pieces) - 1 for word in found.side.words}
    begins = np.array([at in heads for at in range(len(tokens))], dtype=bool)
    return Tagged(text, tokens, places, begins, softmax(found.tags[1:-1]))


def moved_heads(before: Array, after: Array) -> Array:
    """Return the change of each head's attention, (layer, head): the mean over the queries of half of sum_j |a_ij - b_ij|, 0 to
    1.

    before, after: patterns (layer, head, query, key) of the same text.

    >>> moved_heads(np.array([[[[1.0, 0.0]]]]), np.array([[[[0.25, 0.75]]]])).tolist()
    [[0.75]]
    """
    if before.shape != after.shape:
        raise InputError(
            f"Patterns of shapes {before.shape} and {after.shape}.",
            "Heads are compared on one text.",
            "Give both for the same text.",
        )
    return np.abs(before.astype(np.float64) - after).sum(-1).mean(-1) / 2
