"""One text of a beam, token by token, with the candidates and the attention of the steps that wrote it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from core.decoding.prompt import Prompt
from core.decoding.step import Step
from core.decoding.tree import Tree


def hypothesis_steps(steps: Sequence[Step], place: int, prompt: Prompt) -> tuple[Step, ...]:
    """Return the steps of the one text that ends in node `place` of a beam's tree, as if it had been decoded alone.

    `steps` are those of the beam so far, from the first. Each step found has the token of its node, the candidates,
    attention and keys of the row that wrote it, and text and ids up to there; none has a tree. `seconds` and
    `cache_bytes` are those of the whole beam.

    >>> from core.decoding import Beam, counterexample
    >>> from core.decoding.decode import write
    >>> prompt = Prompt((), counterexample.Letters(), room=3)
    >>> steps = list(write(counterexample.LookupModel(), prompt, Beam(width=2), 2, {}))
    >>> [(step.text, round(step.chosen_candidate.before, 2), step.candidates[0].token) for step in hypothesis_steps(steps, steps[-1].tree.best, prompt)]
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
        logprob = tree.token_logprob(at)
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
                log_kept=float(rows.log_kept[row]) if prompt.bad_words else None,
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
    reason = _reason(tree, place, prompt, len(ids))
    return (*found[:-1], replace(found[-1], done=bool(reason), reason=reason))


def _reason(tree: Tree, place: int, prompt: Prompt, length: int) -> str:
    """Return why nothing follows this node; "" where something does, or could."""
    if prompt.is_end(tree.nodes[place].id):
        return "end"
    if place not in dict(tree.finished):
        return ""
    return "context" if len(prompt.ids) + length >= prompt.room else "limit"
