"""What one sentence loses without each head: how probable what the model says still is, token by token."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.analysis.attribution.ablate_heads import each_head
from core.analysis.attribution.target_token import rows, truth
from core.edits import ZeroHead
from core.maths import log_softmax
from core.model import Model
from core.run import Run

Array = np.ndarray


@dataclass(frozen=True)
class Removal:
    """ln p of every token that the model says: as it is, without each head, and without all heads of a layer.

    Shapes: before (token,), without (layer, head, token), bare (layer, token). `target` is the translation, if there is one.
    """

    tokens: tuple[str, ...]
    target: str | None
    before: Array
    without: Array
    bare: Array

    def factors(self, layer: int) -> Array:
        """By what the probability of everything said is multiplied without each head, then without all: (head + 1,)."""
        changed = np.concatenate([self.without[layer], self.bare[layer][None]]) - self.before
        return np.exp(changed.sum(-1))


def said(run: Run) -> tuple[list[int], list[int]]:
    """Rows of the logits and what the model says there: the next token, the translation and its END, the words themselves.

    Where the run does not tell (behind the last token, in a blank) it is the most probable token.
    """
    asked = rows(run)
    known = [truth(run, row) for row in asked]
    return asked, [
        int(run.logits[row].argmax()) if token is None else token
        for row, token in zip(asked, known, strict=True)
    ]


def removal(model: Model, text: str, kind: str) -> Removal:
    """Each head off by itself (one batch), then each layer's heads all together. Errors: InputError of the run."""
    before = model.run(text, keep=("logits",))
    asked, tokens = said(before)
    target = before.target_text if model.spec.has_source else None

    def read(run: Run) -> Array:
        return log_softmax(run.logits[asked].astype(np.float64))[np.arange(len(asked)), tokens]

    without = each_head(model, text, kind, read, target=target)
    found = model.spec.kind(kind)
    bare = [
        read(
            model.run(
                text,
                target=target,
                keep=("logits",),
                edits=[ZeroHead(found.path(layer, "heads"), head) for head in range(without.shape[1])],
            )
        )
        for layer in range(len(without))
    ]
    return Removal(
        tuple(model.tokenizer.token(token) for token in tokens), target, read(before), without, np.stack(bare)
    )
