"""Differences between two runs: attention of the heads, residual stream, the model's output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.analysis.heads.pattern_distance import jensen_shannon
from core.analysis.task_outputs import activation_of, chances
from core.maths import softmax
from core.run import Run

if TYPE_CHECKING:
    from jaxtyping import Float


Array = np.ndarray


def attention_change(before: Run, after: Run, kind: str) -> Float[Array, "layer head"]:
    """Measure the change of each head's rows, the mean over its rows: Jensen-Shannon divergence in bits, 0 to 1.

    Exactly 0 where the patterns are equal, as in all layers before a change.
    """
    return np.stack(
        [
            jensen_shannon(a, b).mean(-1)
            for a, b in zip(before.attention(kind).weights, after.attention(kind).weights, strict=True)
        ]
    )


def stream_change(before: Run, after: Run, side: str | None = None) -> Float[Array, "stage pos"]:
    """Measure the relative change of the residual stream: |after - before| / |before|; exactly 0 where it is equal.

    Row i is what enters layer i, the last what leaves the last layer.
    """
    a, b = before.hidden(side).astype(np.float64), after.hidden(side).astype(np.float64)
    return np.linalg.norm(b - a, axis=-1) / np.maximum(np.linalg.norm(a, axis=-1), np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class PredictionChange:
    """The predictions of a model before and after an edit: words (single tokens) with their probabilities, and the row.
    With `score` the numbers are scores, not probabilities.
    """

    words: tuple[str, ...]
    before: Float[Array, " choice"]
    after: Float[Array, " choice"]
    row: int | None = None
    score: bool = False

    @property
    def first(self) -> tuple[int, int]:
        """Return the indices in `words` of the most probable word before and after."""
        return int(self.before.argmax()), int(self.after.argmax())


def prediction_change(before: Run, after: Run, row: int, n: int = 5) -> PredictionChange:
    """Compare the predictions of two runs at a row of the scores: the `n` most probable words (classes, tags, edges, the
    score) of each run, in the order of the first run.
    """
    made = [chances(run.model, run.scores[row]) for run in (before, after)]
    best = [np.argsort(-each, kind="stable")[:n].tolist() for each in made]
    ids = sorted({*best[0], *best[1]}, key=lambda index: -made[0][index])
    names, score = tuple(before.choice(index) for index in ids), activation_of(before.model) == "none"
    return PredictionChange(names, made[0][ids], made[1][ids], row, score)


def target_change(before: Run, after: Run) -> PredictionChange:
    """Return the probabilities, in both runs, of each token of the translation that both were given, END too."""
    return PredictionChange(
        before.side.next_tokens().tokens[: before.side.n_real],
        target_probabilities(before),
        target_probabilities(after),
    )


def target_probabilities(run: Run) -> Float[Array, " row"]:
    """Return the probability of each token of the translation that a run was given, END last."""
    rows, ids = target_ids(run)
    return softmax(run.logits[rows])[np.arange(len(rows)), ids]


def target_ids(run: Run) -> tuple[list[int], list[int]]:
    """Return the rows of the logits and, for each, the id of the given translation's token there; END last."""
    n, end = run.side.n_real, run.model.tokenizer.end
    assert end is not None
    return list(range(n)), [*run.ids[1:n], end]
