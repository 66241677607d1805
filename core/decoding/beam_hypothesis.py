"""One text of a beam, token by token: what the model gave and where it looked while it wrote just this text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from core.decoding.filters import Array, log_softmax
from core.decoding.prompt import Prompt
from core.decoding.stepper import Reading
from core.decoding.steps import LISTED, Candidate, Step, largest
from core.decoding.tree import Tree

Keys = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Rows:
    """What was read at one step of a beam, a row for each text that went on; `Node.row` says which wrote the node.

    attention, allowed: for each kind (row, layer, head, key); keys: for each row the keys' labels. listed: the ids of
    the most probable tokens, (row, LISTED), with their logits; entropy (row,) in nats, log_total (row,).

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

    @property
    def nbytes(self) -> int:
        """What the arrays take."""
        kinds = (*self.attention.values(), *self.allowed.values())
        return sum(each.nbytes for each in (*kinds, self.listed, self.logits, self.entropy, self.log_total))

    def candidates(self, row: int, taken: int, logprob: float, prompt: Prompt) -> tuple[Candidate, ...]:
        """What could have come next in this row; `taken`, of this ln p, in the last place if it is not among them."""
        scores = dict(zip(self.listed[row].tolist(), self.logits[row].tolist(), strict=True))
        total = float(self.log_total[row])
        scores.setdefault(taken, logprob + total)
        return tuple(Candidate(i, prompt.name(i), z, p := float(np.exp(z - total)), p) for i, z in scores.items())


def rows_of(reading: Reading, keys: Sequence[Keys]) -> Rows:
    """The rows of a reading, with the labels of their keys."""
    logits = reading.logits
    log_p = log_softmax(logits)
    listed = np.array([largest(row, LISTED) for row in log_p])
    p = np.exp(log_p)
    first = listed[:, :1]
    return Rows(
        attention=reading.attention,
        allowed=reading.allowed,
        keys=tuple(keys),
        listed=listed,
        logits=np.take_along_axis(logits, listed, 1),
        entropy=-(p * np.where(p > 0, log_p, 0.0)).sum(1),
        log_total=(np.take_along_axis(logits, first, 1) - np.take_along_axis(log_p, first, 1))[:, 0],
    )


def along(steps: Sequence[Step], place: int, prompt: Prompt) -> tuple[Step, ...]:
    """The steps of the one text that ends in node `place` of a beam's tree, as if it had been written alone.

    `steps` are those of the beam so far, from the first. Each step found has the token of its node, the candidates,
    attention and keys of the row that wrote it, and text and ids up to there; none has a tree. `seconds` and
    `cache_bytes` are those of the whole beam.

    >>> from core.decoding import Beam, counterexample
    >>> from core.decoding.decode import write
    >>> prompt = Prompt((), counterexample.Letters(), room=3)
    >>> steps = list(write(counterexample.OnPaper(), prompt, Beam(width=2), 2, {}))
    >>> [(step.text, round(step.chosen.before, 2), step.candidates[0].token) for step in along(steps, steps[-1].tree.best, prompt)]
    [('b', 0.4, 'a'), ('bb', 0.9, 'b')]
    """
    tree = steps[-1].tree
    assert tree is not None, "only a beam has texts to choose from"
    found: list[Step] = []
    ids: tuple[int, ...] = ()
    for at in tree.path(place):
        node = tree.nodes[at]
        step, row, ids = steps[node.step], node.row, (*ids, node.id)
        rows = step.rows
        assert rows is not None
        logprob = tree.alone(at)
        text, pending = prompt.text(ids)
        found.append(
            replace(
                step,
                token=node.token,
                id=node.id,
                candidates=rows.candidates(row, node.id, logprob, prompt),
                logprob=logprob,
                entropy=float(rows.entropy[row]),
                surprise=-logprob / float(np.log(2)),
                log_total=float(rows.log_total[row]),
                attention={kind: rows_[row] for kind, rows_ in rows.attention.items()},
                allowed={kind: rows_[row] for kind, rows_ in rows.allowed.items()},
                keys=rows.keys[row],
                ids=ids,
                text=text,
                pending=pending,
                done=False,
                reason="",
                tree=None,
                rows=None,
            )
        )
    reason = _why(tree, place, prompt, len(ids))
    return (*found[:-1], replace(found[-1], done=bool(reason), reason=reason))


def _why(tree: Tree, place: int, prompt: Prompt, length: int) -> str:
    """Why nothing follows this node; "" where something does, or could."""
    if tree.nodes[place].id == prompt.end:
        return "end"
    if place not in dict(tree.finished):
        return ""
    return "context" if len(prompt.ids) + length >= prompt.room else "limit"
