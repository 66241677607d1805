"""The claims of the exhibit on the hierarchical network, each a condition on the run that a page shows."""

from __future__ import annotations

import numpy as np

from viz.course.look_up.hierarchy import maths
from viz.course.look_up.hierarchy.maths import Data
from viz.course.look_up.hierarchy.params import EXAMPLES, Params

CLEAR, GOAL = 0.02, 0.80


def opening(params: Params) -> bool:
    """Return whether the page shows its opening text."""
    return params.text == Params().text


def gap(weights: np.ndarray) -> float:
    """Return the difference between the largest weight and the second."""
    first, second = np.sort(weights)[::-1][:2]
    return float(first - second)


def weights_are_no_explanation(params: Params, data: Data) -> bool:
    """Check that for the opening text the order of the weights is not that of the losses without each sentence."""
    same = maths.agreement(data)
    return not opening(params) or (same is not None and same < 0.9)


GUESS = {
    "at the opening one sentence has clearly the largest weight": lambda params, data: (
        not opening(params) or gap(data.sentences) >= CLEAR
    ),
}
INSIDE = {
    "at the opening one word of the sentence with the largest weight has clearly the largest": lambda params, data: (
        not opening(params) or gap(data.inside[data.words_of(data.heaviest)]) >= CLEAR
    ),
}
PRODUCT = {"the products sum to 1": lambda params, data: abs(float(data.products.sum()) - 1) < 1e-4}
KINDS = {
    "the opening text gets its own kind": lambda params, data: (
        not opening(params)
        or any(one.passed for one in maths.preset_results() if EXAMPLES[one.row.task] == params.text)
    ),
    "one kind is the most probable": lambda params, data: gap(data.chances) >= CLEAR,
}
DELETION = {"the order of the weights is not that of the losses": weights_are_no_explanation}
MEASURED = {
    "the mean of the folds of whole books reaches 80%": lambda params, _: (
        len(maths.by_fold()) >= 3 and next(iter(maths.left_out().values())) >= GOAL
    ),
    "it is right more than twice as often as always choosing the commonest kind": lambda params, _: (
        maths.accuracies()["always the commonest class"] < maths.accuracies()[maths.MODEL] / 2
    ),
}
