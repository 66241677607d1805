"""Predictions of a masked language model: from both sides, from one side only, and at each word in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from core.data.passages import add_special_tokens
from core.errors import InputError
from core.maths import softmax
from core.model import Model
from core.models import Batch
from core.text import words_of
from viz.course.shared.guessing import Round

Ids = NDArray[np.int64]
Array = NDArray[np.float64]
CONTEXTS = ("neither", "left only", "right only", "both")


@dataclass(frozen=True, eq=False)
class Text:
    """A text as BERT reads it: ids (pos,) with [CLS] and [SEP], their names, True where a token is special, and the words.

    A word is its name, the positions of its tokens in `ids`, and its start in the text.
    """

    text: str
    ids: Ids
    tokens: tuple[str, ...]
    special: NDArray[np.bool_]
    words: tuple[tuple[str, tuple[int, ...], int], ...]


@dataclass(frozen=True)
class BlankPrediction:
    """A prediction at one position: the most probable tokens, and the probability of the target."""

    best: tuple[tuple[str, float], ...]
    target_chance: float


def read(model: Model, text: str, longest: int) -> Text:
    """Return the text with [CLS] and [SEP]. Raises InputError for no word, or more than `longest` tokens.

    >>> import core
    >>> read(core.open_model("bert-mini"), "The door.", 9).tokens
    ('[CLS]', 'the', 'door', '.', '[SEP]')
    """
    encoded = model.tokenizer.encode(text)
    if not encoded.ids:
        raise InputError("There is no word.", "A blank needs a sentence around it.", "Type a sentence.")
    if len(encoded.ids) > longest:
        raise InputError(
            f"The sentence has {len(encoded.ids)} tokens.",
            f"This page draws sentences of up to {longest}.",
            "Shorten it, or take an example.",
        )
    ids, _ = add_special_tokens(model.tokenizer, np.array(encoded.ids))
    special = np.isin(ids, list(model.tokenizer.special_tokens.values()))
    found = words_of(text, encoded.tokens, encoded.spans)
    words = tuple(
        (
            word.text,
            tuple(piece + 1 for piece in word.pieces),
            min(span[0] for piece in word.pieces if (span := encoded.spans[piece])),
        )
        for word in found
        if all(encoded.spans[piece] for piece in word.pieces)
    )
    return Text(text, ids, tuple(model.tokenizer.token(int(index)) for index in ids), special, words)


def chances_at(model: Model, rows: Ids, places: Sequence[int]) -> Array:
    """Return the probabilities (row, vocab) of every token at one position of each row (row, pos)."""
    ids = torch.from_numpy(np.ascontiguousarray(rows))
    with torch.inference_mode():
        hidden = model.network(Batch(ids=ids, real=torch.ones_like(ids, dtype=torch.bool)))
        scores = model.network.logits(hidden[torch.arange(len(ids)), torch.tensor(list(places))][None])[0]
    return softmax(scores.float().numpy())


def blank_prediction(model: Model, chances: Array, target: int, n: int = 5) -> BlankPrediction:
    """Return the n most probable tokens of one row of probabilities (vocab,), and the probability of the target."""
    best = np.argsort(-chances, kind="stable")[:n]
    return BlankPrediction(
        tuple((model.tokenizer.token(int(index)), float(chances[index])) for index in best),
        float(chances[target]),
    )


def masked(model: Model, ids: Ids, places: Sequence[int]) -> Ids:
    """Return a copy with these positions masked."""
    mask = model.tokenizer.mask
    assert mask is not None, "a model that fills blanks has a mask"
    made = ids.copy()
    made[list(places)] = mask
    return made


def contexts(model: Model, text: Text, place: int) -> tuple[Ids, dict[str, BlankPrediction]]:
    """Return the rows (4, pos) that are read, and the prediction at `place` of each: in the order of CONTEXTS.

    A side that is not visible is masked word by word with [MASK], so the model still has the number of words there; [CLS] and
    [SEP] stay.
    """
    n = len(text.ids) - 1
    left, right = range(1, place), range(place + 1, n)
    gone = ((*left, *right), tuple(right), tuple(left), ())
    rows = np.stack([masked(model, text.ids, (place, *away)) for away in gone])
    chances = chances_at(model, rows, [place] * len(rows))
    return rows, {
        name: blank_prediction(model, row, int(text.ids[place]))
        for name, row in zip(CONTEXTS, chances, strict=True)
    }


def in_turn(model: Model, text: Text, places: Sequence[int]) -> list[BlankPrediction]:
    """Return the prediction at each of the positions, each masked alone."""
    if not places:
        return []
    rows = np.stack([masked(model, text.ids, [place]) for place in places])
    return [
        blank_prediction(model, row, int(text.ids[place]))
        for row, place in zip(chances_at(model, rows, places), places, strict=True)
    ]


def from_the_left(writer: Model, text: Text, places: Sequence[int]) -> list[tuple[float, tuple[str, float]]]:
    """Return for each word its probability under a GPT from the words before it, and the GPT's own most probable first token.

    NaN where its vocabulary cannot say the word.
    """
    made = []
    for place in places:
        name, _, begins = next(word for word in text.words if place in word[1])
        game = Round(writer, text.text[:begins])
        try:
            chance = game.probability_of(name).p
        except InputError:
            chance = float("nan")
        made.append((chance, game.likeliest(1)[0]))
    return made
