"""The number of parameters of three recurrent cells."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

PARTS: Mapping[str, int] = MappingProxyType({"rnn": 1, "lstm": 4, "gru": 3})
"""Number of maps of (x_i, h_{i-1}) in a cell: the state itself; three gates and a candidate; two gates and a new state."""


def parameters(cell: str, d_input: int, d_hidden: int, *, both_ways: bool = False) -> int:
    """Return the number of parameters: parts * (d_hidden (d_input + d_hidden) + 2 d_hidden), twice that for both directions.

    The two biases are those of `nn.RNN`, `nn.LSTM` and `nn.GRU`.

    >>> parameters("lstm", 4, 8), parameters("gru", 4, 8), parameters("lstm", 4, 8, both_ways=True)
    (448, 336, 896)
    """
    one = PARTS[cell] * (d_hidden * (d_input + d_hidden) + 2 * d_hidden)
    return 2 * one if both_ways else one
