"""A workshop: a lesson in a link, with the last day on which it is opened; no account, and nothing of it on the server.

The link holds the lesson's file, deflated, without the notes for the lecturer. It is no secret: whoever has it can read it, and change its day.
"""

from __future__ import annotations

import base64
import dataclasses
import zlib
from datetime import date

from core.errors import InputError
from viz.languages import _
from viz.shell.lessons import toml_format
from viz.shell.lessons.plan import Plan

LESSON, UNTIL = "lessons.workshop", "lessons.until"
"""The names of a workshop's lesson and of its last day in the link."""
MOST_LETTERS = 6_000
"""Letters of a lesson in a link: browsers, mails and learning platforms pass on that many."""


def query(lesson: Plan, until: date) -> dict[str, str]:
    """Return what the link to the page Lessons says of a workshop.

    >>> from viz.shell.lessons.plan import Stop
    >>> link = query(Plan("Two", (Stop("masks", "The mask", "Say why."),)), date(2026, 12, 31))
    >>> parse(link[LESSON], link[UNTIL], date(2026, 12, 31)).stops[0].note
    ''

    Raises:
        InputError: the lesson is too long for a link.
    """
    stops = tuple(dataclasses.replace(stop, note="") for stop in lesson.stops)
    packed = zlib.compress(toml_format.dumps(dataclasses.replace(lesson, stops=stops)).encode(), 9)
    text = base64.urlsafe_b64encode(packed).decode().rstrip("=")
    if len(text) > MOST_LETTERS:
        raise InputError(
            _("In a link this lesson has {count:,} letters.", count=len(text)),
            _("A link takes {most:,}.", most=MOST_LETTERS),
            _("Leave out some stops, or publish the lesson as a file."),
        )
    return {LESSON: text, UNTIL: until.isoformat()}


def parse(text: str, until: str, today: date) -> Plan:
    """Return the lesson of a link.

    Raises:
        InputError: its last day is over, it has none, or the link is damaged.
    """
    try:
        last = date.fromisoformat(until)
        if len(text) > MOST_LETTERS:
            raise ValueError
        packed = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), b"-_", validate=True)
        unpacking = zlib.decompressobj()
        content = unpacking.decompress(packed, toml_format.MOST_BYTES)
        if not unpacking.eof:
            raise ValueError
    except (ValueError, zlib.error) as error:
        raise InputError(
            _("This link to a workshop is damaged."),
            _("It holds a lesson and the last day of the workshop."),
            _("Copy the whole link again, or ask whoever gave it to you."),
        ) from error
    if today > last:
        raise InputError(
            _("This workshop ended on {day}.", day=last.isoformat()),
            _("Its link opens the lesson until that day."),
            _("Ask whoever gave it to you for a new link, or choose another lesson."),
        )
    return toml_format.loads(content)
