"""Positions: two first ideas, four criteria, the wave, a learned table, a model without its positions."""

from __future__ import annotations

import numpy as np

from viz.charts import thumbs
from viz.course.exhibit import Exhibit, Step
from viz.course.self_attention.position_criteria import judge
from viz.course.self_attention.positions import position_ablation, position_ideas, promises, read, steps
from viz.course.self_attention.positions.params import MODELS, SENTENCES, TABLES, Params
from viz.course.shared.positions import Formula


def compute(params: Params) -> read.Verdicts:
    """Return the verdict on each position code by the criteria, on sentences of the two lengths."""
    found = position_ideas.candidates(read.learned(read.WRITER))
    return read.Verdicts(tuple(judge(name, code, params.short, params.long) for name, code in found.items()))


def thumbnail() -> str:
    """Draw the rim of the second clock of four: the first 40 positions on their way round."""
    angles = np.array([position_ideas.hands(Formula(8), t)[1] for t in range(40)])
    return thumbs.points(np.stack([np.sin(angles), -np.cos(angles)], axis=1), marked=(3,))


LENGTHS = ("short", "long")
EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(steps.guess, ("text",), without_data=True, promises=promises.GUESS),
        Step(steps.two_ideas, LENGTHS, without_data=True, promises=promises.TWO_IDEAS),
        Step(steps.criteria, ("code",), change=LENGTHS, promises=promises.CRITERIA),
        Step(steps.wave, ("position",), without_data=True, promises=promises.WAVE),
        Step(steps.table, ("table",), without_data=True, promises=promises.TABLE),
        Step(
            position_ablation.ablation,
            ("model",),
            texts=("trained",),
            without_data=True,
            promises=promises.ABLATION,
        ),
    ),
    compute_fields=LENGTHS,
    cost=300,
    presets=(
        *({"text": text, "trained": text} for text in SENTENCES[1:]),
        *({"table": table} for table in TABLES),
        *({"model": model} for model in MODELS),
    ),
)
