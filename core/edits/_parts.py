"""Helpers of edits: indices are checked, values are replaced in a copy."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core.errors import InputError, Marked


def check_index(index: int, size: int, word: str, where: str) -> int:
    """Return the index counted from 0; a negative one counts from the end. `word` and `where` name it in the error.
    Raises InputError if it is outside.
    """
    if not -size <= index < size:
        raise InputError(
            "There is no {word} {index} at '{where}'.",
            "It has {size}, counted from 0.",
            "Choose 0 to {last}.",
            word=Marked(word),
            index=index,
            where=where,
            size=size,
            last=size - 1,
        )
    return index % size


def to_tensor(value: Tensor | NDArray[np.float32]) -> Tensor:
    """Return the value as a tensor. The read-only arrays of a trace are copied."""
    return value if isinstance(value, Tensor) else torch.from_numpy(np.array(value))


def replace_at(value: Tensor, index: Any, new: Tensor | float | bool) -> Tensor:
    """Return a copy of the value with new numbers at an index."""
    copy = value.clone()
    copy[index] = new
    return copy
