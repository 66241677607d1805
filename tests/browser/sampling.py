"""What is true of all pages or all instruments: every push looks at a telling few of them, `pytest -m slow` at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest


def sampled(every: Sequence[Any], quick: int = 1) -> list[Any]:
    """The parameters of a test (a tuple: of several names): the first `quick` of them always, the others are slow."""
    given = [one if isinstance(one, tuple) else (one,) for one in every]
    return [pytest.param(*one, marks=() if i < quick else pytest.mark.slow) for i, one in enumerate(given)]
