"""A question to the room, its form of answer, and the count of each answer."""

from __future__ import annotations

import bisect
import math
import statistics
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from core.errors import InputError
from viz.labels import phrase, typeset
from viz.languages import mark

BINS = 12
"""Bars of the histogram of a number at most; their edges are round numbers."""
MOST_OPTIONS, LONGEST = 400, 600
"""Options of a question (the words of a sentence may be options), letters of a question."""

OWN_KEY = "own"
"""How the keys of the lecturer's own questions begin: they stay when the page changes."""
Kind = Literal["choice", "word", "cell", "number"]


@dataclass(frozen=True)
class AnswerFormat:
    """The form of an answer.

    kind: "choice" is one of `options`; "word" is one of them too, touched in the sentence; "cell" is two of them, row and column;
        "number" is one from `low` to `high`, with its `unit`.
    """

    kind: Kind
    options: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 1.0
    unit: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", tuple(self.options))  # a list is no other question

    def read(self, answer: Any) -> Any:
        """Return an answer as it is counted: the place of an option, a pair of them, or a number.

        Raises:
            InputError: it does not have this form.

        >>> AnswerFormat("choice", ("yes", "no")).read(1), AnswerFormat("number", low=0, high=10).read(2), AnswerFormat("cell", ("a", "b")).read([0, 1])
        (1, 2.0, (0, 1))
        """
        rule = mark("An answer is the place of one of the {n} options, counted from 0.")
        if self.kind == "number":
            rule = mark("An answer is a number from {low:g} to {high:g}.")
            if type(answer) in (int, float) and self.low <= answer <= self.high:
                return float(answer)
        elif self.kind == "cell":
            rule = mark("An answer is a row and a column, each counted from 0 and below {n}.")
            if isinstance(answer, list) and len(answer) == 2 and all(map(self._is_place, answer)):
                return tuple(answer)
        elif self._is_place(answer):
            return answer
        raise InputError(
            "This does not answer the question.",
            rule,
            "Reload the page and answer again.",
            n=len(self.options),
            low=self.low,
            high=self.high,
        )

    def edges(self) -> list[float]:
        """Return both ends and, between them, the multiples of the smallest 1, 2 or 5 times a power of ten that gives at most `BINS` bins.

        >>> AnswerFormat("number", low=0, high=100).edges(), AnswerFormat("number", low=0.5, high=2).edges()[:4]
        ([0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100], [0.5, 0.6, 0.8, 1.0])
        """
        least = (self.high - self.low) / BINS
        if least < 1e-300:
            return [self.low, self.high]
        power = 10.0 ** math.floor(math.log10(least))
        inner: list[float] = []
        for step in (power * times for times in (1, 2, 5, 10, 20)):
            places = range(math.floor(self.low / step), math.ceil(self.high / step) + 1)
            if len(places) <= BINS + 3:
                inner = [float(f"{place * step:.12g}") for place in places]
                inner = [edge for edge in inner if self.low < edge < self.high]
                if len(inner) < BINS:
                    break
        return [self.low, *inner, self.high]

    def _is_place(self, answer: Any) -> bool:
        return type(answer) is int and 0 <= answer < len(self.options)

    def tally(self, answers: Collection[Any]) -> dict[str, Any]:
        """Count the answers: `counts`, one per option (or per bin of numbers, with `edges` and `median`), or `cells` [row, column, count].

        >>> AnswerFormat("choice", ("yes", "no")).tally([0, 0, 1])
        {'counts': [2, 1]}
        >>> AnswerFormat("number", low=0, high=12).tally([0.0, 1.5, 12.0])["counts"]
        [1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
        """
        if self.kind == "number":
            edges = self.edges()
            counts = [0] * (len(edges) - 1)
            for answer in answers:
                counts[min(bisect.bisect_right(edges, answer), len(counts)) - 1] += 1
            return {
                "counts": counts,
                "edges": edges,
                "median": statistics.median(answers) if answers else None,
            }
        found = Counter(answers)
        if self.kind == "cell":
            return {"cells": [[*cell, count] for cell, count in sorted(found.items())]}
        return {"counts": [found[place] for place in range(len(self.options))]}


