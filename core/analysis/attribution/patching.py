"""Activation patching: which part of a run carries the difference between two sentences.

Two sentences of equal length, clean and corrupted, differ in a word, and with it in the word that the model expects. One
value of the clean run is put into the corrupted one, and the question is how much of the clean answer comes back (Vig et
al. 2020; Meng et al. 2022, "Locating and editing factual associations in GPT").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import torch
from torch import Tensor

from core.abilities import ASKABLE
from core.analysis.attribution.target_token import Asked, about, blanks, rows
from core.analysis.residual.ripple import alike_in_length, changeable, neighbours, replacements
from core.errors import InputError
from core.model import Model
from core.models import ENTERS
from core.run import Run
from core.trace import Edit

Array = np.ndarray

KEEP = (ENTERS, "*.heads", "|".join(ASKABLE))
"""The values that the clean run must keep."""


@dataclass(frozen=True)
class PatchAt:
    """Replace one index of one axis of a value by the same of another run; equal by `where`, `axis`, `index` and `recipe`.

    Axis 1 is the position of a residual stream, or the head of `*_attn.heads`.

    >>> PatchAt("layer.0.resid_in", 1, torch.full((2, 3), 7.0), ("clean",))(torch.zeros(1, 2, 3)).tolist()
    [[[0.0, 0.0, 0.0], [7.0, 7.0, 7.0]]]
    """

    where: str
    index: int
    value: Tensor = field(compare=False, repr=False)
    recipe: tuple[object, ...] = ()

    def __call__(self, value: Tensor) -> Tensor:
        if value.shape[1:] != self.value.shape:
            wrong = f"'{self.where}' is {tuple(value.shape[1:])} here and {tuple(self.value.shape)} in the run it comes from."
            raise InputError(
                wrong, "A patch goes between texts of equal length.", "Use two texts with as many tokens."
            )
        new = value.clone()
        new[:, self.index] = self.value[self.index].to(value.dtype)
        return new


@dataclass(frozen=True)
class Pair:
    """A clean and a corrupted run of one model, and what is asked of both: the clean answer against the corrupted one."""

    clean: Run
    corrupted: Run
    asked: Asked

    @property
    def recipe(self) -> tuple[object, ...]:
        """The identity of the run that the patches come from: model, source, text and second text."""
        source = self.clean.source.text if self.clean.source else ""
        return (self.clean.model.name, source, self.clean.side.text, self.clean.side.pair)

    @property
    def values(self) -> tuple[float, float]:
        """The logit difference in the clean and in the corrupted run."""
        return self.asked.value(self.clean.scores), self.asked.value(self.corrupted.scores)

    def restored(self, patched: float) -> float:
        """How much of the difference has come back: 0 as in the corrupted run, 1 as in the clean one."""
        clean, corrupted = self.values
        return (patched - corrupted) / (clean - corrupted)


def pair_of(clean: Run, corrupted: Run, row: int | None = None) -> Pair:
    """Two runs made ready: the row where they differ most (or `row`), and the word that each expects there first, or the class that each tells.

    Of a masked language model it is a blank where there is one.
    Raises InputError for texts of different length, or that make the model expect the same word.
    """
    ids = [(run.source or run.side).ids for run in (clean, corrupted)]
    if len(ids[0]) != len(ids[1]) or clean.side.n_real != corrupted.side.n_real:
        raise InputError(
            f"The first sentence has {len(ids[0])} tokens here, the second {len(ids[1])}.",
            "A patch goes between equal numbers of positions.",
            "Change a word into one with as many tokens.",
        )
    model, tops = clean.model, [run.scores.argmax(-1) for run in (clean, corrupted)]
    at_words = model.spec.framed and model.asked in ("logits", "tags")
    hidden = blanks(clean) or [
        place for place in rows(clean) if not at_words or clean.ids[place] == corrupted.ids[place]
    ]
    if model.asked == "score":
        return _scored(clean, corrupted)
    asked = [
        Asked(place, int(tops[0][place]), int(tops[1][place])) for place in (hidden if row is None else [row])
    ]
    parting = [found for found in asked if found.token != found.against]
    if not parting:
        if model.tells_classes:
            raise InputError(
                f"The model classifies both as {model.choice(asked[0].token)}.",
                "The measure is the difference between two classes that is restored.",
                "Choose one that the model classifies differently.",
            )
        if model.asked != "logits":
            what = "the same tags" if model.asked == "tags" else "its answer at the same position"
            raise InputError(
                f"The model gives both sentences {what}.",
                "The measure is the difference between two outputs that is restored.",
                "Change another word.",
            )
        raise InputError(
            "Both sentences make the model expect the same words.",
            "The measure is the difference between two words that is restored.",
            "Change a word on which a later one depends.",
        )
    return max(
        (Pair(clean, corrupted, found) for found in parting), key=lambda pair: pair.values[0] - pair.values[1]
    )


def _scored(clean: Run, corrupted: Run) -> Pair:
    """Return the pair that is about the one score of each text."""
    pair = Pair(clean, corrupted, about(clean, 0, 0))
    if pair.values[0] == pair.values[1]:
        raise InputError(
            "Both sentences have the same score.",
            "The measure is the difference between two scores that is restored.",
            "Change another word.",
        )
    return pair


SWAPS = (
    ("Mary", "John"),
    ("he", "she"),
    ("his", "her"),
    ("man", "woman"),
    ("men", "women"),
    ("boy", "girl"),
    ("father", "mother"),
    ("brother", "sister"),
    ("son", "daughter"),
    ("king", "queen"),
    ("old", "young"),
    ("big", "small"),
    ("hot", "cold"),
    ("good", "bad"),
    ("day", "night"),
)
"""Words that a later one often depends on, each with a replacement."""
TRIED = 16
"""So many sentences of a group are read at once."""


def partner(model: Model, text: str, target: str | None = None, first: Sequence[str] = ()) -> str:
    """Return a text with one word changed that makes the model expect another word, by measuring; "" where none of those tried does.

    Groups are tried in turn, each in one batch: those of `first`; a repeated name of the text as another name of it, where the model then answers
    with these names (When Mary and John ..., John gave a drink to); words of `SWAPS`; such a name without regard to
    the answer; any word as another (`ripple.neighbours`). All have as many tokens as the text.
    """
    spans = changeable(model, text)
    words = [text[slice(*span)] for span in spans]
    names = list(dict.fromkeys(word for word in words if word.istitle()))
    repeated = {word: span for word, span in zip(words, spans, strict=True) if words.count(word) > 1}
    opposites = {a: b for one, two in SWAPS for a, b in ((one, two), (two, one))}
    opposites |= {a.capitalize(): b.capitalize() for a, b in opposites.items()}
    clean = model.run(text, target=target, keep=())

    def renamed(others: Sequence[str]) -> Iterator[str]:
        return (
            new
            for name in names
            if name in repeated
            for new in replacements(model, text, repeated[name], others)
        )

    groups: tuple[tuple[Iterator[str], Sequence[str]], ...] = (
        ((other for other in first if alike_in_length(model, text, other)), ()),
        (renamed(names), names),
        (
            (
                new
                for word, span in zip(words, spans, strict=True)
                if opposites.get(word, word) not in words
                for new in replacements(model, text, span, [opposites[word]])
            ),
            (),
        ),
        (renamed([name for name in names if name != words[0]]), ()),
        (neighbours(model, text), ()),
    )
    for texts, answers in groups:
        pairs = _measured(clean, list(islice(texts, TRIED)))
        if answers:
            pairs = [pair for pair in pairs if _words(pair) <= set(answers)]
        if pairs:
            best = pairs[0].corrupted
            return (best.source or best.side).text
    return ""


def _measured(clean: Run, texts: Sequence[str]) -> list[Pair]:
    """Return the pairs of a run with those of these texts that make the model expect another word."""
    if not texts:
        return []
    target = clean.target_text if clean.source is not None else None
    found = []
    for run in clean.model.run_many(texts, targets=[target] * len(texts), keep=()):
        with suppress(InputError):
            found.append(pair_of(clean, run))
    return found


def _words(pair: Pair) -> set[str]:
    """Return the two words that a pair is about."""
    return {pair.clean.choice(index).strip() for index in (pair.asked.token, pair.asked.against or 0)}


def at_position(pair: Pair, stack: str, layer: int, position: int) -> Edit:
    """The clean residual stream at one position, as it enters a layer of a stack ("layer", "encoder.layer", ...)."""
    path = f"{stack}.{layer}.{pair.clean.model.spec.stream[0]}"
    return PatchAt(path, position, _tensor(pair.clean, path), pair.recipe)


def of_head(pair: Pair, kind: str, layer: int, head: int) -> Edit:
    """Return the edit that puts in one head's output of the clean run, at all positions."""
    path = pair.clean.model.spec.kind(kind).path(layer, "heads")
    return PatchAt(path, head, _tensor(pair.clean, path), pair.recipe)


def patched(pair: Pair, edit: Edit) -> float:
    """The share of the difference that one patch restores."""
    run = pair.corrupted
    text, target = (run.source.text, run.target_text) if run.source else (run.side.text, None)
    new = run.model.run(text, target=target, pair=run.side.pair, keep=(), edits=(edit,))
    return pair.restored(pair.asked.value(new.scores))


def _tensor(run: Run, path: str) -> Tensor:
    return torch.tensor(np.asarray(run.trace[path]))
