"""One layer of a trained model on one sentence, by words: where its heads look, and what is lost without each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.analysis.attribution.ablate_heads import ablate_each_head
from core.analysis.attribution.target_token import target_rows, true_token
from core.analysis.heads.habits import HeadHabits
from core.analysis.heads.head_file import shipped_habits
from core.analysis.heads.pattern_distance import compare_patterns
from core.edits import ZeroHead
from core.errors import InputError
from core.maths import log_softmax
from core.model import Model
from core.run import Run
from core.serving.engine import RunRequest, default
from viz.labels import distinct

Array = np.ndarray


def place(words: Sequence[str], wanted: str = "it") -> int:
    """The last place of the wanted word, else of the last word with a letter in it, else 0.

    >>> place(["He", "saw", "it", "."]), place(["He", "saw", "."]), place(["."])
    (2, 1, 0)
    """
    found = [i for i, word in enumerate(words) if word.strip().lower() == wanted]
    letters = [i for i, word in enumerate(words) if any(letter.isalpha() for letter in word)]
    return (found or letters or [0])[-1]


def favourites(weights: Array, row: int) -> Array:
    """The key that each head looks at most from one row: (head,).

    >>> favourites(np.array([[[0.2, 0.8]], [[0.9, 0.1]]]), 0).tolist()
    [1, 0]
    """
    return weights[:, row].argmax(-1)


def pointing(weights: Array, row: int) -> int:
    """The head with the largest weight on a word that is neither the row's own nor next to it; of a short text, on any.

    A habit of place (the word before, the next) is not what makes a head worth pointing at.

    >>> pointing(np.array([[[0.0, 0.1, 0.9]], [[0.6, 0.2, 0.2]]]), 0)
    0
    """
    far = np.abs(np.arange(weights.shape[-1]) - row) > 1
    return (
        int(np.where(far, weights[:, row], 0.0).max(-1).argmax())
        if far.any()
        else int(weights[:, row].max(-1).argmax())
    )


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
    heads: HeadHabits | None

    @property
    def names(self) -> list[str]:
        """The words as options."""
        return named(self.words)

    @property
    def pointing(self) -> int:
        """The head that is worth pointing at from the word that looks."""
        return pointing(self.weights, self.row)

    def apart(self) -> np.ndarray:
        """Jensen-Shannon divergence of every pair of heads, in bits: (head, head)."""
        n = len(self.weights)
        found = np.zeros((n, n))
        for a in range(n):
            for b in range(a):
                found[a, b] = found[b, a] = compare_patterns(
                    self.weights[a], self.weights[b], self.allowed[a]
                ).bits
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
    row = names.index(word) if word in names else place(found.keys)
    allowed = np.broadcast_to(found.allowed, found.weights.shape)[at]
    return Layer(
        model, kind, at, n_layers, found.keys, found.weights[at], allowed, row, shipped_habits(model, kind)
    )


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
    asked = target_rows(run)
    known = [true_token(run, row) for row in asked]
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

    without = ablate_each_head(model, text, kind, read, target=target)
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
