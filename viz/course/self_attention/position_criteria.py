"""Beigy's four criteria for a position encoding (2024, slides on positional encoding), checked by computing.

An encoding is a function: sentence length n -> table (n, d). It may say by an IndexError that n is too long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viz.course.shared.positions import Formula

Array = NDArray[np.float64]
Encoding = Callable[[int], Array]

CLOSE = 1e-9


def fraction(n: int) -> Array:
    """Return the slides' first idea: t / (n - 1), from 0 for the first word to 1 for the last; (n, 1)."""
    return np.arange(n, dtype=float)[:, None] / max(n - 1, 1)


def integer(n: int) -> Array:
    """Return the slides' second idea: t itself; (n, 1)."""
    return np.arange(n, dtype=float)[:, None]


def none(n: int) -> Array:
    """Return zeros, the same for every word: no positions at all; (n, 1)."""
    return np.zeros((n, 1))


def looked_up(table: Array) -> Encoding:
    """Return a learned table as an encoding; it raises an IndexError after its last row."""

    def rows(n: int) -> Array:
        if n > len(table):
            raise IndexError(f"the table has {len(table)} rows, the sentence {n} words")
        return table[:n]

    return rows


def encodings(formula: Formula, learned: Array | None) -> dict[str, Encoding]:
    """Return the five encodings of the slides by name; ``learned`` only when there is a table."""
    found: dict[str, Encoding] = {
        "none": none,
        "fraction": fraction,
        "integer": integer,
        "sinusoid": formula.table,
    }
    return found | ({} if learned is None else {"learned": looked_up(learned)})


@dataclass(frozen=True)
class Verdict:
    """One row of the table: a tick for each criterion and the number that it is based on.

    `anywhere` is not on the slide: k steps apart is the same distance at each place of a sentence.
    """

    name: str
    unique: bool
    consistent: bool
    bounded: bool
    deterministic: bool
    anywhere: bool
    closest: float
    steps: tuple[float, float]
    largest: float | None
    unequal: float


def _distances(table: Array) -> Array:
    """Return all pairwise distances, (n, n), taken from differences: exact zero for equal rows."""
    return np.linalg.norm(table[:, None] - table[None], axis=-1)


def judge(name: str, encode: Encoding, short: int = 5, long: int = 20, unseen: int = 1000) -> Verdict:
    """Compute the four ticks, and the fifth, for one encoding.

    unique: no two positions of the long sentence share a vector. consistent: two words of the short sentence
    are as far apart as the words at the same places of the long one. bounded: a sentence of `unseen` words
    can be encoded and holds no larger number than the short one. deterministic: asked twice, the same answer.

    >>> v = judge("fraction", fraction)
    >>> v.unique, v.consistent, v.bounded, v.deterministic, v.steps[0], round(v.steps[1], 4)
    (True, False, True, True, 0.25, 0.0526)
    """
    first, second = encode(short), encode(long)
    near, far = _distances(first), _distances(second)
    others = far[~np.eye(long, dtype=bool)]
    same_offset = [np.diagonal(far, k) for k in range(long)]
    unequal = max(float(row.max() - row.min()) for row in same_offset)
    try:
        largest = float(np.abs(encode(unseen)).max())
    except IndexError:
        largest = None
    return Verdict(
        name=name,
        unique=bool(others.min() > CLOSE),
        consistent=bool(np.abs(near - far[:short, :short]).max() < CLOSE),
        bounded=largest is not None and largest <= float(np.abs(first).max()) + CLOSE,
        deterministic=bool(np.array_equal(first, encode(short)) and np.array_equal(second, encode(long))),
        anywhere=unequal < CLOSE,
        closest=float(others.min()),
        steps=(float(near[0, 1]), float(far[0, 1])),
        largest=largest,
        unequal=unequal,
    )


CRITERIA = {
    "Each step has a vector of its own.": "unique",
    "Two steps are equally far apart in sentences of different lengths.": "consistent",
    "Longer sentences work, and the values stay bounded.": "bounded",
    "It is deterministic.": "deterministic",
    "(Not on the slide) Equal numbers of steps are equally far apart anywhere.": "anywhere",
}


def ticks(verdicts: Sequence[Verdict]) -> list[dict[str, str]]:
    """Return the table of ticks: one row per encoding, the criteria by their number in `CRITERIA`, from 1.

    >>> ticks([judge("integer", integer)])
    [{'positions': 'integer', '1': '✓', '2': '✓', '3': '✗', '4': '✓', '5': '✓'}]
    """
    return [
        {"positions": v.name}
        | {
            str(i): "✓" if getattr(v, attribute) else "✗"
            for i, attribute in enumerate(CRITERIA.values(), start=1)
        }
        for v in verdicts
    ]


def reasons(verdicts: Sequence[Verdict], short: int, long: int, unseen: int = 1000) -> list[str]:
    """Return one sentence for each cross, with the number that it is based on.

    >>> reasons([judge("integer", integer)], 5, 20)
    ['integer: in a sentence of 1000 words the largest value is 999, far outside anything seen in training.']
    """
    lines = []
    for v in verdicts:
        if not v.unique:
            lines.append(f"{v.name}: two different positions have the same vector ({v.closest:g} apart).")
        if not v.consistent:
            lines.append(
                f"{v.name}: one step is {v.steps[0]:.4f} in {short} words and {v.steps[1]:.4f} in {long}."
            )
        if v.largest is None:
            lines.append(
                f"{v.name}: the table ends before position {unseen - 1}; there is no vector to look up."
            )
        elif not v.bounded:
            lines.append(
                f"{v.name}: in a sentence of {unseen} words the largest value is {v.largest:g}, "
                "far outside anything seen in training."
            )
        if not v.anywhere:
            lines.append(
                f"{v.name}: at one and the same number of steps, distances in {long} words differ by up to "
                f"{v.unequal:.3f} from position to position."
            )
    return lines
