"""Alignment: for each word that it writes a recurrent translator weighs all source words anew."""

from __future__ import annotations

import numpy as np

from core.analysis.attribution.token_importance import spearman
from viz.charts import thumbs
from viz.course.exhibit import Exhibit, Step
from viz.course.why.alignment import maths, steps
from viz.course.why.alignment.params import SENTENCES, Params
from viz.instruments.kit import origin


def compute(params: Params) -> maths.Data:
    """The sentence through the translator that asks as chosen; where it is missing, through the other."""
    return maths.translated(params.model, params.text)


def thumbnail() -> str:
    """The alignment of the sentence that the page opens with."""
    return thumbs.cells(compute(Params()).weights)


def _clear(_: Params, data: maths.Data) -> bool:
    """Whether the word in question has a fifth more weight than the next one."""
    first, second = np.sort(data.weights[maths.telling(data)])[::-1][:2]
    return bool(first >= 1.2 * second)


def _diagonal(_: Params, data: maths.Data) -> bool:
    """Whether the rows of a sentence of five words or more point further right as one goes down."""
    rows = data.weights[:-1].astype(np.float64)
    return len(rows) < 5 or spearman(np.arange(len(rows)), rows @ np.arange(rows.shape[1])) >= 0.8


def _needed(params: Params, data: maths.Data) -> bool:
    """Whether a sentence of five words or more comes out otherwise with every score 0."""
    return len(data.written) < 6 or maths.even(params.model, params.text)[0] != data.text


def _asks(params: Params, data: maths.Data) -> bool:
    """Whether the query is the state that the model was trained to ask with, and not the other one."""
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
        Step(steps.without, SET, promises={"with every score the same it writes something else": _needed}),
        Step(steps.who_asks, SET, promises={"each model asks with its own state": _asks}),
    ),
    presets=(*({"text": text} for text in SENTENCES[1:]), {"asks": "now"}),
    compute_fields=("model", "text"),
    cost=lambda params: 20 * len(params.text),
    tells=lambda params, data: origin.tell(
        model=data.model, text=params.text, second_text=data.text, kind="alignment"
    ),
)
