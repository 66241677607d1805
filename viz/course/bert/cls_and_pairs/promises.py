"""Conditions that make the sentences of the exhibit on [CLS] true, step by step."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from core.training.finetune import tuning
from core.training.finetune.finetune_tasks import GOALS
from viz.course.bert.cls_and_pairs import maths, pairs, read
from viz.course.bert.cls_and_pairs.params import PAIRS as PAIRED
from viz.course.bert.cls_and_pairs.params import TUNED, Models, Params
from viz.widgets import engine_client

OPENS = ("follows", "neither")
EXPECTED = {
    tuple(PAIRED[1]): ("contradicts", "contradicts"),
    tuple(PAIRED[2]): ("neither", "neither"),
    tuple(PAIRED[3]): ("follows", "follows"),
}
"""The right answers for the examples, in their order, and swapped."""
JUDGING = ("not", "awful", "dull", "lovely", "rude", "nobody", "did", "last", "exciting", "but")


@lru_cache(maxsize=4)
def _read(text: str, model: str, seed: int) -> read.Read:
    return read.read(text, model, seed)


def _one(params: Params, models: Models) -> read.Read:
    used = models["opinions"]
    return _read(params.text, used.model or "", used.seed)


def _top_of_gradient(params: Params, models: Models) -> str:
    run = read.ran(models["opinions"].model or "", params.text)
    found = maths.arrives(run, 1 - _one(params, models).classification.best)
    assert (found[-1] > 0).sum() == 1 and (found[-2] > 0).all()
    return run.tokens[int(found[0].argmax())]


@lru_cache(maxsize=4)
def _right_share(goal: str, model: str, seed: int) -> float:
    return maths.checked(engine_client.open(model), GOALS[goal], tuning.CHECKED, seed).right.mean()


def _right_shares(models: Models) -> dict[str, float]:
    return {goal: _right_share(goal, models[goal].model or "", models[goal].seed) for goal in TUNED}


def _swap(params: Params, models: Models) -> bool:
    model = models["pairs"].model or ""
    forth, back = (
        pairs.pair_chances(model, *both, True)
        for both in ((params.first, params.second), (params.second, params.first))
    )
    right = [pairs.WORDS.index(word) for word in EXPECTED.get((params.first, params.second), OPENS)]
    if "taller" in params.first:
        return forth[:2].max() < 0.7 and back[:2].max() < 0.7 and forth[2] < 0.05
    return [int(forth.argmax()), int(back.argmax())] == right and forth.max() > 0.8


ONE_VECTOR = {
    "the sentence is good, and tuning makes the model say so": lambda params, models: (
        (found := _one(params, models)).classification.chances[0] > 0.9
        and abs(found.untaught[0] - 0.5) < 0.25
    )
}
READS = {
    "tuning changes what [CLS] attends to in the last layer by a tenth or more": lambda params, models: (
        0.5 * np.abs((found := _one(params, models)).after[-1].mean(0) - found.before[-1].mean(0)).sum() > 0.1
    )
}
ARITHMETIC = {
    "the products and the bias add up to the scores": lambda params, models: np.allclose(
        [(said := _one(params, models).classification).terms(k).sum() + said.bias[k] for k in (0, 1)],
        said.scores,
        atol=1e-3,
    ),
    "no product decides alone": lambda params, models: (
        np.abs((said := _one(params, models).classification).terms(said.best)).max()
        < 0.5 * abs(said.scores[said.best])
    ),
}
GRADIENT = {
    "the gradient arrives at [CLS] alone, a layer below at all tokens, and is largest at a judging word": (
        lambda params, models: _top_of_gradient(params, models) in JUDGING
    )
}
PAIRS = {"right in both orders; between follows and contradicts of “taller” it is undecided": _swap}
TRAINED = {
    "nearly all opinions are right, most pairs": lambda params, models: (
        (found := _right_shares(models))["opinions"] > 0.95 and found["pairs"] > 0.65
    ),
    "pairs are harder than opinions": lambda params, models: (
        (found := _right_shares(models))["pairs"] < found["opinions"] - 0.1
    ),
}
