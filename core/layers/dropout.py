"""Dropout, and its absence."""

from __future__ import annotations

from torch import nn


def dropout(share: float) -> nn.Module:
    """Zero a share of the values while training (Srivastava et al. 2014); nothing at all for a share of 0.

    >>> dropout(0.0)
    Identity()
    """
    return nn.Dropout(share) if share else nn.Identity()
