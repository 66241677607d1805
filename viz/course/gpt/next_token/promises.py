"""Conditions that make the sentences of the exhibit on the next token true, step by step."""

from __future__ import annotations

import math

import numpy as np

from core.serving.engine import default
from viz.course.gpt.maths.conditionals import conditionals
from viz.course.gpt.next_token.params import MODEL, Params
from viz.course.gpt.next_token.steps import READER, Both, missing


def _masks(params: Params) -> tuple[np.ndarray, np.ndarray, float, float]:
    """The masks of both models, and the share of their attention on later tokens."""
    found = [
        default().open(name).run(params.text, keep=("*.pattern", "*.allowed")).attention(kind)
        for name, kind in ((READER, "self"), (MODEL, "causal"))
    ]
    ahead = [float(np.triu(each.weights.mean((0, 1)), 1).sum() / len(each.queries)) for each in found]
    return found[0].allowed[0, 0], found[1].allowed[0, 0], ahead[0], ahead[1]


def _one_way(params: Params, data: Both) -> bool:
    both, back, ahead, past = _masks(params)
    n = len(back)
    return bool(both.all() and (~back).sum() == n * (n - 1) // 2 and ahead > 0.3 and past == 0)


def _window_costs(params: Params, data: Both) -> bool:
    one = conditionals(default().open(MODEL), params.text, 1)
    return data[0].total - one.total > math.log(1000)


GUESS = {
    "the sum is the logarithm of the product, and torch's mean": lambda params, data: (
        math.isclose(data[0].total, math.log(data[0].product), rel_tol=1e-6)
        and math.isclose(-data[0].total / len(data[0].tokens), data[0].mean_by_torch, rel_tol=1e-6)
    ),
    "one token is at least ten times less probable than the median": lambda params, data: (
        data[0].logprobs[1:].min() < np.median(data[0].logprobs) - math.log(10)
    ),
}
BLOCK = {
    "cross-attention is the part that a GPT block lacks": lambda params, data: missing() == "cross-attention"
}
TWO_MASKS = {"BERT masks nothing, GPT all later tokens; BERT attends to later ones": _one_way}
WINDOW = {"with one token in sight the text is at least 1,000 times less probable": _window_costs}
