"""The weights of a hierarchical attention network over a text: words inside their sentences, sentences, and the products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from core.data.documents import pad_documents
from core.data.readable import UNKNOWN
from core.errors import InputError
from core.models import Batch
from core.run import Run

if TYPE_CHECKING:
    from jaxtyping import Float


Array = np.ndarray


@dataclass(frozen=True)
class DocumentWeights:
    """The weight of each token inside its sentence, the index of that sentence, and the weight of each sentence in the document.

    `words` sum to 1 inside each sentence, `sentences` sum to 1, and `products`, how much of the document's vector is a
    token's, sum to 1 over the whole text.
    """

    words: Float[Array, " pos"]
    numbers: tuple[int, ...]
    sentences: Float[Array, " sentence"]

    @property
    def products(self) -> Float[Array, " pos"]:
        return self.words * self.sentences[list(self.numbers)]


def document_weights(run: Run) -> DocumentWeights:
    """Return the weights a_it of words and a_i of sentences (Yang et al. 2016, Eq. (6) and (9)) and their products a_i a_it.

    The document's vector is v = sum_i a_i h_i, and h_i comes from s_i = sum_t a_it h_it. Raises InputError for a model
    that does not read sentence by sentence.
    """
    if not run.model.spec.sentences:
        raise InputError(
            "{name} does not weigh sentences.",
            "Words and sentences are weighed by a hierarchical attention network.",
            "Choose such a model.",
            name=run.model.name,
        )
    n = run.side.n_real
    numbers = run.segments[:n]
    pattern = run.trace["words.attn.pattern"][0]
    sentences = run.trace["sentences.attn.pattern"][0, 0, : max(numbers) + 1]
    return DocumentWeights(pattern[list(numbers), range(n)], numbers, sentences)


def unknown_words(run: Run) -> tuple[str, ...]:
    """Return the words of a text, each once, that the model reads as its one unknown word."""
    names = [(word.text, run.tokens[word.pieces[0]]) for word in run.side.words]
    return tuple(dict.fromkeys(word for word, token in names if token in UNKNOWN))


def scores_without_sentences(run: Run) -> Float[Array, "sentence class"]:
    """Compute the scores of the classes for the text without one of its sentences, each in turn.

    The sentence is deleted before the model reads, so that it affects neither words nor its neighbours' states.
    Nothing is left of a text of one sentence: then no row.
    """
    words, sentences = np.array(run.ids[: run.side.n_real]), np.array(run.segments[: run.side.n_real])
    n = int(sentences.max()) + 1
    if n < 2:
        return np.zeros((0, len(run.model.config.classes)))
    rows = [_other_sentences(words, sentences, number) for number in range(n)]
    ids, numbers, real = (
        torch.from_numpy(each)
        for each in pad_documents(rows, run.model.tokenizer.pad or 0, run.model.config.n_ctx)
    )
    with torch.inference_mode():
        network = run.model.network
        return network.classes(network(Batch(ids=ids, real=real, segments=numbers))).double().numpy()


def _other_sentences(ids: Array, numbers: Array, left_out: int) -> list[Array]:
    return [ids[numbers == number] for number in np.unique(numbers) if number != left_out]
