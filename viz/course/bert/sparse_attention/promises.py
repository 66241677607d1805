"""Conditions that make the sentences of the exhibit on sparse attention true, step by step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from viz.course.bert.sparse_attention import clock, maths, read
from viz.course.bert.sparse_attention.maths import PARTS, Mask, Shape
from viz.course.bert.sparse_attention.params import Params


def _grows(shape: Shape) -> float:
    """Return the factor by which the number of allowed scores grows in a text twice as long."""
    before, last = maths.LENGTHS[-2:]
    share = [maths.share(replace(shape, n=n)) for n in (before, last)]
    return maths.score_bytes(last, share[1]) / maths.score_bytes(before, share[0])


PARTS_OF_MASK = {
    "less than a fifth of the pairs of blocks is read": lambda params, data: data.union().mean() < 0.2,
    "an ordinary row reads w + g + r blocks, a global one all": lambda params, data: (
        int(np.median(rows := data.union().sum(1))) == params.window + params.n_global + params.n_random
        and rows.max() == params.shape.n_blocks
    ),
}
SHARE = {"twice the text, about twice the scores": lambda params, data: abs(_grows(params.shape) - 2) < 0.15}
PATH = {
    "the window alone needs more than ten layers, all three parts two": lambda params, data: (
        (maths.way(data, params.source, params.target, ("window",)).steps or 0) > 10
        and maths.way(data, params.source, params.target).steps == 2
    ),
    "with a global block no way is longer than two": lambda params, data: (
        maths.far(data, PARTS[:2]).most == 2
    ),
    "a window with random blocks makes short paths too": lambda params, data: (
        (row := maths.far(data, (PARTS[0], PARTS[2]))).most <= 6 and row.n_unreachable == 0
    ),
}


def _times() -> dict[int, tuple[bool, bool]]:
    """Return for each length of the recorded run whether blocks are faster, and whether they need fewer bytes."""
    rows = clock.recorded()[1]
    return {
        row.n: (row.blocks.seconds < row.full.seconds, row.blocks.nbytes < row.full.nbytes) for row in rows
    }


CLOCK = {
    "in the shortest text blocks cost more, in the longest less": lambda params, data: (
        _times()[maths.LENGTHS[0]] == (False, False) and _times()[maths.LENGTHS[-1]] == (True, True)
    )
}


def _reads(params: Params, _: Mask) -> bool:
    found = read.reading(params.own, params.layer, params.head)
    return sum(found.attention_by_part.values()) > 0.999 and found.attention_by_part["window"] > 0.5


def _same_guesses(params: Params, _: Mask) -> bool:
    found = read.guesses(params.own)
    return abs(found.blocks - found.full) <= 0.05 * found.n


READS = {
    "the window holds most of the opening head's attention": _reads,
    "blocks predict as many masked tokens as all pairs, within 5%": _same_guesses,
}
