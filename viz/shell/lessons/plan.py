"""A lesson: its stops, each a view of the atlas with a note, its minutes and a question; and its order."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Literal

from core.errors import InputError
from viz.languages import _, ngettext
from viz.shell.questions.question import LecturerQuestion, require_answer

MOST_STOPS, LONGEST_NAME, LONGEST_NOTE, LONGEST_ASKS = 60, 120, 4_000, 1_000
LEAST_MINUTES, MOST_MINUTES = 0.5, 120.0
TOLERANCE = 0.05
"""A guessed number is right within this share of what can be guessed."""
OF_THE_PAGE: Literal["page"] = "page"
"""The question of a stop whose view asks one itself."""


Ask = LecturerQuestion | Literal["page"] | None
"""The question of a stop: an own one, the one that its view asks itself, or none."""


@dataclass(frozen=True)
class Stop:
    """One view of a lesson.

    view: its link, relative to the atlas, such as "masks?masks.step=2". note: for the lecturer alone. optional: it may be skipped.
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
        require_length(self.name, _("The name of a stop"), LONGEST_NAME)
        if len(self.note) > LONGEST_NOTE:
            raise InputError(
                _("The note has {n:,} characters.", n=len(self.note)),
                _("It has {most:,} at most.", most=LONGEST_NOTE),
                _("Shorten it, or make two stops of it."),
            )
        if not (math.isfinite(self.minutes) and LEAST_MINUTES <= self.minutes <= MOST_MINUTES):
            raise InputError(
                _("The stop takes {minutes:g} minutes.", minutes=self.minutes),
                _("A stop takes {least:g} to {most:g} minutes.", least=LEAST_MINUTES, most=MOST_MINUTES),
                _("Change the minutes."),
            )
        if isinstance(self.question, LecturerQuestion):
            require_answer(self.question)
        if self.asks and self.question != OF_THE_PAGE:
            raise InputError(
                _("“asks” is there without a question of the page."),
                _('“asks” quotes the question of a page, so it needs question = "page".'),
                _('Write question = "page", or delete “asks”.'),
            )
        if len(self.asks) > LONGEST_ASKS:
            raise InputError(
                _("The question quoted in “asks” has {n:,} characters.", n=len(self.asks)),
                _("It has {most:,} at most.", most=LONGEST_ASKS),
                _("Shorten “asks”, or delete it."),
            )

    @property
    def words(self) -> str:
        """Return the words of its question; "" where it has none, or where a page's own is not quoted."""
        return self.question.words if isinstance(self.question, LecturerQuestion) else self.asks


@dataclass(frozen=True)
class Plan:
    """A lesson.

    >>> plan = Plan("Attention", (Stop("masks", "A"), Stop("scaling", "B", minutes=4)))
    >>> plan.minutes, plan.start_minute(1), [stop.name for stop in plan.with_stop_moved(1, -1).stops], len(plan.without_stop(0).stops)
    (7.0, 3.0, ['B', 'A'], 1)
    """

    title: str
    stops: tuple[Stop, ...] = ()
    about: str = ""

    def __post_init__(self) -> None:
        require_length(self.title, _("The title of a lesson"), LONGEST_NAME)
        if len(self.about) > LONGEST_NOTE:
            raise InputError(
                _("“About” has {n:,} characters.", n=len(self.about)),
                _("It has {most:,} at most.", most=LONGEST_NOTE),
                _("Shorten it."),
            )
        if len(self.stops) > MOST_STOPS:
            raise InputError(
                ngettext("The lesson has {n} stop.", "The lesson has {n} stops.", len(self.stops)),
                _("It has {most:,} at most.", most=MOST_STOPS),
                _("Make two lessons of it."),
            )

    @property
    def minutes(self) -> float:
        """Return the minutes of all stops."""
        return math.fsum(stop.minutes for stop in self.stops)

    def start_minute(self, position: int) -> float:
        """Return the minute at which a stop begins."""
        return math.fsum(stop.minutes for stop in self.stops[:position])

    def with_stop(self, stop: Stop, position: int | None = None) -> Plan:
        """Return the lesson with `stop` appended, or in place of the one at `position`."""
        stops = (
            (*self.stops, stop)
            if position is None
            else (*self.stops[:position], stop, *self.stops[position + 1 :])
        )
        return dataclasses.replace(self, stops=stops)

    def without_stop(self, position: int) -> Plan:
        """Return the lesson without this stop."""
        return dataclasses.replace(self, stops=(*self.stops[:position], *self.stops[position + 1 :]))

    def with_stop_moved(self, position: int, by: int) -> Plan:
        """Return the lesson with a stop moved by some places, at most to an end."""
        stops = [*self.stops]
        stop = stops.pop(position)
        stops.insert(min(max(position + by, 0), len(stops)), stop)
        return dataclasses.replace(self, stops=tuple(stops))


def require_length(words: str, subject: str, longest: int) -> str:
    """Return the words. Raises InputError: they are empty or too long."""
    if not words.strip() or len(words) > longest:
        raise InputError(
            _("{subject} has {n:,} characters.", subject=subject, n=len(words))
            if words.strip()
            else _("{subject} is empty.", subject=subject),
            _("It has 1 to {most:,} characters.", most=longest),
            _("Shorten it.") if words.strip() else _("Write some words."),
        )
    return words
