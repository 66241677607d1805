"""One layer of a trained model on one sentence, by words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.analysis.heads.habits import Heads
from core.analysis.heads.head_file import habits
from core.analysis.heads.likeness import likeness
from core.errors import InputError
from core.serving.engine import RunRequest, default
from viz.course.self_attention.heads_compared.maths import looking
from viz.labels import distinct

MODELS = {"translator-en-es": ("self", 1), "bert-mini": ("self", 1), "gpt-mini": ("causal", 4)}
"""The kind of attention that is shown of each model, and the layer to open with."""
LONGEST = 16


@dataclass(frozen=True)
class Layer:
    """Weights and allowed (head, query, key) of one layer; `row`: the word that looks; `heads`: their measured habits."""

    model: str
    kind: str
    layer: int
    n_layers: int
    words: tuple[str, ...]
    weights: np.ndarray
    allowed: np.ndarray
    row: int
    heads: Heads | None

    @property
    def names(self) -> list[str]:
        """The words as options."""
        return named(self.words)

    @property
    def pointing(self) -> int:
        """The head that is worth pointing at from the word that looks."""
        return looking.pointing(self.weights, self.row)

    def apart(self) -> np.ndarray:
        """Jensen-Shannon divergence of every pair of heads, in bits: (head, head)."""
        n = len(self.weights)
        found = np.zeros((n, n))
        for a in range(n):
            for b in range(a):
                found[a, b] = found[b, a] = likeness(self.weights[a], self.weights[b], self.allowed[a]).bits
        return np.nan_to_num(found)


def here() -> tuple[str, ...]:
    """The models that are here and in order."""
    return tuple(name for name in MODELS if (entry := default().entry(name)) and entry.ok)


def named(words: Sequence[str]) -> list[str]:
    """Words as options, without the white space before them, repeated ones told apart."""
    return distinct(word.strip() or word for word in words)


def read(model: str, text: str, layer: int, word: str) -> Layer:
    """The patterns of one layer (-1: the model's own) as seen from a word ("": the telling one).

    Errors: InputError for a text that cannot be drawn, and where no model is here.
    """
    if model not in here():
        raise InputError(
            "No trained model with heads is here.",
            f"This page needs one of {', '.join(MODELS)}.",
            "See the page Models for what is missing.",
        )
    kind, first = MODELS[model]
    target = "" if default().open(model).spec.has_source else None
    run = default().run(RunRequest(model, text, target=target, keep=("*.pattern",)))
    found = run.attention(kind, by="word")
    if len(found.keys) > LONGEST:
        raise InputError(
            f"The sentence has {len(found.keys)} words for {model}.",
            f"This page draws up to {LONGEST}, marks included.",
            "Shorten it, or take an example.",
        )
    n_layers = len(found.weights)
    at = first if layer < 0 else min(layer, n_layers - 1)
    names = named(found.keys)
    row = names.index(word) if word in names else looking.place(found.keys)
    allowed = np.broadcast_to(found.allowed, found.weights.shape)[at]
    return Layer(model, kind, at, n_layers, found.keys, found.weights[at], allowed, row, habits(model, kind))
