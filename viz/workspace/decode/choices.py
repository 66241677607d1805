"""Words to choose the next one from: what a model expects at different ranks, in an order that tells nothing."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from itertools import islice

import numpy as np

from core.decoding.choose import largest_indices
from core.decoding.stepper import Stepper
from core.maths import softmax
from viz.course.shared.guessing import Round, letters

CHOICES, TRIES = 6, 4
"""Words to choose from, and tokens that are tried for each."""


def choices(game: Round, n: int = CHOICES) -> tuple[str, ...]:
    """Return up to n different words: the model's own, the others sampled at deeper and deeper ranks.

    Ranks are among the tokens that are whole words if typed. One word is of rank 2 or 3, one of 4 to 9, one of 10 to 27,
    and so on, each drawn by its probability; one that most probably ends there comes before others. The text seeds the
    lot and the order: everybody is offered the same words, and a word's place says nothing about it.

    >>> import core
    >>> game = Round(core.open_model("gpt-mini"), "Once upon a")
    >>> game.model_guess.text in choices(game), len(set(choices(game)))
    (True, 6)
    """
    lot = np.random.default_rng([*sha256(game.text.encode("utf-8", "replace")).digest(), n])
    found = [game.model_guess.text] if game.typed(game.model_guess.text) == game.model_guess.ids else []
    ranked = _words(game, 3 ** (n - 1))
    bands = [ranked[:1], *(ranked[3**band : 3 ** (band + 1)] for band in range(n - 1))][len(found) :]
    drawn = [_sample(game, ids, lot) for ids in bands if ids]
    ends = _ends(game, [index for ids in drawn for index in ids])
    for ids in drawn:
        words = [game.prompt.name(index).strip() for index in sorted(ids, key=lambda index: not ends[index])]
        found += [word for word in words if word not in found][:1]
    return tuple(found[place] for place in lot.permutation(len(found)))


def _words(game: Round, n: int) -> list[int]:
    """Return the n most probable tokens that are whole words if typed; among the 4 n most probable of all."""
    likely = (index for index in largest_indices(game.distribution, 4 * n) if game.distribution[index] > 0)
    return list(islice((index for index in likely if game.typed(game.prompt.name(index)) == (index,)), n))


def _sample(game: Round, ids: Sequence[int], lot: np.random.Generator) -> list[int]:
    p = game.distribution[list(ids)]
    return lot.choice(ids, size=min(TRIES, len(ids)), replace=False, p=p / p.sum()).tolist()


def _ends(game: Round, ids: Sequence[int]) -> dict[int, bool]:
    """Return whether the word most probably ends after each of these tokens; the text is read once for all."""
    if not ids:
        return {}
    reader = Stepper(game.model, game.prompt)
    reader.read([game.prompt.ids])
    reader.keep([0] * len(ids))
    following = softmax(reader.read([(index,) for index in ids]).logits)
    goes_on = following[:, letters(game.model.tokenizer)].sum(1)
    return {
        index: not game.prompt.name(index)[-1:].isalnum() or bool(more < 0.5)
        for index, more in zip(ids, goes_on, strict=True)
    }
