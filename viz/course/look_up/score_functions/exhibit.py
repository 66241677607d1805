"""Eight ways to say how well a key fits a query, on the same vectors; and which of them do not see the query or the keys."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from viz.charts import thumbs
from viz.course.look_up.score_functions import folds, steps
from viz.course.look_up.score_functions import maths as lessons
from viz.shell import errors, state
from viz.shell.pages import Chapter, Cite, Exhibit
from viz.widgets import lesson, parts

EXHIBIT = Exhibit(
    title="Score functions",
    chapter=Chapter.LOOK_UP,
    order=30,
    minutes=8,
    claim="Every attention begins with a score: how well does this key fit this query? Eight answers, on the same vectors.",
    cites=(
        Cite("ghojogh2023", "query-retrieval modelling", "Eqs. (9) to (12)", step=4),
        Cite("ghojogh2020", "section 2.4.2", "Eqs. (9) to (12)", step=4),
        Cite("beigy2021", "alignment score functions, table", step=2),
        Cite("lifei2022", "practical considerations", "s = q·k / √d_k", step=2),
        Cite("luong2015", "section 3.1", "Eqs. (8), (9)", step=4),
        Cite("bahdanau2015", "appendix A.1.2", step=4),
        Cite("graves2014", "section 3.3.1", "Eqs. (5), (6)", step=2),
        Cite("vaswani2017", "section 3.2.1", "Eq. (1)", step=1),
    ),
)
STEPS = (
    lesson.Step("Two rules", "A query meets four keys. By which rule it compares them decides what it finds."),
    lesson.Step("All eight", "The same vectors under all eight rules: watch them disagree."),
    lesson.Step("Who ignores what", "Change one thing and see whose weights stay as they are: that rule does not look at it."),
    lesson.Step("One by one", "One rule with its numbers. The colour of the ground says what a query there would find."),
)


@dataclass(frozen=True)
class Params:
    """Where query and keys stand, the sharpness of the last rule, the experiment of the third step, the rule of the fourth."""

    query: lessons.Pair = (1.0, 0.6)
    keys: tuple[lessons.Pair, ...] = ((0.7, 0.5), (1.7, -0.2), (-0.6, 1.4), (-1.2, -0.9))
    beta: float = 5.0
    experiment: str = "turn"
    rule: str = "linear"

    @property
    def place(self) -> lessons.Place:
        return lessons.Place(self.query, self.keys)


@dataclass(frozen=True)
class Data:
    """Scores and weights (key,) of each rule by name, and the rules themselves."""

    functions: tuple[lessons.Function, ...]
    scores: dict[str, lessons.Array]
    weights: dict[str, lessons.Array]


def compute(params: Params = Params()) -> Data:
    """All eight on the visitor's vectors."""
    functions, at = lessons.eight(params.beta), (params.query, params.keys)
    return Data(functions, {f.name: f.scores(*at) for f in functions}, {f.name: f.weights(*at) for f in functions})


def thumbnail() -> str:
    """The weights of four keys (rows) under the eight rules, on the opening vectors."""
    return thumbs.cells(np.array(list(compute().weights.values())).T)


def page() -> None:
    """Claim, steps, the plane or what changed, one sentence of numbers; everything else folded."""
    parts.title(EXHIBIT)
    at = lesson.steps(STEPS, steps.SLUG)
    start = Params()
    query, *keys = steps.read("at", (start.query, *start.keys))
    params = Params(
        query=query,
        keys=tuple(keys),
        beta=state.read(steps.SLUG + "beta", start.beta, state.real(0, 20)),
        experiment=state.read(steps.SLUG + "experiment", start.experiment, state.one_of(tuple(lessons.EXPERIMENTS))),
        rule=state.read(steps.SLUG + "rule", start.rule, state.one_of(steps.RULES)),
    )
    with errors.guard():
        data = compute(params)
        told = steps.SHOWN[at](params, data, start)
        folds.equation(told, params, data)
        folds.looking_at(at)
        parts.documents(EXHIBIT, lambda: lesson.errata("E8", "E26", "E53", "E9"))
        parts.as_table(lambda: folds.table(data) if told else folds.LATER, "score_functions")
        parts.take_away(lambda: folds.arrays(params, data), folds.code(params), key="score_functions")
