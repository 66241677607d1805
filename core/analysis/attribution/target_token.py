"""Which output a question about a run is about: a row of its scores and a token or a class, or one against another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch.nn.functional as F
from torch import Tensor

from core.errors import InputError
from core.maths import log_softmax
from core.run import Run

Array = np.ndarray


@dataclass(frozen=True)
class Asked:
    """One number of a run: log p of `token` at `row`; with `against`, how far its logit lies above that of the other token.

    Of a model that tells classes, `token` is the number of a class, and `row` is 0: see `Run.scores`; where `several` of them may
    hold, p is that of this one by itself (sigmoid).

    >>> import torch
    >>> logits = np.log([[0.25, 0.75]])
    >>> round(Asked(0, 1).value(logits), 4), round(Asked(0, 1, against=0).value(logits), 4)
    (-0.2877, 1.0986)
    >>> round(Asked(0, 1).goal(torch.tensor(logits)).item(), 4)
    -0.2877
    """

    row: int
    token: int
    against: int | None = None
    several: bool = False

    def value(self, scores: Array) -> float:
        """The number, from a run's scores (row, choice)."""
        row = scores[self.row].astype(np.float64)
        if self.against is not None:
            return float(row[self.token] - row[self.against])
        return float(-np.logaddexp(0, -row[self.token]) if self.several else log_softmax(row)[self.token])

    def goal(self, scores: Tensor) -> Tensor:
        """The same in torch, for `Model.run(grad=...)`; classes come as one row without an axis for it."""
        row = scores if scores.ndim == 1 else scores[self.row]
        if self.against is not None:
            return row[self.token] - row[self.against]
        return F.logsigmoid(row[self.token]) if self.several else row.log_softmax(-1)[self.token]


def about(run: Run, row: int, token: int, against: int | None = None) -> Asked:
    """Return the question about a row and a token or class of a run, as its model's probabilities are meant."""
    several = run.model.tells_classes and run.model.head is not None and run.model.head.several
    return Asked(row, token, against, several)


def rows(run: Run) -> list[int]:
    """The rows of the scores that one may ask about: every position of a decoder, of a masked language model the words; of classes the one."""
    if run.model.tells_classes:
        return [0]
    n = run.side.n_real
    return (
        [row for row in range(n) if run.spans[row] is not None] if run.model.spec.framed else list(range(n))
    )


def blanks(run: Run) -> list[int]:
    """Where a word is hidden."""
    mask = run.model.tokenizer.mask if run.model.spec.framed else None
    return [] if mask is None else [row for row in range(run.side.n_real) if run.ids[row] == mask]


def truth(run: Run, row: int) -> int | None:
    """The token that stands where this row predicts, where the run says it: what follows, or the word itself. No text says its class."""
    if run.model.tells_classes:
        return None
    if run.model.spec.framed:
        return None if row in blanks(run) else run.ids[row]
    if row + 1 < run.side.n_real:
        return run.ids[row + 1]
    return run.model.tokenizer.end if run.source is not None else None


def telling(run: Run) -> int:
    """The row to open with: a hidden word; of a decoder the begin of the word, with a letter in it, that it saw coming best.

    Of classes the one row; of a text in which no such word is, the last. Raises InputError for one of which a masked language model reads no word.
    """
    if run.model.tells_classes:
        return 0
    hidden = blanks(run)
    if hidden or run.model.spec.framed:
        found = hidden or rows(run)
        if not found:
            raise InputError(
                "There is no word in this text.",
                f"{run.model.name} predicts a word, or a blank.",
                "Type a word, or [MASK].",
            )
        return found[0]
    begins = {word.pieces[0] for word in run.side.words if any(c.isalpha() for c in word.text)}
    known = [place - 1 for place in sorted(begins) if place > (2 if run.source is None else 0)]
    chances = log_softmax(run.logits[: run.side.n_real].astype(np.float64))
    return max(known, key=lambda row: chances[row, run.ids[row + 1]], default=run.side.n_real - 1)
