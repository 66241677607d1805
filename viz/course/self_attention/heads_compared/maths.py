"""One layer of a trained model on one sentence, by words: the attention of its heads, and the loss without each."""

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


def word_position(words: Sequence[str], target: str = "it") -> int:
    """Return the last position of a word, else of the last word with a letter in it, else 0.

    >>> word_position(["We", "saw", "it", "."]), word_position(["We", "saw", "."]), word_position(["."])
    (2, 1, 0)
    """
    found = [i for i, word in enumerate(words) if word.strip().lower() == target]
    letters = [i for i, word in enumerate(words) if any(letter.isalpha() for letter in word)]
    return (found or letters or [0])[-1]


def favourites(weights: Array, row: int) -> Array:
    """Return the key with the largest weight from one row, for each head: (head,).

    >>> favourites(np.array([[[0.2, 0.8]], [[0.9, 0.1]]]), 0).tolist()
    [1, 0]
    """
    return weights[:, row].argmax(-1)


def pointing(weights: Array, row: int) -> int:
    """Return the head with the largest weight on a word that is not the row's own or next to it; in a short text, on any.

    A head that attends to the word before or the next is a habit of position and not worth pointing at.

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
"""The kind of attention that is drawn of each model, and its opening layer."""
LONGEST = 16


@dataclass(frozen=True)
class Layer:
    """Weights and allowed (head, query, key) of one layer; `row`: the query word; `heads`: their measured habits."""

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
        """Return the words as labels of options."""
        return option_labels(self.words)

    @property
    def pointing(self) -> int:
        """Return the head that is worth pointing at, from the query word."""
        return pointing(self.weights, self.row)

    def divergences(self) -> np.ndarray:
        """Return the Jensen-Shannon divergence of every pair of heads, in bits: (head, head)."""
        n = len(self.weights)
        found = np.zeros((n, n))
        for a in range(n):
            for b in range(a):
                found[a, b] = found[b, a] = compare_patterns(
                    self.weights[a], self.weights[b], self.allowed[a]
                ).bits
        return np.nan_to_num(found)


def available_models() -> tuple[str, ...]:
    """Return the names of the models that are installed and load without an error."""
    return tuple(name for name in MODELS if (entry := default().entry(name)) and entry.ok)


def option_labels(words: Sequence[str]) -> list[str]:
    """Return words as labels of options, without the white space before them; repeated words get numbers."""
    return distinct(word.strip() or word for word in words)


def read(model: str, text: str, layer: int, word: str) -> Layer:
    """Return the patterns of one layer (-1: the model's default) with a query word ("": the default one).

    Errors: InputError for a text that cannot be drawn, and where no model is installed.
    """
    if model not in available_models():
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
    names = option_labels(found.keys)
    row = names.index(word) if word in names else word_position(found.keys)
    allowed = np.broadcast_to(found.allowed, found.weights.shape)[at]
    return Layer(
        model, kind, at, n_layers, found.keys, found.weights[at], allowed, row, shipped_habits(model, kind)
    )


@dataclass(frozen=True)
class Removal:
    """ln p of every predicted token: in the plain run, without each head, and without all heads of a layer.

    Shapes: before (token,), without_head (layer, head, token), without_layer (layer, token). `target` is the translation, if
    there is one.
    """

    tokens: tuple[str, ...]
    target: str | None
    before: Array
    without_head: Array
    without_layer: Array

    def factors(self, layer: int) -> Array:
        """Return the factor of the probability of all tokens without each head, then without all heads of the layer: (head +
        1,)."""
        changed = np.concatenate([self.without_head[layer], self.without_layer[layer][None]]) - self.before
        return np.exp(changed.sum(-1))


def predicted_tokens(run: Run) -> tuple[list[int], list[int]]:
    """Return rows of the logits and the token in question of each: the next token, the translation and its END, the words
    themselves.

    Where the run has no true token (after the last token, in a blank) it is the most probable one.
    """
    asked = target_rows(run)
    known = [true_token(run, row) for row in asked]
    return asked, [
        int(run.logits[row].argmax()) if token is None else token
        for row, token in zip(asked, known, strict=True)
    ]


def removal(model: Model, text: str, kind: str) -> Removal:
    """Ablate each head alone (one batch), then all heads of each layer together. Errors: InputError of the run."""
    before = model.run(text, keep=("logits",))
    asked, tokens = predicted_tokens(before)
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
