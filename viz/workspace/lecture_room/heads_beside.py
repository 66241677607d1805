"""The room as one more head: its divergence from each head of each model, at one word of a sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import core.serving.engine
from core.analysis.heads.head_similarity import TextPatterns, text_patterns
from core.analysis.heads.pattern_distance import jensen_shannon
from core.checkpoints import history
from core.errors import InputError
from core.run import Run
from core.training.recipe import recipes
from viz.labels import head_name
from viz.widgets import engine_client, input_hints

Array = np.ndarray


@dataclass(frozen=True)
class Neighbour:
    """A head and the room at one word: its weights over the words of the sentence, and the Jensen-Shannon divergence in bits."""

    name: str
    row: Array
    bits: float


def words_of(text: str) -> list[tuple[int, str]]:
    """Return the words between blanks, each with the place where it begins.

    >>> words_of("The cat  sat.")
    [(0, 'The'), (4, 'cat'), (9, 'sat.')]
    """
    return [(found.start(), found.group()) for found in re.finditer(r"\S+", text)]


def ranked(
    room: Array, begins: Sequence[int], query: int, heads: Sequence[tuple[str, TextPatterns]]
) -> list[Neighbour]:
    """Rank all heads of these patterns by their divergence from the room's row, the nearest first.

    room: (word,) shares of the answers. begins: where the words begin; query: the word that attends. heads: of each kind of each model the
    name with {} for the head, and its patterns. What a head gives to what its model added to the text ([CLS], START) is left out,
    and the rest of its row adds up to 1 again; a row with less than 1% left is ignored.

    >>> one = TextPatterns((0, 4), (0, 4), np.array([[[0.0, 1, 0], [0, 0.5, 0.5]], [[0, 1, 0], [0.5, 0, 0.5]]]))
    >>> [(head.name, head.bits) for head in ranked(np.array([0.0, 1.0]), (0, 4), 1, [("head {}", one)])]
    [('head 1', 0.0), ('head 0', 0.31127812445913283)]
    """
    found = []
    for name, patterns in heads:
        rows = patterns.regroup(begins, begins)[:, query, 1:].astype(np.float64)
        for head, row in enumerate(rows):
            if (total := row.sum()) >= 0.01:
                share = row / total
                found.append(Neighbour(name.format(head), share, float(jensen_shannon(room, share))))
    return sorted(found, key=lambda one: (one.bits, one.name))


def patterns(text: str) -> list[tuple[str, TextPatterns]]:
    """Return how all models that can read this text attend from its words to its words, a kind of attention and a layer at a time."""
    found = []
    for listing in core.serving.engine.default().models():
        if not listing.ok or not can_read(listing.name, text):
            continue
        try:
            run = engine_client.run(listing.name, text)
        except InputError:  # too long for it, or it needs a second text
            continue
        for kind in run.kinds:
            found += _of_kind(run, kind, listing.name)
    return found


def can_read(model: str, text: str) -> bool:
    """Return whether a model was trained on texts like this one: a shipped one that reads a language, or one of the visitor's with a token for all of it.

    >>> text = "The animal was too tired."
    >>> can_read("gpt-mini", text), can_read("snail-recall-attention", text), can_read("gpt-mini", "Das Tier ging nicht über die Straße.")
    (True, False, False)
    """
    if history.base_name(model) in recipes() and input_hints.training_texts(model) is None:
        return False  # digits, letters, drawings
    note = input_hints.judge(model, text)
    return note is None or note.capitals


def _of_kind(run: Run, kind: str, model: str) -> list[tuple[str, TextPatterns]]:
    axes = run.model.spec.kind(kind)
    if axes.queries != axes.keys or run.axis(axes.keys) is not (run.source or run.side):
        return []  # across two texts, or over sentences
    whole = text_patterns(run, kind)
    n_layers = axes.n_layers(run.model.config)
    layers = whole.weights.reshape(n_layers, -1, *whole.weights.shape[1:])
    many = len(run.kinds) > 1
    return [
        (
            f"{head_name(layer, 0, kind if many else '').removesuffix('0')}{{}} of {model}",
            TextPatterns(whole.queries, whole.keys, weights),
        )
        for layer, weights in enumerate(layers)
    ]
