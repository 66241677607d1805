"""Changes by hand as text for the link: single weights, and the scores of an example."""

from __future__ import annotations

import re
from collections.abc import Iterable

from viz.course.shared.self_attention import LARGEST, WEIGHTS, Change
from viz.instruments.board.board import MOST
from viz.languages import _
from viz.shell import state

_ONE = re.compile(rf"([QKV])([0-{LARGEST - 1}])([0-{LARGEST - 1}]):(-?\d(?:\.\d{{1,2}})?)")
FURTHEST = 5.0
"""Largest size of a score of an example."""


def changes(text: str) -> tuple[Change, ...]:
    """Parse weights set by hand: matrix, row and column from 0, value.

    >>> changes("Q01:2_V30:-0.5")
    (Change(matrix='W_Q', row=0, column=1, value=2.0), Change(matrix='W_V', row=3, column=0, value=-0.5))

    Raises:
        state.Unusable: anything else.
    """
    found = [_ONE.fullmatch(part) for part in text.split("_")] if text else []
    if not all(found):
        raise state.Unusable(
            _(
                "It must be weights such as Q01:2_V30:-0.5, with values from −{most:g} to {most:g}.",
                most=MOST,
            )
        )
    return tuple(Change(f"W_{one[1]}", int(one[2]), int(one[3]), float(one[4])) for one in found if one)


def pack_changes(made: Iterable[Change]) -> str:
    """Return the changes as text; of two changes of one weight the later counts.

    >>> pack_changes([Change("W_Q", 0, 1, 2.0), Change("W_Q", 0, 1, 3.0)])
    'Q01:3'
    """
    last = {(change.matrix, change.row, change.column): change.value for change in made}
    return "_".join(f"{matrix[-1]}{row}{column}:{value:g}" for (matrix, row, column), value in last.items())


def with_change(text: str, matrix: str, row: int, column: int, value: float) -> str:
    """Return the text with one change more, or unchanged when there is no such weight.

    >>> with_change("Q01:2", "W_K", 0, 0, 1.0), with_change("Q01:2", "X", 0, 0, 1.0)
    ('Q01:2_K00:1', 'Q01:2')
    """
    if matrix not in WEIGHTS or row >= LARGEST or column >= LARGEST:
        return text
    return pack_changes([*changes(text), Change(matrix, row, column, value)])


def scores(text: str) -> tuple[float, ...]:
    """Parse scores that were moved, "1.95_0.69_0_0"; () for an empty text.

    >>> scores("1.95_-9_0")
    (1.95, -5.0, 0.0)
    """
    try:
        found = tuple(float(part) for part in text.split("_")) if text else ()
    except ValueError:
        found = (float("nan"),)
    if any(value != value for value in found):
        raise state.Unusable(
            _("It must be numbers from −{most:g} to {most:g}, with _ between.", most=FURTHEST)
        )
    return tuple(min(max(value, -FURTHEST), FURTHEST) for value in found)


def joined(values: Iterable[float]) -> str:
    """Return scores as text.

    >>> joined((1.9459101, 0.0))
    '1.9459_0'
    """
    return "_".join(f"{round(value, 4):g}" for value in values)
