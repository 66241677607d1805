"""Sparse attention: BigBird's mask part by part, the pairs that it allows, paths between words, its cost, a head on a long
text."""

from __future__ import annotations

import numpy as np

from viz.charts import thumbs
from viz.course.bert.sparse_attention import clock, longtext, promises, steps
from viz.course.bert.sparse_attention.maths import Mask, Shape
from viz.course.bert.sparse_attention.params import SHORT, Params
from viz.course.exhibit import Exhibit, Step


def compute(params: Params) -> Mask:
    """Return the mask of one head over the blocks of the text."""
    return Mask.from_shape(params.shape)


def thumbnail() -> str:
    """Draw a small mask: window, global and random blocks."""
    kept = Mask.from_shape(Shape(n=16, block=1, n_random=1)).union()
    return thumbs.cells(np.where(kept, 0.8, 0.0), kept)


MASK = ("block", "window", "n_global", "n_random", "seed")
EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(
            steps.parts,
            ("shown", "window", "n_global"),
            change=("n", "block", "n_random", "seed"),
            promises=promises.PARTS_OF_MASK,
        ),
        Step(
            steps.share, ("window", "n_global"), change=("block", "n_random", "seed"), promises=promises.SHARE
        ),
        Step(steps.path, ("allowed", "first", "second"), change=("n", *MASK), promises=promises.PATH),
        Step(clock.measured, change=MASK, promises=promises.CLOCK),
        Step(longtext.reads, ("layer", "head"), texts=("own",), without_data=False, promises=promises.READS),
    ),
    compute_fields=("n", *MASK),
    presets=({"own": SHORT},),
)
