"""Numbered equations and figures of a citation, parsed from its words."""

from __future__ import annotations

import re
from functools import lru_cache

from viz.course.equations.form import on_slides

NUMBERED = {"ghojogh2020": range(1, 30), "ghojogh2023": range(1, 29)}
"""The documents that number their equations. From (26) on the survey counts one more than the slides."""

_RANGE = re.compile(
    r"\((\d{1,2})\)\s*(?:-|–|—|to|until|…|\.\.+)\s*\((\d{1,2})\)|\((\d{1,2})\s*(?:-|–|—|to)\s*(\d{1,2})\)"
)
_SINGLE = re.compile(r"\((\d{1,2})[a-z]?\)")
_BARE = re.compile(r"\bEqs?\.?\s*(\d{1,2})(?:\s*(?:-|–|—|to)\s*(\d{1,2}))?")
_FIGURE = re.compile(
    r"\bFigs?\.?\s*(\d{1,2})(?:\s*(?:-|–|—|to)\s*(\d{1,2}))?((?:(?:,| and)\s*\d{1,2}[a-z]?\b(?!\s*\)))*)"
)


@lru_cache(1024)
def equations(item: str) -> frozenset[int]:
    """Return the numbers of the equations that an item names.

    >>> sorted(equations("Eqs. (2)-(5), Fig. 3b")), sorted(equations("Eqs. (17), (18) and (20) to (22)"))
    ([2, 3, 4, 5], [17, 18, 20, 21, 22])
    >>> sorted(equations("PE(pos, i), the example with d = 4")), sorted(equations("symbols of Eqs. (6–8)")), sorted(equations("Eq. 12"))
    ([], [6, 7, 8], [12])
    """
    found = {int(number) for number in _SINGLE.findall(item)}
    for match in (*_RANGE.finditer(item), *_BARE.finditer(item)):
        first, *last = [int(number) for number in match.groups() if number]
        found |= set(range(first, (last or [first])[0] + 1))
    return frozenset(found)


def figures(item: str) -> frozenset[int]:
    """Return the numbers of the figures that an item names.

    >>> sorted(figures("Eq. (1), Fig. 3a")), sorted(figures("Figs. 7, 8")), sorted(figures("Eqs. (17), (18)"))
    ([3], [7, 8], [])
    """
    found: set[int] = set()
    for first, last, more in _FIGURE.findall(item):
        found |= set(range(int(first), int(last or first) + 1)) | {
            int(number) for number in re.findall(r"\d+", more)
        }
    return frozenset(found)


def in_survey(document: str, number: int) -> int:
    """Return the survey's number of an equation of either document; of the slides' (25), which is two, the first.

    >>> in_survey("ghojogh2023", 28), in_survey("ghojogh2023", 24), in_survey("ghojogh2020", 28)
    (29, 24, 28)
    """
    return (
        number
        if document == "ghojogh2020"
        else next(n for n in NUMBERED["ghojogh2020"] if on_slides(n) == number)
    )
