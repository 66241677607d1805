"""Wilson's interval for a share of right answers, from the number of questions (Wilson 1927)."""

from __future__ import annotations

import math

Z = 1.959964
"""Standard deviations of a 95% interval."""


def wilson(share: float, n: int) -> tuple[float, float]:
    """Return the 95% interval of a share that was measured on n independent cases.

    >>> [round(end, 3) for end in wilson(0.5, 100)]
    [0.404, 0.596]
    """
    middle = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * math.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
    return middle - half, middle + half
