"""The way to a position code: two first ideas and their defects, the wave as hands of clocks, a learned table.

Positions count from 0. Everything is float64 numpy; nothing here draws.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from viz.course.self_attention.position_criteria import CLOSE, Encoding, Verdict, encodings
from viz.course.shared.positions import Formula

Array = NDArray[np.float64]

D = 128
"""The size of the sinusoidal vectors in the verdicts."""


def candidates(learned: Array | None) -> dict[str, Encoding]:
    """Return the encodings in the verdicts: the slides' five, and the sinusoid as two of the sources print it.

    >>> list(candidates(None))
    ['none', 'fraction', 'integer', 'sinusoid', 'sinusoid, i/d']
    """
    found = encodings(Formula(D), None) | {"sinusoid, i/d": Formula(D, variant="unpaired").table}
    return found | {name: code for name, code in encodings(Formula(D), learned).items() if name == "learned"}


def grounds(verdict: Verdict, short: int, long: int) -> tuple[str, ...]:
    """Return the number that each tick or cross of a verdict is based on, in a few words; in the order of `CRITERIA`.

    >>> from viz.course.self_attention.position_criteria import fraction, judge
    >>> grounds(judge("fraction", fraction), 5, 20)[:3]
    ('nearest two 0.053 apart', '0.25 or 0.05 per step', 'at most 1')
    """
    first, second = verdict.steps
    step = f"{first:.2g} per step" if abs(first - second) < CLOSE else f"{first:.2f} or {second:.2f} per step"
    return (
        f"nearest two {verdict.closest:.2g} apart",
        step,
        "the table ends" if verdict.largest is None else f"at most {verdict.largest:.3g}",
        "computed twice, equal",
        "equal everywhere" if verdict.anywhere else f"differs by {verdict.unequal:.2f}",
    )


def hands(formula: Formula, position: float) -> Array:
    """Return the angle of each pair of dimensions at a position, in radians, not reduced: position * w_j, (pair,).

    Equation: PE(pos, 2j) = sin(angle_j), PE(pos, 2j + 1) = cos(angle_j): a hand that started upright and turns clockwise.

    >>> hands(Formula(4), 3).tolist()
    [3.0, 0.03]
    """
    return 2 * np.pi * position / formula.wavelengths()[::2]


def thread(table: Array) -> tuple[Array, float]:
    """Return the positions as a path in their best plane (PCA): points (pos, 2), and the share of variance in it.

    >>> places, share = thread(np.array([[0.0, 0], [3, 4], [6, 8]]))
    >>> np.abs(places[:, 0]).round(6).tolist(), round(share, 6)
    ([5.0, 0.0, 5.0], 1.0)
    """
    centred = table - table.mean(0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    places = left[:, :2] * sizes[:2]
    return places, float((sizes[:2] ** 2).sum() / max((sizes**2).sum(), np.finfo(float).tiny))


def neighbours(table: Array) -> float:
    """Return the share of positions whose nearest other position, by cosine, is the one before or after.

    >>> neighbours(Formula(64).table(40))
    1.0
    """
    unit = table / np.maximum(np.linalg.norm(table, axis=1, keepdims=True), np.finfo(float).tiny)
    alike = unit @ unit.T
    np.fill_diagonal(alike, -np.inf)
    return float((np.abs(alike.argmax(1) - np.arange(len(table))) == 1).mean())


def twice_said(pieces: Sequence[str]) -> tuple[int, int] | None:
    """Return the first two positions of a token that occurs more than once; words before punctuation. None where all differ.

    >>> twice_said(["the", "dog", ",", "saw", ",", "the", "man"]), twice_said(["a", "b"])
    ((0, 5), None)
    """
    found = [(i, pieces.index(piece, i + 1)) for i, piece in enumerate(pieces) if piece in pieces[i + 1 :]]
    words = [pair for pair in found if any(letter.isalpha() for letter in pieces[pair[0]])]
    return (words or found or [None])[0]
