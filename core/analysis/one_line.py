"""Results of an analysis that print as one line."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from dataclasses import fields
from typing import Any

import numpy as np


class OneLine:
    """A dataclass of numbers whose repr is one line: arrays by their shape, dicts by their keys, sequences by their length."""

    def __repr__(self) -> str:
        own: Any = self  # a dataclass, as each subclass is
        parts = (f"{field.name} {_summary(getattr(self, field.name))}" for field in fields(own) if field.repr)
        return f"{type(self).__name__}: {', '.join(parts)}"


def _summary(value: Any) -> str:
    """Return a few words for a value of any size.

    >>> _summary(np.zeros((2, 3))), _summary({"causal": 1}), _summary((1, 2, 3)), _summary(0.123456), _summary("self")
    ('(2, 3)', '[causal]', 'of 3', '0.1235', 'self')
    """
    if isinstance(value, np.ndarray):
        return str(value.shape)
    if isinstance(value, Mapping):
        return f"[{', '.join(map(str, value))}]"
    if isinstance(value, Sized) and not isinstance(value, str):
        return f"of {len(value)}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
