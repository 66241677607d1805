"""Retrieval: from a database that answers yes or no to a look-up that mixes what fits, step by step."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import streamlit as st

from viz.charts import thumbs
from viz.course.look_up.retrieval import link, memory, table
from viz.course.look_up.retrieval import plane as arrows
from viz.course.look_up.retrieval.maths import memory_read, persons
from viz.course.look_up.retrieval.maths.look_up import look_up
from viz.course.shared.shown import folds
from viz.shell import errors, state
from viz.shell.pages import Chapter, Cite, Exhibit
from viz.widgets import lesson, parts

EXHIBIT = Exhibit(
    title="Retrieval, hard and soft", chapter=Chapter.LOOK_UP, order=20, minutes=10,
    claim="A database returns the rows whose key fits. Attention returns a weighted sum of all values, weighted by how well their keys fit.",
    cites=(
        Cite("ghojogh2023", "attention mechanism: retrieval", "Eqs. (6) to (8)", step=2),
        Cite("ghojogh2020", "section 2.4.2", "Eqs. (6) to (8), Figs. 5, 6", step=3),
        Cite("beigy2021", "retrieving a record from a relational database", "table PERSONS", step=1),
        Cite("beigy2021", "retrieving a value from neural Turing machine memory", "r_t, w_t", step=4),
        Cite("graves2014", "sections 3.1 and 3.3.1", "Eqs. (2), (5), (6)", step=4),
    ),
)  # fmt: skip
SLUG = "retrieval."
CREDIT = "The sum is the same in all four steps: retrieval(q, k, v) = Σ similarity(q, kᵢ) × vᵢ. Only the similarity changes: 0 or 1, a softmax of fits, of dot products, of cosines."
STEPS = (
    lesson.Step("Yes or no", "A database compares what you ask with every key: similarity 1 or 0. What comes back is the sum of similarity times value."),
    lesson.Step("Soften", "Now let a key fit a little. Softmax turns fits into weights; one number, the inverse temperature β, leads from all alike to one alone."),
    lesson.Step("Arrows", "A query and four keys are arrows. A key that points the way of the query gets a large weight, and the answer is a weighted sum of the values."),
    lesson.Step("Memory", "A neural Turing machine reads its memory like this: compare a key with every row, turn the cosines into weights, add up the rows."),
)


@dataclass(frozen=True)
class Params:
    """What the visitor chose. `points`: the query, the keys, their values. `memory`: its rows and, last, the key.

    `row`: the row that is read alone, from 1; 0: read by content.
    """

    sql: str = persons.QUERIES[0]
    rows: tuple[persons.Row, ...] = persons.PERSONS
    sharpness: float = link.SHARPNESS
    score: str = "dot"
    points: link.Vectors = arrows.OPENING
    memory: link.Vectors = (*memory_read.THREE, (1.0, 0.2, 0.4))
    beta: float = 1.0
    row: int = 0


PARSERS = {
    "sql": state.typed, "rows": link.rows, "sharpness": state.real(0, 50), "score": state.one_of(tuple(arrows.SCORES), "dot"),
    "points": link.points, "memory": link.memory, "beta": state.real(0, 20), "row": state.whole(0, link.MOST_ROWS),
}  # fmt: skip
SHOW = (table.hard, table.soft, arrows.show, memory.show)


def compute(params: Params = Params()) -> dict[str, object]:
    """What each step computes: the answer of the database, the soft look-up in the plane, what is read from the memory."""
    n = len(params.points) // 2
    query, keys, values = params.points[0], params.points[1 : n + 1], params.points[n + 1 :]
    return {
        "answer": persons.ask(params.rows, params.sql),
        "found": look_up(query, keys, values, params.score, params.sharpness),
        "read": memory_read.read(params.memory[:-1], params.memory[-1], params.beta),
    }


def thumbnail() -> str:
    """How the weights of four keys sharpen: those of the third step."""
    query, *keys = arrows.OPENING[:5]
    return thumbs.curves(np.array([look_up(query, keys, keys, sharpness=sharp).weights for sharp in np.linspace(0, 6, 60)]).T)


def page() -> None:
    """Claim, steps, and of the chosen step: question, picture, one sentence, one control; the rest folded."""
    parts.title(EXHIBIT)
    step = lesson.steps(STEPS, SLUG)
    start = Params()
    chosen: dict[str, Any] = {f.name: link.read(SLUG + f.name, getattr(start, f.name), PARSERS[f.name]) for f in fields(Params)}
    with errors.guard():
        shown = SHOW[step](Params(**chosen))
        folds(EXHIBIT, "retrieval", STEPS[step].name, shown, lambda: st.text(CREDIT), lambda: lesson.errata("E28", "E47", "E53"))
