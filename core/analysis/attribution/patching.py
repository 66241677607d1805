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
from core.analysis.attribution.target_token import OutputTarget, blank_rows, output_target, target_rows
from core.analysis.residual.ripple import changeable_spans, changed_texts, replacements, same_token_count
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
    """A clean and a corrupted run of one model, and the output measured in both: the clean answer against the corrupted one."""

    clean: Run
    corrupted: Run
    output: OutputTarget

    @property
    def recipe(self) -> tuple[object, ...]:
        """Return the identity of the run that the patches come from: model, source, text and second text."""
        source = self.clean.source.text if self.clean.source else ""
        return (self.clean.model.name, source, self.clean.side.text, self.clean.side.pair)

    @property
    def values(self) -> tuple[float, float]:
        """Return the logit difference in the clean and in the corrupted run."""
        return self.output.value(self.clean.scores), self.output.value(self.corrupted.scores)

    def restoration(self, patched: float) -> float:
        """Return the share of the difference that is restored: 0 as in the corrupted run, 1 as in the clean one."""
        clean, corrupted = self.values
        return (patched - corrupted) / (clean - corrupted)


def make_pair(clean: Run, corrupted: Run, row: int | None = None) -> Pair:
    """Pair two runs: at the row where they differ most (or `row`), with the word that each ranks first there, or the class that each predicts.

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
    at_words = model.spec.framed and model.main_output in ("logits", "tags")
    hidden = blank_rows(clean) or [
        place for place in target_rows(clean) if not at_words or clean.ids[place] == corrupted.ids[place]
    ]
    if model.main_output == "score":
        return _score_pair(clean, corrupted)
    asked = [
        OutputTarget(place, int(tops[0][place]), int(tops[1][place]))
        for place in (hidden if row is None else [row])
    ]
    parting = [found for found in asked if found.token != found.against]
    if not parting:
        if model.is_classifier:
            raise InputError(
                f"The model classifies both as {model.choice(asked[0].token)}.",
                "The measure is the difference between two classes that is restored.",
                "Choose one that the model classifies differently.",
            )
        if model.main_output != "logits":
            what = "the same tags" if model.main_output == "tags" else "its answer at the same position"
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


def _score_pair(clean: Run, corrupted: Run) -> Pair:
    """Return the pair that is about the one score of each text."""
    pair = Pair(clean, corrupted, output_target(clean, 0, 0))
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
BATCH_SIZE = 16
"""So many sentences of a group are read at once."""


def corrupted_text(model: Model, text: str, target: str | None = None, first: Sequence[str] = ()) -> str:
    """Find a text with one word changed for which the model expects another word, by measuring; "" where none of those tried does.

    Groups are tried in turn, each in one batch: those of `first`; a repeated name of the text as another name of it, where the model then answers
    with these names (When Mary and John ..., John gave a drink to); words of `SWAPS`; such a name without regard to
    the answer; any word as another (`ripple.changed_texts`). All have as many tokens as the text.
    """
    spans = changeable_spans(model, text)
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
        ((other for other in first if same_token_count(model, text, other)), ()),
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
        (changed_texts(model, text), ()),
    )
    for texts, answers in groups:
        pairs = _valid_pairs(clean, list(islice(texts, BATCH_SIZE)))
        if answers:
            pairs = [pair for pair in pairs if _words(pair) <= set(answers)]
        if pairs:
            best = pairs[0].corrupted
            return (best.source or best.side).text
    return ""


def _valid_pairs(clean: Run, texts: Sequence[str]) -> list[Pair]:
    """Return the pairs of a run with those of these texts that make the model expect another word."""
    if not texts:
        return []
    target = clean.target_text if clean.source is not None else None
    found = []
    for run in clean.model.run_many(texts, targets=[target] * len(texts), keep=()):
        with suppress(InputError):
            found.append(make_pair(clean, run))
    return found


def _words(pair: Pair) -> set[str]:
    """Return the two words that a pair is about."""
    return {pair.clean.choice(index).strip() for index in (pair.output.token, pair.output.against or 0)}


def position_patch(pair: Pair, stack: str, layer: int, position: int) -> Edit:
    """Return the edit that puts in the clean residual stream at one position, as it enters a layer of a stack ("layer", "encoder.layer", ...)."""
    path = f"{stack}.{layer}.{pair.clean.model.spec.stream[0]}"
    return PatchAt(path, position, _tensor(pair.clean, path), pair.recipe)


def head_patch(pair: Pair, kind: str, layer: int, head: int) -> Edit:
    """Return the edit that puts in one head's output of the clean run, at all positions."""
    path = pair.clean.model.spec.kind(kind).path(layer, "heads")
    return PatchAt(path, head, _tensor(pair.clean, path), pair.recipe)


def restored_share(pair: Pair, edit: Edit) -> float:
    """Return the share of the difference that one patch restores."""
    run = pair.corrupted
    text, target = (run.source.text, run.target_text) if run.source else (run.side.text, None)
    new = run.model.run(text, target=target, pair=run.side.pair, keep=(), edits=(edit,))
    return pair.restoration(pair.output.value(new.scores))


def _tensor(run: Run, path: str) -> Tensor:
    return torch.tensor(np.asarray(run.trace[path]))
