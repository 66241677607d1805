"""Alignment: for each word that it writes, a recurrent translator weights all source words."""

from __future__ import annotations

import numpy as np

from core.analysis.attribution.token_importance import spearman
from viz.charts import thumbs
from viz.course.exhibit import Exhibit, Step
from viz.course.why.alignment import maths, steps
from viz.course.why.alignment.params import SENTENCES, Params
from viz.instruments.kit import origin


def compute(params: Params) -> maths.Data:
    """Return the run of the sentence through the translator that asks with the chosen state; where it is missing, through the
    other."""
    return maths.translated(params.model, params.text)


def thumbnail() -> str:
    """Draw the alignment matrix of the sentence that the page opens with."""
    return thumbs.cells(compute(Params()).weights)


def _clear(_: Params, data: maths.Data) -> bool:
    """Check that the largest weight of the row in question is at least 1.2 times the second."""
    first, second = np.sort(data.weights[maths.telling(data)])[::-1][:2]
    return bool(first >= 1.2 * second)


def _diagonal(_: Params, data: maths.Data) -> bool:
    """Check that in a sentence of five words or more the attended position grows with the row (rank correlation at least 0.8)."""
    rows = data.weights[:-1].astype(np.float64)
    return len(rows) < 5 or spearman(np.arange(len(rows)), rows @ np.arange(rows.shape[1])) >= 0.8


def _needed(params: Params, data: maths.Data) -> bool:
    """Check that a sentence of five words or more is translated differently with every score 0."""
    return len(data.written_tokens) < 6 or maths.even(params.model, params.text)[0] != data.text


def _asks(params: Params, data: maths.Data) -> bool:
    """Check that the query equals the state that the model was trained to ask with, and differs from the other."""
    used, other = (data.before, data.now) if params.asks == "before" else (data.now, data.before)
    return used < 1e-6 < 0.1 < other


SET = ("text", "asks")
EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(steps.guess, SET, promises={"one English word has clearly the most weight": _clear}),
        Step(
            steps.read,
            SET,
            promises={
                "a word's state is that of both directions": lambda params, data: np.array_equal(
                    data.joined, np.hstack((data.ahead, data.back))
                )
            },
        ),
        Step(
            steps.look,
            SET,
            promises={
                "the weights mix the states into the context": lambda params, data: np.allclose(
                    data.weights @ data.joined, data.contexts, atol=1e-4
                )
            },
        ),
        Step(steps.matrix, SET, promises={"the diagonal has a rank correlation of at least 0.8": _diagonal}),
        Step(
            steps.without_attention,
            SET,
            promises={"with every score the same it writes something else": _needed},
        ),
        Step(steps.who_asks, SET, promises={"each model asks with its own state": _asks}),
    ),
    presets=(*({"text": text} for text in SENTENCES[1:]), {"asks": "now"}),
    compute_fields=("model", "text"),
    cost=lambda params: 20 * len(params.text),
    tells=lambda params, data: origin.tell(
        model=data.model, text=params.text, second_text=data.text, kind="alignment"
    ),
)
