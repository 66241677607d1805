"""Which half of the steps of the course a browser walks with every push; the others are drawn by AppTest."""

from __future__ import annotations

from viz.shell import pages

Step = tuple[pages.Entry, int]


def halves() -> tuple[list[Step], list[Step]]:
    """Return the steps that are walked and the others: of every exhibit its first half, of its neighbours the last one.

    >>> walked, others = halves()
    >>> len(others) <= len(walked) < 1.3 * len(others)
    True
    """
    walked: list[Step] = []
    others: list[Step] = []
    for place, entry in enumerate(pages.exhibits()):
        steps = [(entry, step) for step in range(1, len(entry.steps) + 1)]
        n = len(steps) // 2
        walked += steps[n:] if place % 2 else steps[: len(steps) - n]
        others += steps[:n] if place % 2 else steps[len(steps) - n :]
    return walked, others
