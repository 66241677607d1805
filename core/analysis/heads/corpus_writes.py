"""The words that a head raises and lowers on its strongest rows over a corpus: its output circuit (W_V and W_O), measured where it attends most.

Of each row only the key with the largest weight that counts: weight times `scores_of_attending`, the direct path to the output layer with
the scales of the norms held. What later layers make of it is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from core.analysis.attribution.score_parts import reaches_words, scores_of_attending
from core.analysis.heads.corpus import CorpusRow, HeadCorpus, HeadWrites, WordScore
from core.data.texts import Example
from core.model import Model

WORDS, ROW_WORDS = 8, 2
"""Words of a head, and of one of its rows, that are raised most, and as many that are lowered."""
AMONG = 10
"""A key is copied where its own token is among so many that are raised most."""
DIGITS = 3


def add_writes(
    model: Model,
    passages: Sequence[Example],
    kinds: Mapping[str, HeadCorpus],
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, HeadCorpus]:
    """Return the heads over these passages with what each writes, where its attention reaches a score of words; `progress` by head."""
    names = [name for name in kinds if reaches_words(model, name)]
    total, done = sum(int(np.prod(kinds[name].shape)) for name in names), 0
    found = dict(kinds)
    for name in names:
        heads = kinds[name]
        writes = []
        for layer in range(heads.shape[0]):
            row = []
            for head in range(heads.shape[1]):
                row.append(head_writes(model, passages, name, heads, layer, head))
                progress(done := done + 1, total)
            writes.append(tuple(row))
        found[name] = replace(heads, writes=tuple(writes))
    return found


def head_writes(
    model: Model, passages: Sequence[Example], kind: str, heads: HeadCorpus, layer: int, head: int
) -> HeadWrites:
    """Return what one head writes on its strongest rows. Raises InputError for an attention that reaches no score of words."""
    rows = heads.strongest[layer][head]
    each = [_row(model, passages[row.passage], kind, layer, head, row) for row in rows]
    if not each:
        return HeadWrites((), (), (), None)
    mean = np.mean([added for added, _ in each], axis=0)
    crosses = not model.spec.kind(kind).one_text
    copies = sum(int((added > added[key]).sum()) < AMONG for added, key in each)
    return HeadWrites(
        _largest(model, mean, WORDS),
        _largest(model, -mean, WORDS, sign=-1),
        tuple(_largest(model, added, ROW_WORDS) for added, _ in each),
        None if crosses else copies,
    )


def _row(
    model: Model, passage: Example, kind: str, layer: int, head: int, row: CorpusRow
) -> tuple[np.ndarray, int]:
    """Return what the head adds to the score of every word at the row of the query, by the key, and the id of the key's token."""
    found = model.spec.kind(kind)
    keep = [found.path(layer, leaf) for leaf in ("pattern", "v")]
    run = model.run(passage.text, target=passage.target if model.spec.has_source else None, keep=keep)
    weight = float(run.trace[keep[0]][head, row.query, row.key])
    added = weight * scores_of_attending(run, kind, layer, head, row.query, row.key)
    return added, int(run.axis(found.keys).ids[row.key])


def _largest(model: Model, scores: np.ndarray, n: int, sign: int = 1) -> tuple[WordScore, ...]:
    order = np.argsort(-scores, kind="stable")[:n]
    return tuple(
        WordScore(model.tokenizer.token(int(token)), round(sign * float(scores[token]), DIGITS))
        for token in order
    )
