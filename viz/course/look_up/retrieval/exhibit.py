"""Retrieval: from a database that answers yes or no to a look-up that mixes what fits, step by step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viz.charts import thumbs
from viz.course.lesson import Lesson, Step
from viz.course.look_up.retrieval import memory, plane, table
from viz.course.look_up.retrieval.maths import memory_read, persons
from viz.course.look_up.retrieval.maths.look_up import Found, look_up
from viz.course.look_up.retrieval.params import OPENING, Params


@dataclass(frozen=True, eq=False)
class Data:
    """What each step computes: the database's answer, the soft look-up in the plane, what the memory says."""

    answer: persons.Answer
    found: Found
    read: memory_read.Read


def compute(params: Params) -> Data:
    """All three, for a notebook; the page computes that of its step alone, for each has inputs of its own."""
    query, keys, values = plane.parted(params.placed)
    return Data(
        persons.ask(params.table, params.sql),
        look_up(query, keys, values, params.score, params.sharpness),
        memory_read.read(params.stored[:-1], params.stored[-1], params.beta),
    )


def thumbnail() -> str:
    """How the weights of four keys sharpen: those of the third step."""
    query, *keys = OPENING[:5]
    weights = [look_up(query, keys, keys, sharpness=sharp).weights for sharp in np.linspace(0, 6, 60)]
    return thumbs.curves(np.array(weights).T)


LESSON = Lesson(
    __file__,
    Params,
    compute,
    (
        Step(table.hard, ("sql",), alone=True),
        Step(table.soft, ("sql",), alone=True),
        Step(plane.arrows, ("sharpness",), change=("score",), alone=True),
        Step(memory.reading, ("beta", "row"), alone=True),
    ),
)
