"""Conditions that make the sentences of the exhibit on the families of models true, step by step."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from viz.course.gpt.families import read
from viz.course.gpt.families.maths import two_chains
from viz.course.gpt.families.params import Params
from viz.course.gpt.families.read import Data, Moved
from viz.course.gpt.families.steps import answer_of

NAMES = ("bert", "gpt", "both")


@lru_cache(maxsize=1)
def _moved(text: str, draw: int) -> Moved:
    return read.moved(read.read(text), draw)


def moved(params: Params) -> Moved:
    """The exhibit's own measurement, each input moved in turn."""
    return _moved(params.text, params.draw)


def _masks(params: Params, data: Data) -> bool:
    n = len(data.gpt.inputs)
    return bool(data.bert.allowed.all()) and int(data.gpt.allowed.sum()) == n * (n + 1) // 2


def _after(params: Params, data: Data) -> bool:
    own = data.gpt.pieces[len(data.words) // 2]
    hit = moved(params).gpt[list(own), -1].max(0) > 0
    return answer_of(hit, own) == "its own and all after"


def _bert_moves(params: Params, data: Data) -> bool:
    return bool((moved(params).bert[:, -1] > 0).all())


def _triangles(params: Params, data: Data) -> bool:
    left, right, joined = (moved(params).chains[name] > 0 for name in two_chains.SIDES)
    n = len(data.words)
    lower = np.tri(n, dtype=bool)
    return bool((left == lower).all() and (right == lower.T).all() and joined.all())


MASKS = {"BERT may read all pairs, GPT itself and what stands before": _masks}
RIPPLE = {
    "one changed word moves GPT's outputs from it on, and no earlier one": _after,
    "it moves all outputs of BERT": _bert_moves,
}
WHO = {
    "what moves is what the masks allow, cell by cell": lambda params, data: all(
        np.array_equal(moved(params).pattern(name), getattr(data, name).allowed) for name in NAMES
    ),
    "the last source token moves every position of the decoder": lambda params, data: bool(
        (moved(params).source[-1, -1] > 0).all()
    ),
}
CHAINS = {"either chain is a triangle, joined they reach all": _triangles}
TABLE = {
    "at the middle word more inputs move BERT's output than GPT's": lambda params, data: (
        moved(params).pattern("bert")[data.bert.pieces[len(data.words) // 2][0]].sum()
        > moved(params).pattern("gpt")[data.gpt.pieces[len(data.words) // 2][0]].sum()
    )
}
