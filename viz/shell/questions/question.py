"""A lecturer's own question: a choice among options, or a number; the right answer is marked where there is one."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from core.errors import InputError
from viz.classroom.ask import AnswerFormat, Question

LONGEST_WORDS, LONGEST_OPTION, LONGEST_REASON, LONGEST_UNIT = 480, 200, 4_000, 20
MOST_OPTIONS = 12
MARK = "*"
"""The mark before each right option, in the form and in a lesson file; an option that itself begins with it has a \\ before it."""


@dataclass(frozen=True)
class Choice:
    """A question with a few options. `right`: those that are right, none in a poll; `explanation` is shown after the guess.

    >>> Choice("Which?", ("red", "house"), ("house",)).truth
    [1]
    """

    words: str
    options: tuple[str, ...]
    right: tuple[str, ...] = ()
    explanation: str = ""

    def __post_init__(self) -> None:
        _require_words(self.words, self.explanation)
        for number, option in enumerate(self.options, 1):
            require(option, f"Option {number}", LONGEST_OPTION)
        twice = [option for option in dict.fromkeys(self.options) if self.options.count(option) > 1]
        if twice:
            raise InputError(
                f"The option “{twice[0]}” is there twice.",
                "Each option is different from the others.",
                "Change one of the two, or delete it.",
            )
        if not 2 <= len(self.options) <= MOST_OPTIONS:
            raise InputError(
                f"The question has {_count(self.options)}.",
                f"It needs 2 to {MOST_OPTIONS}, one per line.",
                "Add an option." if len(self.options) < 2 else "Delete some.",
            )
        for answer in self.right:
            if answer not in self.options:
                raise InputError(
                    f"The answer “{answer}” is not one of the options.",
                    "The right option is written exactly as in the list of options.",
                    f"Put {MARK} before the right option.",
                )

    @property
    def form(self) -> AnswerFormat:
        """Return the form of its answers in a lecture room."""
        return AnswerFormat("choice", self.options)

    @property
    def truth(self) -> list[int] | None:
        """Return the places of the right options, counted from 0; None in a poll."""
        return [place for place, option in enumerate(self.options) if option in self.right] or None


@dataclass(frozen=True)
class Number:
    """A question whose answer is a number from `low` to `high`. `right`: the right one, None in a poll.

    >>> Number("How many?", 0, 10, 3).truth
    3
    """

    words: str
    low: float
    high: float
    right: float | None = None
    unit: str = ""
    explanation: str = ""

    def __post_init__(self) -> None:
        _require_words(self.words, self.explanation)
        if self.unit:
            require(self.unit, "The unit", LONGEST_UNIT)
        if not (math.isfinite(self.high - self.low) and self.low < self.high):
            raise InputError(
                f"No number lies between {self.low:g} and {self.high:g}.",
                "The first number is the smaller one.",
                "Change the two ends.",
            )
        if self.right is not None and not self.low <= self.right <= self.high:
            raise InputError(
                f"The right answer {self.right:g} is not between {self.low:g} and {self.high:g}.",
                "Only numbers from the first to the second can be guessed.",
                "Change the answer, or the two ends.",
            )

    @property
    def form(self) -> AnswerFormat:
        """Return the form of its answers in a lecture room."""
        return AnswerFormat("number", (), self.low, self.high, self.unit)

    @property
    def truth(self) -> float | None:
        """Return the right number; None in a poll."""
        return self.right


LecturerQuestion = Choice | Number


def to_room_question(question: LecturerQuestion, key: str) -> Question:
    """Return the question as a lecture room asks it, under `key`."""
    return Question(
        key, question.words, question.form, truth=question.truth, explanation=question.explanation
    )


def read_options(lines: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    r"""Return the options of these lines and, of them, those marked as right; blank lines are left out.

    >>> read_options(["red", "*house", "* blue", r"\*p"])
    (('red', 'house', 'blue', '*p'), ('house', 'blue'))
    """
    options, right = [], []
    for line in (" ".join(line.split()) for line in lines):
        option = re.sub(r"^\\(?=[\\*])", "", line.removeprefix(MARK).lstrip())
        options.append(option)
        if line.startswith(MARK):
            right.append(option)
    return tuple(options), tuple(right)


def write_options(question: Choice) -> list[str]:
    r"""Return one line per option, the right ones marked; `read_options` reads them again.

    >>> write_options(Choice("Which?", ("red", "*p", "house"), ("house",)))
    ['red', '\\*p', '* house']
    """
    escaped = (re.sub(r"^(?=\*|\\[\\*])", r"\\", option) for option in question.options)
    return [
        f"{MARK} {line}" if option in question.right else line
        for option, line in zip(question.options, escaped, strict=True)
    ]


def require_answer(question: LecturerQuestion) -> LecturerQuestion:
    """Return the question, where the right answer is shown after the guess.

    Raises:
        InputError: no answer is right.
    """
    if question.truth is None:
        choice = isinstance(question, Choice)
        raise InputError(
            "No option is marked as right." if choice else "The right number is missing.",
            "A question of a lesson has a right answer.",
            f"Put {MARK} before the right option." if choice else "Write the right number.",
        )
    return question


def require(words: str, subject: str, longest: int) -> str:
    """Return the words.

    Raises:
        InputError: they are empty, or longer than `longest` characters.
    """
    if not words.strip():
        raise InputError(f"{subject} is empty.", f"It has 1 to {longest:,} characters.", "Write some words.")
    if len(words) > longest:
        raise InputError(
            f"{subject} has {len(words):,} characters.", f"It has {longest:,} at most.", "Shorten it."
        )
    return words


def _require_words(words: str, explanation: str) -> None:
    require(words, "The question", LONGEST_WORDS)
    if explanation:
        require(explanation, "The explanation", LONGEST_REASON)


def _count(options: tuple[str, ...]) -> str:
    return "no options" if not options else "1 option" if len(options) == 1 else f"{len(options)} options"
