"""Claims of the exhibit on positional encoding, each a condition on its vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from viz.course.self_attention.positional_encoding.encoding import encoded
from viz.course.self_attention.positional_encoding.params import Params
from viz.course.shared import position_evidence

Promises = Mapping[str, Callable[[Params, object], bool]]


def nearest(params: Params) -> float:
    """Return the smallest distance of two position vectors of the table."""
    table = encoded(params.clamped()).table
    return float((np.linalg.norm(table[:, None] - table[None], axis=-1) + 1e9 * np.eye(len(table))).min())


def same_everywhere(params: Params, _: object) -> bool:
    """Return whether five steps are one distance with the right formula, and several with the exponent i/d."""
    (_, low, high), (_, least, most) = position_evidence.five_steps(params.d, max(params.length, 12))
    return high - low < 1e-9 and most - least > 0.1


VECTORS: Promises = {
    "no two positions share a vector": lambda params, data: nearest(params) > 1e-3,
    "five steps are equally far everywhere with the right formula, and not with i/d": same_everywhere,
}
