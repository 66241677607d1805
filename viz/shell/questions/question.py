"""A lecturer's own question: a choice among options, or a number; the right answer is marked where there is one."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from core.errors import InputError
from viz.classroom.ask import AnswerFormat, Question
from viz.languages import _, ngettext

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
            require(option, _("Option {number}", number=number), LONGEST_OPTION)
        twice = [option for option in dict.fromkeys(self.options) if self.options.count(option) > 1]
        if twice:
            raise InputError(
                _("The option “{option}” is there twice.", option=twice[0]),
                _("Each option is different from the others."),
                _("Change one of the two, or delete it."),
            )
        if not 2 <= len(self.options) <= MOST_OPTIONS:
            raise InputError(
                _("The question has {options}.", options=_count(self.options)),
                _("It needs 2 to {most}, one per line.", most=MOST_OPTIONS),
                _("Add an option.") if len(self.options) < 2 else _("Delete some."),
            )
        for answer in self.right:
            if answer not in self.options:
                raise InputError(
                    _("The answer “{answer}” is not one of the options.", answer=answer),
                    _("The right option is written exactly as in the list of options."),
                    _("Put {mark} before the right option.", mark=MARK),
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
            require(self.unit, _("The unit"), LONGEST_UNIT)
        if not (math.isfinite(self.high - self.low) and self.low < self.high):
            raise InputError(
                _("No number lies between {low:g} and {high:g}.", low=self.low, high=self.high),
                _("The first number is the smaller one."),
                _("Change the two ends."),
            )
        if self.right is not None and not self.low <= self.right <= self.high:
            raise InputError(
                _(
                    "The right answer {right:g} is not between {low:g} and {high:g}.",
                    right=self.right,
                    low=self.low,
                    high=self.high,
                ),
                _("Only numbers from the first to the second can be guessed."),
                _("Change the answer, or the two ends."),
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
            _("No option is marked as right.") if choice else _("The right number is missing."),
            _("A question of a lesson has a right answer."),
            _("Put {mark} before the right option.", mark=MARK) if choice else _("Write the right number."),
        )
    return question


def require(words: str, subject: str, longest: int) -> str:
    """Return the words.

    Raises:
        InputError: they are empty, or longer than `longest` characters.
    """
    if not words.strip():
        raise InputError(
            _("{subject} is empty.", subject=subject),
            _("It has 1 to {most:,} characters.", most=longest),
            _("Write some words."),
        )
    if len(words) > longest:
        raise InputError(
            _("{subject} has {n:,} characters.", subject=subject, n=len(words)),
            _("It has {most:,} at most.", most=longest),
            _("Shorten it."),
        )
    return words


def _require_words(words: str, explanation: str) -> None:
    require(words, _("The question"), LONGEST_WORDS)
    if explanation:
        require(explanation, _("The explanation"), LONGEST_REASON)


def _count(options: tuple[str, ...]) -> str:
    return ngettext("{n} option", "{n} options", len(options)) if options else _("no options")
