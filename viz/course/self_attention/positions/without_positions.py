"""A trained model with its positions as trained, shuffled, or removed: its loss, and the attention of one head.

The measure is the mean surprisal in nats: of a decoder for the next token, of a masked model for each word masked in turn, of a
translator for the translation that it writes with its positions as trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core import edits
from core.analysis.attention import measures
from core.analysis.predictions import top_predictions
from core.analysis.residual.delta import target_probabilities
from core.errors import InputError
from core.maths import softmax
from core.run import Run
from core.trace import Edit

Array = np.ndarray
AS_TRAINED, SHUFFLED, REMOVED = "as trained", "shuffled", "removed"
WAYS = (AS_TRAINED, SHUFFLED, REMOVED)
KEEP = ("*.pattern", "*.allowed", "*embed.position")


def place_of(model: Any) -> str:
    """Return the path where a model adds its positions; of a translator the encoder's."""
    return "encoder.embed.position" if model.spec.has_source else "embed.position"


def swaps(order: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Return swaps that, one after the other, put things into an order.

    >>> things = ["a", "b", "c", "d"]
    >>> for i, j in swaps((2, 0, 3, 1)):
    ...     things[i], things[j] = things[j], things[i]
    >>> things
    ['c', 'a', 'd', 'b']
    """
    now, made = list(range(len(order))), []
    for place, wanted in enumerate(order):
        at = now.index(wanted)
        if at != place:
            now[place], now[at] = now[at], now[place]
            made.append((place, at))
    return tuple(made)


def shuffle(first: int, last: int, lot: int) -> tuple[int, ...]:
    """Return an order of the positions 0 .. last - 1 in which those from `first` on are shuffled; never unchanged, if there are
    two.

    >>> sorted(shuffle(1, 6, 0)), shuffle(1, 6, 0)[0], shuffle(0, 2, 3)
    ([0, 1, 2, 3, 4, 5], 0, (1, 0))
    """
    rest = np.arange(first, last)
    generator = np.random.default_rng(lot)
    made = generator.permutation(rest)
    while len(rest) > 1 and (made == rest).all():
        made = generator.permutation(rest)
    return (*range(first), *(int(i) for i in made))


def edits_of(model: Any, way: str, n: int, lot: int) -> tuple[Edit, ...]:
    """Return the edits of one of `WAYS` for a text of `n` tokens; BERT's [CLS] and [SEP] keep their positions."""
    where = place_of(model)
    if way == REMOVED:
        return (edits.NoPositions(where),)
    if way == AS_TRAINED:
        return ()
    order = (*shuffle(1, n - 1, lot), n - 1) if model.spec.framed else shuffle(0, n, lot)
    return tuple(edits.SwapPositions(where, i, j) for i, j in swaps(order))


@dataclass(frozen=True, eq=False)
class WithoutPositions:
    """One run: its loss (nats), its predictions, the pattern of the chosen head (query, key)."""

    surprise: float
    says: tuple[tuple[str, float], ...]
    pattern: Array


@dataclass(frozen=True, eq=False)
class Unplaced:
    """A text under all `WAYS`. `head` is the (layer, head) that attends most to the word before, as trained; `hidden` the word
    that is masked."""

    model: str
    tokens: tuple[str, ...]
    n: int
    head: tuple[int, int]
    ways: dict[str, WithoutPositions]
    hidden: str = ""


def surprises(run: Run) -> Array:
    """Return -ln p of each token after the first, of a decoder, in nats, (n - 1,)."""
    chances = softmax(run.logits[: run.side.n_real - 1])
    return _nats(chances[np.arange(len(chances)), list(run.ids[1 : run.side.n_real])])


def _nats(chances: Array) -> Array:
    return -np.log(np.maximum(chances, np.finfo(float).tiny))


def blanks(model: Any, run: Run) -> tuple[list[int], list[str]]:
    """Return the rows of a masked model's own words, and for each the text with that token masked."""
    text, places = run.side.text, [i for i, span in enumerate(run.spans) if span is not None]
    mask = model.tokenizer.token(model.tokenizer.mask)
    spans = (span for span in run.spans if span is not None)
    return places, [f"{text[:start]} {mask} {text[end:]}" for start, end in spans]


def hidden_surprises(model: Any, text: str, changes: Sequence[Edit] = ()) -> Array:
    """Return -ln p of each word while it alone is masked, of a masked model, in nats, (word,). One batch."""
    run = model.run(text, keep=())
    places, texts = blanks(model, run)
    runs = model.run_many(texts, keep=(), edits=changes)
    chances = [
        float(softmax(row.logits[place])[run.ids[place]])
        for row, place in zip(runs, places, strict=True)
        if row.side.n_real == run.side.n_real
    ]
    return _nats(np.array(chances))


def mean_surprise(model: Any, text: str, way: str, lot: int, target: str | None = None) -> float:
    """Return the mean surprisal of a model for a text in nats, under one of `WAYS`; `target` is a translator's translation as
    trained."""
    if model.spec.has_source:
        changes = edits_of(model, way, len(model.tokenizer.encode(text).ids), lot)
        return float(
            _nats(target_probabilities(model.run(text, target=target, keep=(), edits=changes))).mean()
        )
    run = model.run(text, keep=())
    changes = edits_of(model, way, run.side.n_real, lot)
    if model.spec.framed:
        return float(hidden_surprises(model, text, changes).mean())
    return float(surprises(model.run(text, keep=(), edits=changes)).mean())


def over(model: Any, texts: Sequence[str], lot: int = 0) -> dict[str, float]:
    """Return the mean surprisal over several texts in nats, by way."""
    targets = [model.run(text, keep=()).target_text if model.spec.has_source else None for text in texts]

    def mean(way: str) -> float:
        pairs = enumerate(zip(texts, targets, strict=True))
        return float(
            np.mean([mean_surprise(model, text, way, lot + i, target) for i, (text, target) in pairs])
        )

    return {way: mean(way) for way in WAYS}


def unplaced(model: Any, text: str, lot: int) -> Unplaced:
    """Run a text under all ways. Errors: InputError for a text with one token, which has no order."""
    kind = {"gpt": "causal", "bert": "self"}.get(model.spec.name, "self")
    whole = model.run(text, keep=KEEP)
    side = whole.source if model.spec.has_source else whole.side
    n = side.n_real
    words = n - 2 if model.spec.framed else n
    if words < 2:
        raise InputError("This text has one token.", "An order needs at least two.", "Type a sentence.")
    weights = whole.attention(kind).weights
    before = measures.offset_weight(weights, -1)
    layer, head = (int(i) for i in np.unravel_index(int(before.argmax()), before.shape))
    asked, hidden = _middle_word(model, whole) if model.spec.framed else (None, "")
    ways = {}
    for way in WAYS:
        changes = edits_of(model, way, n, lot)
        run = whole if way == AS_TRAINED else model.run(text, keep=KEEP, edits=changes)
        says = _says(model, run, asked, changes)
        nats = mean_surprise(model, text, way, lot, whole.target_text)
        ways[way] = WithoutPositions(nats, says, run.attention(kind).weights[layer, head])
    return Unplaced(model.name, side.tokens[:n], n, (layer, head), ways, hidden)


def _middle_word(model: Any, run: Run) -> tuple[tuple[int, str] | None, str]:
    """Return a word in the middle for the model to predict: its row with the masked text, and the word."""
    places, texts = blanks(model, run)
    letters = [k for k, place in enumerate(places) if any(map(str.isalpha, run.tokens[place]))]
    letters = letters or list(range(len(places)))
    k = letters[len(letters) // 2]
    return (places[k], texts[k]), run.tokens[places[k]]


def _says(
    model: Any, run: Run, blank: tuple[int, str] | None, changes: Sequence[Edit]
) -> tuple[tuple[str, float], ...]:
    if model.spec.has_source:
        return ((run.target_text or "", 1.0),)
    if blank is None:
        return tuple(top_predictions(run, run.side.n_real - 1, 3))
    row, text = blank
    return tuple(top_predictions(model.run(text, keep=(), edits=changes), row, 3))


def twins(run: Run, first: int, second: int, side: str | None = None) -> Array:
    """Return the relative distance of the vectors of two positions after each layer: |a - b| / mean of both lengths, (layer +
    1,)."""
    states = run.hidden(side).astype(np.float64)
    a, b = states[:, first], states[:, second]
    return np.linalg.norm(a - b, axis=-1) / ((np.linalg.norm(a, axis=-1) + np.linalg.norm(b, axis=-1)) / 2)
