"""Conditions that make the sentences of the exhibit on tuned GPTs true, step by step."""

from __future__ import annotations

import numpy as np

from core.data.gpt_inputs import (
    CHOICE,
    CLASSIFICATION,
    ENTAILMENT,
    SIMILARITY,
    TASKS,
    extract_positions,
    n_rows,
)
from core.training.finetune.gpt_tuning import RecordedRun, tuning_name
from viz.course.gpt.gpt_tasks.live import ANSWERED, halfway, share, verdict
from viz.course.gpt.gpt_tasks.maths import Extracted, extracted
from viz.course.gpt.gpt_tasks.params import PAPER, Example, Params
from viz.course.gpt.gpt_tasks.read import recorded
from viz.widgets import engine_client


def _read(example: Example, weight: float = PAPER) -> Extracted:
    model = engine_client.open(recorded(example.task, weight).name)
    return extracted(model, example.task, example.texts)


def _at_the_end(params: Params) -> bool:
    found = _read(params.example(CLASSIFICATION))
    tokens = found.tokens[0]
    return extract_positions(found.tokens) == (len(tokens) - 1,) and (tokens[0], tokens[-1]) == (
        "Start",
        "Extract",
    )


def _no_order(params: Params) -> bool:
    one = params.example(SIMILARITY)
    other = Example(SIMILARITY, one.second, one.first)
    return bool(np.abs(_read(one).output.probabilities - _read(other).output.probabilities).max() < 1e-5)


def _right_with(params: Params, task: str) -> float:
    example = params.example(task)
    return float(_read(example).output.probabilities[example.right])


def _cheaper(params: Params) -> bool:
    example = params.example(CLASSIFICATION)
    return _read(example, PAPER).text > _read(example, 0.0).text + 1


def _helps() -> tuple[str, str]:
    plain, both = (RecordedRun.read(tuning_name(CLASSIFICATION, weight)) for weight in (0.0, PAPER))
    half = halfway(plain.reports)
    return verdict(share(plain, half), share(both, half)), verdict(share(plain, -1), share(both, -1))


PLACE = {
    "the head reads Extract, the last token": lambda params, models: _at_the_end(params),
    "the text is classified correctly": lambda params, models: _right_with(params, CLASSIFICATION) > 0.9,
}
ROWS = {
    "each answer of a multiple choice has a row": lambda params, models: (
        len(_read(example := params.example(CHOICE)).tokens) == len(example.labels) == n_rows(CHOICE, 4)
    ),
    "two texts to compare have no order": lambda params, models: _no_order(params),
    "an entailment is one row": lambda params, models: len(_read(params.example(ENTAILMENT)).tokens) == 1,
}
SAYS = {
    "all four opening examples are right": lambda params, models: all(
        _right_with(params, task) > 0.9 for task in TASKS
    )
}
LOSSES = {
    "the text costs at least a nat less per token with λ = 0.5": lambda params, models: _cheaper(params)
}
TRAIN = {
    "more texts right at half of the steps, as many at the end": lambda params, models: (
        _helps() == (ANSWERED[0], ANSWERED[1])
    )
}
