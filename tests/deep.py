"""What is deep rather than a contract: the same cases, most of them only in the long run (`pytest -m slow`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import product
from typing import Any

import pytest


def deep(cases: Iterable[Any], quick: Callable[[Any], bool] | Collection[Any]) -> list[Any]:
    """These cases for `parametrize`; those that are not `quick` are slow. A tuple is the values of several parameters."""
    chosen = quick if callable(quick) else lambda case: case in quick
    return [
        case
        if chosen(case)
        else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
        for case in cases
    ]


def in_turn(cases: Collection[Any], others: Sequence[Any]) -> list[Any]:
    """All pairs for `parametrize`; quick are each case with one of the others, taken in turn, so that all of both are met."""
    quick = [(case, others[at % len(others)]) for at, case in enumerate(cases)]
    return deep(product(cases, others), quick)
