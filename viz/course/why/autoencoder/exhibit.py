"""Encoder, hidden space, decoder: a concept compressed into a few numbers, and its reconstruction."""

from __future__ import annotations

import numpy as np

from viz.charts import thumbs
from viz.course.exhibit import Exhibit, Step
from viz.course.why.autoencoder import compression, concepts, pictures, words
from viz.course.why.autoencoder.params import Params


def compute(params: Params) -> compression.Word:
    """Return the word in p numbers, and the word of every decoder. Errors: InputError for an unknown word."""
    return compression.word(params.word, params.p)


def thumbnail() -> str:
    """Draw an R as it is reconstructed from eight numbers."""
    return thumbs.cells(np.clip(compression.letter("R", 8).exits["plain"], 0, 1))


def _in_all_languages(params: Params, data: compression.Word) -> bool:
    """Check that elephant is right in Spanish, French, German and Persian."""
    elephant = next(concept for concept in concepts.taught() if concept.english == "elephant")
    return params.word not in ("elephant", "elephants") or all(
        data.exits[language] == getattr(elephant, language) for language in concepts.LANGUAGES
    )


def _fewer_are_too_few(params: Params, data: compression.Word) -> bool:
    """Check that half of the numbers give another French word."""
    return compression.word(params.word, params.p // 2).exits["french"] != data.exits["french"]


def _learned(params: Params, _: object) -> bool:
    """Check that the loss after learning is within 0.1 percentage points of the smallest possible, at every size."""
    found, floor = compression.loss(params.p, params.draw), compression.letter_data().floor()
    return max(abs(found.learned[p] - floor[p]) for p in found.learned) < 1e-3


def _letter(params: Params, _: object) -> bool:
    """Check that at most 3 of the letter's 35 dots are on the wrong side of one half."""
    data = compression.letter(params.letter, params.p)
    made = data.exits["plain"]
    return int(((made > 0.5) != (data.entry.reshape(made.shape) > 0.5)).sum()) <= 3


EXHIBIT = Exhibit(
    __file__,
    Params,
    compute,
    (
        Step(
            words.guess,
            ("p",),
            texts=("word",),
            promises={
                "the French word is nearest by a tenth of its cosine": lambda params, data: (
                    data.near["french"][0][1] >= 1.1 * data.near["french"][1][1]
                )
            },
        ),
        Step(
            words.three_boxes,
            ("p", "word"),
            promises={"half of the numbers give another word": _fewer_are_too_few},
        ),
        Step(
            words.many_targets,
            ("p", "word"),
            promises={"elephant is right in all four languages": _in_all_languages},
        ),
        Step(
            pictures.letters,
            ("p", "letter"),
            without_data=True,
            promises={"at most 3 of 35 dots come back wrong": _letter},
        ),
        Step(
            pictures.loss_by_size,
            ("p", "draw"),
            without_data=True,
            promises={"learning reaches the smallest possible loss": _learned},
        ),
    ),
    presets=({"word": "elephants"}, {"letter": "R"}, {"letter": "S"}),
    compute_fields=("word", "p"),
    cost=30,
)
