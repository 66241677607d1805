"""The form of an exercise, and helpers that make its numbers fit for work by hand.

A student who works by hand rounds on the way. So does the solution, to `MIDDLE` decimals in between; an exercise whose answer would be another
one without that rounding, or in which a number is halfway between two, is drawn again (`Doubtful`). What is printed is then right
both for the student with a pocket calculator and for the library that computes it exactly.

Words hold mathematics between two dollar signs, in the one-line form of `viz.course.equations.form`; a step's `line` is such a line.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from viz.languages import _
from viz.number_text import row_of_numbers, trimmed

MIDDLE = 4
"""Decimals of a number in between."""
MOST_SEED = 9999
_TRIES = 400


class Doubtful(Exception):
    """The drawn numbers lie so that rounding on the way could change what is printed."""


@dataclass(frozen=True)
class Step:
    """One step of a solution: what is done, and the line of arithmetic that does it."""

    words: str
    line: str = ""


@dataclass(frozen=True)
class Blank:
    """A field that a student fills in on a learning platform: its label and its right content.

    A number is right if it differs by at most one unit in the last of its `decimals`; True and False are the words yes and no.
    """

    label: str
    value: float | bool | str
    decimals: int = 0

    @property
    def text(self) -> str:
        """Return the content as it is typed.

        >>> Blank("weight", 0.05, 3).text, Blank("masked", True).text, Blank("number", 8).text
        ('0.050', 'yes', '8')
        """
        if isinstance(self.value, bool):
            return "yes" if self.value else "no"
        return self.value if isinstance(self.value, str) else f"{self.value:.{self.decimals}f}"

    @property
    def tolerance(self) -> float:
        """Return by how much a number may differ; 0 for a whole one."""
        return 1.001 * 10.0**-self.decimals if self.decimals else 0.0


@dataclass(frozen=True)
class Exercise:
    """A question with its numbers, and its solution.

    `head` and `rows` are a table below the question. `room`: lines to write on. `inputs` holds the numbers by name and `result` those of
    the answer, as data: who checks the sheet calculates with them. `answer` says the result in words, and `blanks` asks for it field by field.
    """

    question: str
    answer: str
    steps: tuple[Step, ...]
    inputs: Mapping[str, Any]
    result: tuple[Any, ...]
    blanks: tuple[Blank, ...]
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    room: int = 6


@dataclass(frozen=True)
class Kind:
    """A kind of exercise: its key in the link, its English name, the exhibit that teaches it ("" for none), what draws one.

    `cost`: of drawing one, see core.serving.engine. `also`: other exhibits that teach what it asks.
    """

    key: str
    name: str
    page: str
    make: Callable[[random.Random], Exercise]
    cost: float = 1.0
    also: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Return the name, in the visitor's language."""
        return _(self.name)

    def draw(self, seed: int, number: int = 1) -> Exercise:
        """Return the exercise of a seed, the same for everybody; `number` counts those of one kind on one sheet.

        Raises:
            RuntimeError: no draw is fit for work by hand; a mistake in `make`, which no seed should meet.
        """
        chance = random.Random(f"{self.key}:{seed}:{number}")
        for _try in range(_TRIES):
            try:
                return self.make(chance)
            except Doubtful:
                continue
        raise RuntimeError(f"no exercise of the kind {self.key!r} could be drawn with seed {seed}")


def number_blanks(labels: Sequence[str], values: Sequence[float], decimals: int = 0) -> tuple[Blank, ...]:
    """Return a field for each of several numbers."""
    return tuple(Blank(label, value, decimals) for label, value in zip(labels, values, strict=True))


def rounded(value: float, decimals: int = MIDDLE) -> float:
    """Round a number as one does by hand.

    >>> rounded(0.12346), rounded(2.0, 0)
    (0.1235, 2.0)

    Raises:
        Doubtful: it is halfway between two, where people and computers round differently.
    """
    scaled = abs(value) * 10**decimals
    if abs(scaled - math.floor(scaled) - 0.5) < 1e-6:
        raise Doubtful
    return round(value, decimals) + 0.0


def agreed(by_hand: float, exact: float, decimals: int) -> float:
    """Return the answer, rounded, if rounding on the way did not change it.

    >>> agreed(0.12341, 0.1234, 3)
    0.123

    Raises:
        Doubtful: it did.
    """
    found = rounded(by_hand, decimals)
    if found != rounded(exact, decimals):
        raise Doubtful
    return found


def agreed_all(by_hand: Sequence[float], exact: Sequence[float], decimals: int) -> tuple[float, ...]:
    """Return several answers, rounded, if rounding on the way changed none of them."""
    return tuple(agreed(one, other, decimals) for one, other in zip(by_hand, exact, strict=True))


def inside(value: float, decimals: int = MIDDLE) -> str:
    """Return a number as text for the middle of a product or a difference: a negative one is in brackets.

    >>> inside(-1.5), inside(2), inside(0)
    ('( −1.5 )', '2', '0')
    """
    return f"( {trimmed(value, decimals)} )" if value < 0 else trimmed(value, decimals)


def vector(values: Sequence[float], decimals: int = MIDDLE) -> str:
    """Return numbers as the text of a vector in square brackets.

    >>> vector([1, -2.5])
    '[ 1 ; −2.5 ]'
    """
    return "[ " + row_of_numbers(values, decimals, " ; ", short=True) + " ]"


def total(terms: Sequence[str], result: str) -> str:
    """Return a line of mathematics that adds terms: "a + b = result"."""
    return f"{' + '.join(terms)} = {result}"


def below(*lines: str) -> str:
    """Return lines of mathematics as one that sets them below each other."""
    return f"lines{{ {' }{ '.join(lines)} }}" if len(lines) > 1 else "".join(lines)
