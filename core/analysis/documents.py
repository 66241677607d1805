"""What a hierarchical attention network weighs in a text: its words inside their sentences, its sentences, and the products."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.errors import InputError
from core.run import Run

Array = np.ndarray


@dataclass(frozen=True)
class Importance:
    """For each token its weight inside its sentence and the number of that; for each sentence its weight in the document.

    `words` sum to 1 inside each sentence, `sentences` sum to 1, and `products`, how much of the document's vector is a
    token's, sum to 1 over the whole text.
    """

    words: Array
    numbers: tuple[int, ...]
    sentences: Array

    @property
    def products(self) -> Array:
        return self.words * self.sentences[list(self.numbers)]


def importance(run: Run) -> Importance:
    """The weights a_it of words and a_i of sentences (Yang et al. 2016, Eq. (6) and (9)); products a_i a_it.

    The document's vector is v = sum_i a_i h_i, and h_i comes from s_i = sum_t a_it h_it. Raises InputError for a model
    that does not read sentence by sentence.
    """
    if not run.model.spec.sentences:
        raise InputError(
            f"{run.model.name} does not weigh sentences.",
            "Words and sentences are weighed by a hierarchical attention network.",
            "Choose such a model.",
        )
    n = run.side.n_real
    numbers = run.segments[:n]
    pattern = run.trace["words.attn.pattern"][0]
    sentences = run.trace["sentences.attn.pattern"][0, 0, : max(numbers) + 1]
    return Importance(pattern[list(numbers), range(n)], numbers, sentences)
