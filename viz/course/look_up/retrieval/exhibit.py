"""Retrieval: from a database that answers yes or no to a look-up that mixes what fits, step by step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viz.charts import thumbs
from viz.course.exhibit import Exhibit, Step
from viz.course.look_up.retrieval import memory, memory_read, persons, plane, table
from viz.course.look_up.retrieval.look_up import LookUpResult, look_up, softmax
from viz.course.look_up.retrieval.params import CHOICES, MEMORIES, OPENING, Params, pack


@dataclass(frozen=True, eq=False)
class Data:
    """The results of the steps: the answer of the database, the soft look-up in the plane, the read of the memory."""

    answer: persons.Answer
    look_up_result: LookUpResult
    read: memory_read.Read


def compute(params: Params) -> Data:
    """Return the results of all steps, for a notebook; the page computes each in its own step, because each has inputs of its
    own."""
    query, keys, values = plane.parted(params.placed)
    return Data(
        persons.ask(params.table, params.sql),
        look_up(query, keys, values, params.score, params.sharpness),
        memory_read.read(params.stored[:-1], params.stored[-1], params.beta),
    )


def thumbnail() -> str:
    """Draw the weights of four keys as the inverse temperature grows."""
    query, *keys = OPENING[:5]
    weights = [look_up(query, keys, keys, sharpness=sharp).weights for sharp in np.linspace(0, 6, 60)]
    return thumbs.curves(np.array(weights).T)


ROWS = {persons.QUERIES[0]: 1, persons.QUERIES[1]: 2, persons.AS_NUMBER: 0}
"""Number of rows that each query of the slides returns."""


def _sharpens(params: Params, _: object) -> bool:
    """Check that every row has weight at the opening β, and that at 50 the best matches have nearly all of it."""
    fits = persons.likeness(persons.asked_for(params.sql), [row[0] for row in params.table])
    best = np.isclose(fits, max(fits))
    soft, hard = (softmax(fits, beta) for beta in (params.sharpness, 50))
    return bool(soft.min() > 0.05 and hard[best].sum() > 0.99)


def _one_key(params: Params, _: object) -> bool:
    """Check that one key has clearly the most weight, but less than 0.9."""
    query, keys, values = plane.parted(params.placed)
    first, second = np.sort(look_up(query, keys, values, params.score, params.sharpness).weights)[::-1][:2]
    return bool(first >= 1.2 * second and first < 0.9)


def _flat(params: Params, _: object) -> bool:
    """Check that the weights differ by at most e² at β = 1: a match among ten rows gets less than half, with β = 10 nearly all."""
    weights = memory_read.read(params.stored[:-1], params.stored[-1], 1.0).weights
    one, ten = (memory_read.read(memory_read.TEN, (1, 1, 0), beta).weights.max() for beta in (1, 10))
    return bool(weights.max() < memory_read.BOUND * weights.min() and one < 0.5 < 0.99 < ten)


EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(
            table.hard,
            ("sql",),
            without_data=True,
            promises={
                "each query of the slides returns its rows": lambda params, _: (
                    sum(persons.ask(params.table, params.sql).similarity) == ROWS[params.sql]
                )
            },
        ),
        Step(
            table.soft,
            ("sql",),
            without_data=True,
            promises={"soft at the opening β, hard at 50": _sharpens},
        ),
        Step(
            plane.arrows,
            ("sharpness",),
            change=("score",),
            without_data=True,
            promises={"one key has clearly the most weight, and not all": _one_key},
        ),
        Step(
            memory.reading,
            ("beta", "row"),
            without_data=True,
            promises={"cosines without β stay flat": _flat},
        ),
    ),
    presets=(
        *({"sql": sql} for sql in CHOICES[1:]),
        {"memory": pack(MEMORIES["Ten rows, one that matches"])},
    ),
)
