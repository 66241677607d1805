"""The values of one step of a beam, a row for each text that it continued."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from core.decoding.choose import LISTED, Candidate, largest_indices
from core.decoding.filters import Array, NotAllowed
from core.decoding.prompt import Prompt
from core.decoding.stepper import StepOutputs
from core.maths import log_softmax

Keys = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Rows:
    """The values of one step of a beam, a row for each text that it continued; `Node.row` is the row that wrote the node.

    attention, allowed: for each kind (row, layer, head, key); keys: for each row the keys' labels. listed: the ids of
    the most probable tokens, (row, LISTED), with their logits; entropy (row,) in nats, log_total (row,). shut: for each row
    the ids that may not be written there; log_kept (row,) is log_total without them.

    Bound: a step keeps at most `width` rows, each of layers x heads x keys in float32 and as much in bool, whatever
    the number of nodes: 5 * width * layers * heads * keys bytes for each kind, and 16 * LISTED for the candidates.
    """

    attention: Mapping[str, Array] = field(repr=False)
    allowed: Mapping[str, Array] = field(repr=False)
    keys: tuple[Keys, ...] = field(repr=False)
    listed: Array = field(repr=False)
    logits: Array = field(repr=False)
    entropy: Array = field(repr=False)
    log_total: Array = field(repr=False)
    log_kept: Array = field(repr=False)
    shut: tuple[tuple[int, ...], ...] = ()

    @property
    def nbytes(self) -> int:
        """Return the bytes of the arrays."""
        kinds = (*self.attention.values(), *self.allowed.values())
        return sum(
            each.nbytes
            for each in (*kinds, self.listed, self.logits, self.entropy, self.log_total, self.log_kept)
        )

    def candidates(self, row: int, token: int, logprob: float, prompt: Prompt) -> tuple[Candidate, ...]:
        """Return the most probable next tokens of a row; the chosen `token`, with its log-probability `logprob`, is appended if it is not among them."""
        scores = dict(zip(self.listed[row].tolist(), self.logits[row].tolist(), strict=True))
        total = float(self.log_total[row])
        scores.setdefault(token, logprob + total)
        kept, shut = float(self.log_kept[row]), self.shut[row]
        return tuple(
            Candidate(
                i,
                prompt.name(i),
                z,
                float(np.exp(z - total)),
                0.0 if i in shut else float(np.exp(z - kept)),
                cut_by=NotAllowed.name if i in shut else None,
                scores=((-np.inf if i in shut else z),) if prompt.bad_words else (),
                measures=(float(i in shut),) if prompt.bad_words else (),
            )
            for i, z in scores.items()
        )


def rows_of(reading: StepOutputs, keys: Sequence[Keys], shut: Sequence[Sequence[int]]) -> Rows:
    """Return the rows of one step, with the labels of their keys and the ids that may not be generated there."""
    logits = reading.logits
    log_p = log_softmax(logits)
    listed = np.array([largest_indices(row, LISTED) for row in log_p])
    p = np.exp(log_p)
    first = listed[:, :1]
    log_total = (np.take_along_axis(logits, first, 1) - np.take_along_axis(log_p, first, 1))[:, 0]
    allowed = logits.copy()  # 1 - p would lose its digits where the others have almost all
    for row, ids in zip(allowed, shut, strict=True):
        row[list(ids)] = -np.inf
    return Rows(
        attention=reading.attention,
        allowed=reading.allowed,
        keys=tuple(keys),
        listed=listed,
        logits=np.take_along_axis(logits, listed, 1),
        entropy=-(p * np.where(p > 0, log_p, 0.0)).sum(1),
        log_total=log_total,
        log_kept=allowed.max(1) - log_softmax(allowed).max(1),
        shut=tuple(map(tuple, shut)),
    )
