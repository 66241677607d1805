"""What a lesson is: its stops, each a view of the atlas with a note, its minutes and a question; and how it is ordered anew."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Literal

from core.errors import InputError
from viz.shell.questions.question import Own, require_answer

MOST_STOPS, LONGEST_NAME, LONGEST_NOTE, LONGEST_ASKS = 60, 120, 4_000, 1_000
LEAST_MINUTES, MOST_MINUTES = 0.5, 120.0
NEAR = 0.05
"""A guessed number is right within this share of what can be guessed."""
OF_THE_PAGE: Literal["page"] = "page"
"""The question of a stop whose view asks one itself."""


Ask = Own | Literal["page"] | None
"""The question of a stop: an own one, the one that its view asks itself, or none."""


@dataclass(frozen=True)
class Stop:
    """One view of a lesson.

    view: its link, relative to the atlas, such as "masks?masks.step=2". note: what the lecturer says, shown to the lecturer alone. optional: it may be skipped.
    asks: the words of the question that the view asks itself, where `question` is "page".

    >>> Stop("masks", "The mask", "Say why.", 3).name
    'The mask'
    """

    view: str
    name: str
    note: str = ""
    minutes: float = 3.0
    question: Ask = None
    optional: bool = False
    asks: str = ""

    def __post_init__(self) -> None:
        short(self.name, "The name of a stop", LONGEST_NAME)
        if len(self.note) > LONGEST_NOTE:
            raise InputError(
                f"The note has {len(self.note):,} letters.",
                f"A note has {LONGEST_NOTE:,} at most.",
                "Write it shorter, or make two stops of it.",
            )
        if not (math.isfinite(self.minutes) and LEAST_MINUTES <= self.minutes <= MOST_MINUTES):
            raise InputError(
                f"A stop of {self.minutes:g} minutes is planned.",
                f"It lasts {LEAST_MINUTES:g} to {MOST_MINUTES:g}.",
                "Give other minutes.",
            )
        if isinstance(self.question, Own):
            require_answer(self.question)
        if self.asks and self.question != OF_THE_PAGE:
            raise InputError(
                "The words in “asks” belong to no question.",
                "“asks” quotes the question of a page, so “question” is the word “page” beside it.",
                'Write question = "page", or delete “asks”.',
            )
        if len(self.asks) > LONGEST_ASKS:
            raise InputError(
                f"The quoted question has {len(self.asks):,} letters.",
                f"It has {LONGEST_ASKS:,} at most.",
                "Shorten “asks”, or delete it.",
            )

    @property
    def words(self) -> str:
        """The words of its question; "" where it has none, or where a page's own is not quoted."""
        return self.question.words if isinstance(self.question, Own) else self.asks


@dataclass(frozen=True)
class Plan:
    """A lesson.

    >>> plan = Plan("Attention", (Stop("masks", "A"), Stop("scaling", "B", minutes=4)))
    >>> plan.minutes, plan.begins(1), [stop.name for stop in plan.moved(1, -1).stops], len(plan.without(0).stops)
    (7.0, 3.0, ['B', 'A'], 1)
    """

    title: str
    stops: tuple[Stop, ...] = ()
    about: str = ""

    def __post_init__(self) -> None:
        short(self.title, "The title of a lesson", LONGEST_NAME)
        if len(self.about) > LONGEST_NOTE:
            raise InputError(
                "What is said about the lesson is too long.",
                f"At most {LONGEST_NOTE:,} letters.",
                "Shorten it.",
            )
        if len(self.stops) > MOST_STOPS:
            raise InputError(
                f"The lesson has {len(self.stops)} stops.",
                f"It has {MOST_STOPS} at most.",
                "Make two lessons of it.",
            )

    @property
    def minutes(self) -> float:
        """How long all stops take."""
        return math.fsum(stop.minutes for stop in self.stops)

    def begins(self, at: int) -> float:
        """The minute at which a stop begins."""
        return math.fsum(stop.minutes for stop in self.stops[:at])

    def with_stop(self, stop: Stop, at: int | None = None) -> Plan:
        """One stop more at the end, or another one at this place."""
        stops = (*self.stops, stop) if at is None else (*self.stops[:at], stop, *self.stops[at + 1 :])
        return dataclasses.replace(self, stops=stops)

    def without(self, at: int) -> Plan:
        """Without this stop."""
        return dataclasses.replace(self, stops=(*self.stops[:at], *self.stops[at + 1 :]))

    def moved(self, at: int, by: int) -> Plan:
        """A stop some places further; at an end it stays."""
        stops = [*self.stops]
        stop = stops.pop(at)
        stops.insert(min(max(at + by, 0), len(stops)), stop)
        return dataclasses.replace(self, stops=tuple(stops))


def short(words: str, what: str, longest: int) -> str:
    """The words, if there are any and not too many. Raises InputError."""
    if not words.strip() or len(words) > longest:
        raise InputError(
            f"{what} has {len(words):,} letters.",
            f"It has 1 to {longest}, and not only blanks.",
            "Write another one.",
        )
    return words


def minutes(many: float) -> str:
    """Minutes as they are read.

    >>> minutes(2.5), minutes(1.0)
    ('2.5 min', '1 min')
    """
    return f"{many:g} min"