@dataclass
class Question:
    """One question to the room. `key`: the name of its page's question, such as "scaling.spread"; the lecturer's own ones begin with "own".

    truth: the places of the options that are right, or the number; None in a poll. explanation: the explanation after the reveal.
    first: the answers of the first vote, where the room discussed and voted again. near: how far from the number an answer is still right.
    """

    key: str
    words: str
    form: AnswerFormat
    id: str = ""
    answers: dict[str, Any] = field(default_factory=dict)
    revealed: bool = False
    truth: Sequence[int] | float | None = None
    explanation: str = ""
    first: dict[str, Any] = field(default_factory=dict)
    near: float = 0.0

    def __post_init__(self) -> None:
        form = self.form
        if not self.words.strip():
            raise InputError(
                "The question is empty.",
                "It has 1 to {most} characters.",
                "Write a question for the room.",
                most=LONGEST,
            )
        if len(self.words) > LONGEST:
            raise InputError(
                "The question has {n:,} characters.",
                "It has {most} at most.",
                "Shorten it.",
                n=len(self.words),
                most=LONGEST,
            )
        if form.kind != "number" and not 1 < len(form.options) <= MOST_OPTIONS:
            raise InputError(
                "The question has 1 option." if len(form.options) == 1 else "The question has {n} options.",
                "It needs 2 to {most}.",
                _remedy(form),
                n=len(form.options),
                most=MOST_OPTIONS,
            )
        if form.kind == "number" and not (math.isfinite(form.high - form.low) and form.low < form.high):
            raise InputError(
                "No number lies between {low:g} and {high:g}.",
                "The first number is the smaller one.",
                "Change the two ends.",
                low=form.low,
                high=form.high,
            )

    @property
    def identity(self) -> tuple[str, str, AnswerFormat]:
        """Return key, words and form of answer: two questions with the same three are the same question."""
        return self.key, self.words, self.form

    def state(self) -> dict[str, Any]:
        """Return the question as a dictionary that JSON can write."""
        return asdict(self)

    @staticmethod
    def from_state(state: Mapping[str, Any]) -> Question:
        """Return the question from its `state()`.

        >>> import json
        >>> question = Question("own", "Which?", AnswerFormat("cell", ("a", "b")), answers={"x": (0, 1)})
        >>> Question.from_state(json.loads(json.dumps(question.state()))) == question
        True
        """
        parts: dict[str, Any] = {
            vote: {seat: _from_json(answer) for seat, answer in state[vote].items()}
            for vote in ("answers", "first")
        }
        parts["form"] = AnswerFormat(**state["form"] | {"options": tuple(state["form"]["options"])})
        return Question(**{**state, **parts})

    def start_second_vote(self) -> None:
        """Begin the second vote, after a discussion: the answers so far become the first vote."""
        self.id, self.first, self.answers = f"{self.id}-2", self.answers, {}

    def vote_changes(self) -> dict[str, int] | None:
        """Count, of those who voted twice (`both`), the changes from wrong to right and back; None where there is no right answer.

        >>> form = AnswerFormat("choice", ("a", "b"))
        >>> question = Question("own", "Which?", form, truth=[1], first={"x": 0, "y": 1, "z": 1}, answers={"x": 1, "y": 0})
        >>> question.vote_changes()
        {'both': 2, 'to_right': 1, 'to_wrong': 1}
        """
        if self.truth is None or isinstance(self.truth, (int, float)) or not self.first:
            return None
        both = [
            (self.first[seat] in self.truth, self.answers[seat] in self.truth)
            for seat in self.first.keys() & self.answers.keys()
        ]
        return {
            "both": len(both),
            "to_right": both.count((False, True)),
            "to_wrong": both.count((True, False)),
        }

    def public_state(self) -> dict[str, Any]:
        """Return what everybody may know: before it is revealed, nothing of what was answered. Texts are as the lecturer's page shows them.

        >>> Question("own", "play and ##ing?", AnswerFormat("choice", ("##ing", "a b\\n"))).public_state()["options"]
        ['##ing', 'a b↵']
        """
        form = self.form
        asked: dict[str, Any] = {
            "id": self.id,
            "words": phrase(self.words),
            "kind": form.kind,
            "options": list(map(phrase, form.options)),
            "low": form.low,
            "high": form.high,
            "unit": form.unit,
            "revealed": self.revealed,
            "again": bool(self.first),
            "own": self.key.startswith(OWN_KEY),
            "typeset": {"words": _runs(phrase(self.words))},
        }
        if self.revealed:
            answers = list(self.answers.values())
            why = "\n".join(phrase(line) if line else "" for line in self.explanation.split("\n"))
            asked |= {
                "answered": len(answers),
                "truth": self.truth,
                "near": self.near,
                "why": why,
                "typeset": {**asked["typeset"], "why": _runs(why)},
                **form.tally(answers),
            }
            if self.first:
                first = list(self.first.values())
                asked |= {
                    "before": {"answered": len(first), **form.tally(first)},
                    "changed": self.vote_changes(),
                }
        return asked

    def votes_of(self, seat: str) -> dict[str, Any] | None:
        """Return what one seat answered, in this vote and in the first; None for nothing.

        >>> Question("own", "Which?", AnswerFormat("choice", ("a", "b")), id="q", answers={"x": 1}).votes_of("x")
        {'id': 'q', 'answer': 1}
        """
        votes = (("answer", self.answers), ("first", self.first))
        given = {name: vote[seat] for name, vote in votes if seat in vote}
        return {"id": self.id, **given} if given else None

    def lecturer_state(self) -> dict[str, Any]:
        """Return, for the lecturer alone, the count of each answer and which of them are right, as after the reveal.

        >>> Question("own", "Which?", AnswerFormat("choice", ("a", "b")), answers={"x": 1}, truth=[1]).lecturer_state()["counts"]
        [0, 1]
        """
        return replace(self, revealed=True, explanation="").public_state() | {"revealed": self.revealed}

    def majority(self) -> Any:
        """Return the most frequent answer of the last vote (of numbers the median); None without answers.

        >>> question = Question("own", "Which?", AnswerFormat("choice", ("a", "b")), answers={"x": 1, "y": 1, "z": 0})
        >>> question.majority()
        1
        """
        answers = self.answers or self.first
        if not answers:
            return None
        if self.form.kind == "number":
            return statistics.median(answers.values())
        return Counter(answers.values()).most_common(1)[0][0]


def is_new_question(question: Question | None, now: Question | None) -> bool:
    """Return whether this is another question than the one that is open now, or has another right answer.

    >>> form = AnswerFormat("choice", ("a", "b")); one = Question("own", "Which?", form, truth=[0])
    >>> is_new_question(one, one), is_new_question(Question("own", "Which?", form, truth=[1]), one), is_new_question(None, one)
    (False, True, True)
    """
    if now is None or question is None or now.identity != question.identity:
        return (question and question.identity) != (now and now.identity)
    return not now.revealed and question.truth is not None and question.truth != now.truth


def _from_json(answer: Any) -> Any:
    """Return an answer as it is counted, from JSON's form of it."""
    return tuple(answer) if isinstance(answer, list) else answer


def _remedy(form: AnswerFormat) -> str:
    """Return how to come to a number of options that is allowed."""
    if form.kind == "choice":
        few, many = mark("Write each option on a line of its own."), mark("Delete some options.")
    else:
        few, many = mark("Write more words in the sentence."), mark("Write a shorter sentence.")
    return few if len(form.options) < 2 else many


def _runs(text: str) -> list[list[str]]:
    """Return the parts of a text with an index or a power, as JSON has them."""
    return [list(run) for run in typeset(text)]
