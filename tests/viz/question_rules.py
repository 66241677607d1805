"""Rules for a question of the course: one clear answer among several, a number that says something."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lesson_numbers import EDGES, EXACT, MEANT

from viz.widgets import quiz

FIGURE = r"([−-]?\d[\d,]*(?:\.\d+)?(?:\s?·\s?10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)?(?:\s?%)?)"


@dataclass(frozen=True)
class Asked:
    """A question as it was put. `kind`: how it is answered; `options`: answers, or the ends of a slider."""

    kind: str
    key: str
    question: str
    options: Any
    answer: Any
    near: float = 0.0
    unit: str = ""
    explanation: str = ""


def units(told: str) -> set[str]:
    """In which units surprisal and entropy are told.

    >>> sorted(units("1.76 nats per token, 2.5 bits; 1.1 bits per byte"))
    ['bit', 'nat']
    """
    return {found.rstrip("s") for found in re.findall(r"\d (bits?|nats?)\b(?! hold| per byte)", told)}


def one_of_several(asked: Asked) -> None:
    """At least two different answers, the right one among them, and none as good as it."""
    options = list(asked.options)
    assert len({option.strip() for option in options}) == len(options) >= 2 and asked.answer in options, asked
    if isinstance(asked.options, Mapping):
        right = float(asked.options[asked.answer])
        level = [
            option
            for option, number in asked.options.items()
            if option != asked.answer and quiz.tied(float(number), right)
        ]
        assert not level, f"{asked.key}: {asked.answer!r} ({right:.4g}) is level with {level}"
    elif asked.key in EDGES:
        words, value, edges = EDGES[asked.key]
        number = value(*map(figure, where(words, f"{asked.question} {asked.explanation}").groups()))
        assert not [edge for edge in edges if quiz.tied(number, edge)], (
            f"{asked.key}: {number:.4g} is on an edge of {edges}"
        )
    else:
        assert sum(asked.key in keys for keys in EXACT.values()) == 1, (
            f"{asked.key}: give each answer its number, or say in lesson_numbers.py why no two can be nearly as good"
        )


def where(words: str, told: str) -> re.Match[str]:
    """Where a text says these words, with a number for each `{}` and whatever it likes for `…`."""
    told = told.replace("\\", "").replace("\u00a0", " ")
    found = re.search(re.escape(words).replace("…", ".*?").replace(r"\{\}", FIGURE), told, re.DOTALL)
    assert found, f"{words!r} is not said:\n{told}"
    return found


def on_a_slider(asked: Asked) -> None:
    """The answer lies on the slider and away from where it stands before anyone thought; it is not 0, 1 or all, unless that is meant."""
    (low, high), scale = asked.options, 100 if asked.unit == "%" else 1
    assert low <= asked.answer <= high and 0 <= asked.near < (high - low) / 4, asked
    first, last, step = quiz._notches(low * scale, high * scale)
    stands = (first + step * round((last - first) / step / 2)) / scale
    assert abs(asked.answer - stands) > asked.near, (
        f"{asked.key}: the middle, where the slider stands, is right"
    )
    assert asked.key in MEANT or not trivial(
        asked.answer * scale, share=asked.unit == "%" or high <= 1, all_of=high * scale
    ), asked


def to_be_touched(asked: Asked) -> None:
    assert asked.answer.strip()


def figure(text: str) -> float:
    """A number of the page.

    >>> figure("−1,280.5"), figure("2 · 10⁻³"), figure("94.2%")
    (-1280.5, 0.002, 94.2)
    """
    plain = text.replace(",", "").replace("−", "-").replace("%", "").replace(" ", "")
    digits, _, power = plain.partition("·10")
    return float(digits) * 10.0 ** int(power.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")) or 0)


def trivial(value: float, *, share: bool, all_of: float) -> bool:
    """Whether a number says nothing: none, or of a share (nearly) none or all.

    >>> trivial(0.0, share=False, all_of=1), trivial(0.995, share=True, all_of=1), trivial(0.3, share=True, all_of=100), trivial(26, share=False, all_of=42)
    (True, True, True, False)
    """
    return value == 0 or (share and (quiz.tied(value, all_of) or abs(value) < 0.005 * all_of))
