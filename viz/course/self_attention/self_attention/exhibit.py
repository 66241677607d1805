"""Self-attention at the blackboard: from the words over queries, keys and values to scores, weights and sums, with every
number."""

from __future__ import annotations

from functools import partial

from viz.charts import thumbs
from viz.course.exhibit import Exhibit, Step
from viz.course.self_attention.self_attention import folds, promises
from viz.course.self_attention.self_attention.params import SENTENCES, Data, Params
from viz.course.self_attention.self_attention.steps import step
from viz.course.shared import self_attention


def compute(params: Params) -> Data:
    """Draw vectors and weights, attend, and mix the example; in `viz.course.shared.self_attention` words are rows."""
    words, total = self_attention.words_of(params.text, params.n)
    weights = self_attention.weight_matrices(
        params.d, params.p, params.r, params.lot, params.changes, params.tied
    )
    found = self_attention.attend(
        self_attention.word_vectors(words, params.d, params.lot), *weights, itself=params.itself
    )
    example = self_attention.EXAMPLES[params.example]
    values = self_attention.word_vectors(example.words, params.d, params.lot) @ weights[2]
    scores = params.example_scores if len(params.example_scores) == len(example.words) else example.scores
    mixed = self_attention.mixed(scores, values, itself=params.own)
    off, kernel = self_attention.torch_difference(found), self_attention.kernel(found)
    return Data(words, total, found, self_attention.as_printed(found), off, kernel, mixed, example)


def thumbnail() -> str:
    """Draw the attention weights of the six words."""
    return thumbs.cells(compute(Params()).attention.weights)


SIZES = ("n", "d", "p", "r")
EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(partial(step, folds.QUESTION), ("text",), change=("lot", *SIZES), promises=promises.QUESTION),
        Step(partial(step, folds.ONE), ("lot",), change=("text", *SIZES), promises=promises.ONE),
        Step(partial(step, folds.ALL), SIZES, change=("text", "lot"), promises=promises.ALL),
        Step(
            partial(step, folds.SCORES),
            ("itself", "tied"),
            change=("text", "lot", *SIZES),
            promises=promises.SCORES,
        ),
        Step(
            partial(step, folds.MIX),
            ("printed", "itself"),
            change=("text", "lot", *SIZES),
            promises=promises.MIX,
        ),
        Step(
            partial(step, folds.HAND),
            ("example", "scores", "own"),
            change=("text", "lot", *SIZES),
            promises=promises.HAND,
        ),
    ),
    cost=3,
    presets=(
        *({"text": text} for text in SENTENCES[1:]),
        *({"example": name} for name in self_attention.EXAMPLES),
    ),
)
