"""What the room is asked: a question, what is an answer to it, and how the answers are spread."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from core.errors import InputError
from viz.labels import phrase

BINS = 12
"""Bars of the histogram of a number that was asked for."""
MOST_OPTIONS, LONGEST = 400, 600
"""Options of a question (the words of a sentence may be options), letters of a question."""

OWN = "own"
"""How the keys of the lecturer's own questions begin: they stay when the page changes."""
Kind = Literal["choice", "word", "cell", "number"]


@dataclass(frozen=True)
class Form:
    """What an answer looks like.

    kind: "choice" is one of `options`; "word" is one of them too, touched in the sentence; "cell" is two of them, row and column;
        "number" lies from `low` to `high`, with its `unit`.
    """

    kind: Kind
    options: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 1.0
    unit: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", tuple(self.options))  # a list is no other question

    def read(self, given: Any) -> Any:
        """An answer as it is counted: the place of an option, a pair of them, or a number.

        Raises:
            InputError: it is none.

        >>> Form("choice", ("yes", "no")).read(1), Form("number", low=0, high=10).read(2), Form("cell", ("a", "b")).read([0, 1])
        (1, 2.0, (0, 1))
        """
        rule = f"An answer is the place of one of the {len(self.options)} options, counted from 0."
        if self.kind == "number":
            rule = f"An answer is a number from {self.low:g} to {self.high:g}."
            if type(given) in (int, float) and self.low <= given <= self.high:
                return float(given)
        elif self.kind == "cell":
            rule = f"An answer is a row and a column, each counted from 0 and below {len(self.options)}."
            if isinstance(given, list) and len(given) == 2 and all(map(self._is_place, given)):
                return tuple(given)
        elif self._is_place(given):
            return given
        raise InputError("This is no answer to the question.", rule, "Reload the page and answer again.")

    def _is_place(self, given: Any) -> bool:
        return type(given) is int and 0 <= given < len(self.options)

    def spread(self, answers: Collection[Any]) -> dict[str, Any]:
        """How many said what: `counts`, one an option (or a bin of numbers, with `edges` and `median`), or `cells` [row, column, count].

        >>> Form("choice", ("yes", "no")).spread([0, 0, 1])
        {'counts': [2, 1]}
        >>> Form("number", low=0, high=12).spread([0.0, 1.5, 12.0])["counts"]
        [1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
        """
        if self.kind == "number":
            width = (self.high - self.low) / BINS
            counts = [0] * BINS
            for answer in answers:
                counts[min(int((answer - self.low) / width), BINS - 1)] += 1
            edges = [self.low + i * width for i in range(BINS + 1)]
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
    """One question before the room. `key`: whose it is, such as "scaling.spread"; the lecturer's own ones begin with "own".

    truth: the places of the options that are right, or the number; None where nobody said it. why: what is said of it.
    first: the answers of the first vote, where the room discussed and voted again. near: how far from the number an answer is still right.
    """

    key: str
    words: str
    form: Form
    id: str = ""
    answers: dict[str, Any] = field(default_factory=dict)
    revealed: bool = False
    truth: Sequence[int] | float | None = None
    why: str = ""
    first: dict[str, Any] = field(default_factory=dict)
    near: float = 0.0

    def __post_init__(self) -> None:
        form = self.form
        if not self.words.strip():
            raise InputError(
                "The question is empty.",
                f"It has 1 to {LONGEST} characters.",
                "Write what the room shall answer.",
            )
        if len(self.words) > LONGEST:
            raise InputError(
                f"The question has {len(self.words):,} characters.",
                f"It has {LONGEST} at most.",
                "Write it shorter.",
            )
        if form.kind != "number" and not 1 < len(form.options) <= MOST_OPTIONS:
            raise InputError(
                f"The question has {len(form.options)} option{'s' * (len(form.options) != 1)}.",
                f"It needs 2 to {MOST_OPTIONS}.",
                "Write more words in the sentence."
                if form.kind != "choice" and len(form.options) < 2
                else "Write each option on a line of its own.",
            )
        if form.kind == "number" and not (math.isfinite(form.high - form.low) and form.low < form.high):
            raise InputError(
                f"No number lies from {form.low:g} to {form.high:g}.",
                "The first must be the smaller one.",
                "Give two numbers.",
            )

    @property
    def same(self) -> tuple[str, str, Form]:
        """What makes it this question and no other."""
        return self.key, self.words, self.form

    def state(self) -> dict[str, Any]:
        """All of it as JSON has it."""
        return asdict(self)

    @staticmethod
    def of(state: Mapping[str, Any]) -> Question:
        """The question of which `state()` was given.

        >>> import json
        >>> question = Question("own", "Which?", Form("cell", ("a", "b")), answers={"x": (0, 1)})
        >>> Question.of(json.loads(json.dumps(question.state()))) == question
        True
        """
        form = Form(**{**state["form"], "options": tuple(state["form"]["options"])})
        votes = {
            vote: {seat: _given(answer) for seat, answer in state[vote].items()}
            for vote in ("answers", "first")
        }
        return Question(**{**state, "form": form, **votes})

    def again(self) -> None:
        """Once more, after a discussion: what was answered is the first vote."""
        self.id, self.first, self.answers = f"{self.id}-2", self.answers, {}

    def changed(self) -> dict[str, int] | None:
        """Of those who voted twice (`both`), how many went from wrong to right and back; None where there is no right answer.

        >>> form = Form("choice", ("a", "b"))
        >>> question = Question("own", "Which?", form, truth=[1], first={"x": 0, "y": 1, "z": 1}, answers={"x": 1, "y": 0})
        >>> question.changed()
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

    def shown(self) -> dict[str, Any]:
        """Return what everybody may know: before it is revealed, nothing of what was answered. Texts are as the lecturer's page shows them.

        >>> Question("own", "play and ##ing?", Form("choice", ("##ing", "a b\\n"))).shown()["options"]
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
            "own": self.key.startswith(OWN),
        }
        if self.revealed:
            answers = list(self.answers.values())
            asked |= {
                "answered": len(answers),
                "truth": self.truth,
                "near": self.near,
                "why": "\n".join(phrase(line) if line else "" for line in self.why.split("\n")),
                **form.spread(answers),
            }
            if self.first:
                first = list(self.first.values())
                asked |= {
                    "before": {"answered": len(first), **form.spread(first)},
                    "changed": self.changed(),
                }
        return asked

    def own(self, seat: str) -> dict[str, Any] | None:
        """Return what one seat answered, in this vote and in the first; None for nothing.

        >>> Question("own", "Which?", Form("choice", ("a", "b")), id="q", answers={"x": 1}).own("x")
        {'id': 'q', 'answer': 1}
        """
        votes = (("answer", self.answers), ("first", self.first))
        given = {name: vote[seat] for name, vote in votes if seat in vote}
        return {"id": self.id, **given} if given else None

    def so_far(self) -> dict[str, Any]:
        """Return, for the lecturer alone, the spread of the answers and which of them are right, as after the reveal.

        >>> Question("own", "Which?", Form("choice", ("a", "b")), answers={"x": 1}, truth=[1]).so_far()["counts"]
        [0, 1]
        """
        return replace(self, revealed=True, why="").shown() | {"revealed": self.revealed}

    def majority(self) -> Any:
        """What most answered last (of numbers the median); None where nobody did.

        >>> question = Question("own", "Which?", Form("choice", ("a", "b")), answers={"x": 1, "y": 1, "z": 0})
        >>> question.majority()
        1
        """
        answers = self.answers or self.first
        if not answers:
            return None
        if self.form.kind == "number":
            return statistics.median(answers.values())
        return Counter(answers.values()).most_common(1)[0][0]


def replaces(question: Question | None, now: Question | None) -> bool:
    """Whether this is not what is asked now, or another answer is right while it is open.

    >>> form = Form("choice", ("a", "b")); one = Question("own", "Which?", form, truth=[0])
    >>> replaces(one, one), replaces(Question("own", "Which?", form, truth=[1]), one), replaces(None, one)
    (False, True, True)
    """
    if now is None or question is None or now.same != question.same:
        return (question and question.same) != (now and now.same)
    return not now.revealed and question.truth is not None and question.truth != now.truth


def _given(answer: Any) -> Any:
    """An answer as it is counted, from what JSON made of it."""
    return tuple(answer) if isinstance(answer, list) else answer
