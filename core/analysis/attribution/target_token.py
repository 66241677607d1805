"""The output that a measurement is about: a row of a run's scores and a token or a class, or one against another."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch.nn.functional as F
from torch import Tensor

from core.analysis.task_outputs import activation_of, tagged_words
from core.errors import InputError
from core.maths import log_softmax
from core.run import Run

if TYPE_CHECKING:
    from jaxtyping import Float


Array = np.ndarray
EDGES = ("start", "end")
"""The rows of the scores of a model that finds answers."""


@dataclass(frozen=True)
class OutputTarget:
    """One number of a run: log p of `token` at `row`; with `against`, its logit minus that of the other token.

    `token` is a column of `Run.scores`: a token, a class, a tag, the position of an answer's edge. `activation` is how p is made of the
    scores: "softmax" over all, "sigmoid" of each class by itself, or "none": the number is the score.

    >>> import torch
    >>> logits = np.log([[0.25, 0.75]])
    >>> round(OutputTarget(0, 1).value(logits), 4), round(OutputTarget(0, 1, against=0).value(logits), 4)
    (-0.2877, 1.0986)
    >>> round(OutputTarget(0, 1).goal(torch.tensor(logits)).item(), 4)
    -0.2877
    >>> OutputTarget(0, 0, activation="none").value(np.array([[-1.5]]))
    -1.5
    """

    row: int
    token: int
    against: int | None = None
    activation: str = "softmax"

    @property
    def is_score(self) -> bool:
        """Return whether the number is a score or a difference of two, not a log probability."""
        return self.against is not None or self.activation == "none"

    def value(self, scores: Float[Array, "row choice"]) -> float:
        """Return the value of this output, from all scores of a run."""
        row = scores[self.row].astype(np.float64)
        if self.against is not None:
            return float(row[self.token] - row[self.against])
        if self.activation == "none":
            return float(row[self.token])
        each = self.activation == "sigmoid"
        return float(-np.logaddexp(0, -row[self.token]) if each else log_softmax(row)[self.token])

    def goal(self, scores: Float[Tensor, "... choice"]) -> Float[Tensor, ""]:
        """Return the same number in torch, for `Model.run(grad=...)`; classes come as one row without a row axis."""
        row = scores if scores.ndim == 1 else scores[self.row]
        if self.against is not None:
            return row[self.token] - row[self.against]
        if self.activation == "none":
            return row[self.token]
        each = self.activation == "sigmoid"
        return F.logsigmoid(row[self.token]) if each else row.log_softmax(-1)[self.token]


def output_target(run: Run, row: int, token: int | str, against: int | str | None = None) -> OutputTarget:
    """Return the target for a row of a run's scores, negative ones from the end, and a column, with the activation of its model.

    `token` and `against` are ids, or names of tokens, classes or tags. Raises InputError for a row or a name that there is not.
    """
    rows = len(run.scores)
    if not -rows <= row < rows:
        raise InputError(
            "There is no row {row}.",
            "The scores have {rows} rows.",
            "Choose 0 to {last}.",
            row=row,
            rows=rows,
            last=rows - 1,
        )
    columns = (column_of(run, token), None if against is None else column_of(run, against))
    return OutputTarget(row % rows, *columns, activation_of(run.model))


def column_of(run: Run, name: int | str) -> int:
    """Return the column of the scores with this name: a token, a class, a tag. Raises InputError where there is none."""
    if not isinstance(name, str):
        return int(name)
    model = run.model
    if model.main_output == "logits":
        return model.token_id(name)
    names = [run.choice(index) for index in range(run.scores.shape[-1])]
    if name in names:
        return names.index(name)
    raise InputError(
        "{model} has no output '{name}'.",
        "It has {names}.",
        "Choose one of them.",
        model=model.name,
        name=name,
        names=", ".join(names),
    )


def target_rows(run: Run) -> list[int]:
    """Return the rows of the scores that can be a target: every position of a decoder, the words of a masked language
    model or a tagger, both edges of an answer, the one row of classes and scores.
    """
    if run.model.whole_input:
        return [0]
    if run.model.main_output == "answer":
        return list(range(len(EDGES)))
    n = run.side.n_real
    words = run.model.spec.framed or run.model.main_output == "tags"
    return [row for row in range(n) if run.spans[row] is not None] if words else list(range(n))


def read_positions(run: Run, output: OutputTarget) -> list[int]:
    """Return the positions whose vectors the target's score is computed from: its row, the edge of an answer, what a head of classes pools."""
    model, n = run.model, run.side.n_real
    if model.main_output == "answer":
        return [output.token]
    if not model.whole_input:
        return [output.row]
    pool = "first" if model.head is None or model.head.pooled else model.head.pool
    return {"first": [0], "last": [n - 1]}.get(pool, list(range(n)))


def blank_rows(run: Run) -> list[int]:
    """Return the positions of masked words."""
    mask = run.model.tokenizer.mask if run.model.can("fill_blanks") else None
    return [] if mask is None else [row for row in range(run.side.n_real) if run.ids[row] == mask]


def true_token(run: Run, row: int) -> int | None:
    """Return the true token that this row predicts: the next one, or the word itself; None where the text does not give it, as for classes."""
    if run.model.main_output != "logits":
        return None
    if run.model.spec.framed:
        return None if row in blank_rows(run) else run.ids[row]
    if row + 1 < run.side.n_real:
        return run.ids[row + 1]
    return run.model.tokenizer.end if run.source is not None else None


def default_row(run: Run) -> int:
    """Return the row to open with: a masked word; for a decoder the row before the word, with a letter in it, that it predicts best.

    For a tagger, the word with the rarest tag of the text; for an answer, its beginning; for classes, the one row; for a text
    without such a word, the last row. Raises InputError for a text without a word that a masked language model can predict.
    """
    if run.model.whole_input or run.model.main_output == "answer":
        return 0
    if run.model.main_output == "tags":
        return _rarest(run)
    hidden = blank_rows(run)
    if hidden or run.model.spec.framed:
        found = hidden or target_rows(run)
        if not found:
            raise InputError(
                "There is no word in this text.",
                "{name} predicts a word, or a blank.",
                "Type a word, or [MASK].",
                name=run.model.name,
            )
        return found[0]
    begins = {word.pieces[0] for word in run.side.words if any(c.isalpha() for c in word.text)}
    known = [place - 1 for place in sorted(begins) if place > (2 if run.source is None else 0)]
    chances = log_softmax(run.logits[: run.side.n_real].astype(np.float64))
    return max(known, key=lambda row: chances[row, run.ids[row + 1]], default=run.side.n_real - 1)


def _rarest(run: Run) -> int:
    """Return the row of the word with the rarest tag; of several the most probable."""
    words = tagged_words(run)
    if not words:
        raise InputError(
            "There is no word in this text.", "{name} tags words.", "Type a sentence.", name=run.model.name
        )
    counts = Counter(word.tag for word in words)
    return min(words, key=lambda word: (counts[word.tag], -word.chance)).row
