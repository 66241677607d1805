"""Runs of trained models for the exhibit on positions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core import edits
from core.errors import InputError
from core.serving.engine import default
from viz.course.self_attention.position_criteria import CRITERIA, Verdict
from viz.course.self_attention.positions import position_ideas, without_positions
from viz.course.shared.positions import learned_table

READER, WRITER = "bert-mini", "gpt-mini"
WITH, WITHOUT, WRITTEN = "bert-mini with positions", "bert-mini without", "gpt-mini without"
LONGEST = 24
EQUAL = "Both alike"
SEVERAL = (
    "You are welcome.",
    "I am a student.",
    "She has a white car.",
    "The cat did not drink the milk because it was sour.",
    "The old man sat down on the bank of the river.",
)
"""Sentences for a mean: one sentence alone is little evidence about a model."""
_KEEP = ("layer.*.resid_*", "embed.position")
_BARE = (edits.NoPositions("embed.position"),)


@dataclass(frozen=True)
class Verdicts:
    """The verdict on each position code."""

    verdicts: tuple[Verdict, ...]

    @property
    def passes(self) -> np.ndarray:
        """Return whether each code meets each criterion: (code, criterion), boolean."""
        return np.array([[getattr(verdict, name) for name in CRITERIA.values()] for verdict in self.verdicts])


@dataclass(frozen=True)
class Twins:
    """A word that occurs twice, its positions, and the distance by layer of the runs (`lines`)."""

    text: str
    pair: tuple[int, int]
    word: str
    lines: dict[str, np.ndarray]


def learned(model: str) -> np.ndarray | None:
    """Return a model's table of positions; None where the model is not installed."""
    try:
        return learned_table(default().open(model).network)
    except InputError:
        return None


def twins(text: str) -> Twins:
    """Run a text with two copies of a word through the layers; where no word occurs twice the first is repeated at the end.

    Errors: InputError for a text without a word.
    """
    encode = default().open(READER).tokenizer.encode
    encoded = encode(text)
    if not encoded.ids:
        raise InputError(
            "The text is empty.", "A word is needed that can be put at two positions.", "Type a sentence."
        )
    pair = position_ideas.twice_said(encoded.tokens)
    if pair is None:
        start, end = encoded.spans[0] or (0, 1)
        text = f"{text} {text[start:end]}"
        encoded = encode(text)
        pair = position_ideas.twice_said(encoded.tokens) or (0, len(encoded.ids) - 1)
    word, found = encoded.tokens[pair[0]], {}
    for name, changes in ((WITH, ()), (WITHOUT, _BARE)):
        run = default().open(READER).run(text, keep=_KEEP, edits=changes)
        found[name] = without_positions.twins(run, pair[0] + 1, pair[1] + 1)  # [CLS] stands before
    run = default().open(WRITER).run(text, keep=_KEEP, edits=_BARE)
    again = position_ideas.twice_said(run.tokens)
    if again and run.tokens[again[0]].strip().lower() == word:
        found[WRITTEN] = without_positions.twins(run, *again)
    return Twins(text, pair, word, found)


def measured(model: str, text: str, lot: int) -> without_positions.Unplaced:
    """Return the three runs. Errors: InputError for a text that is too long to be drawn."""
    opened = default().open(model)
    n = len(opened.tokenizer.encode(text).ids)
    if n > LONGEST:
        raise InputError(
            f"The text has {n} tokens.",
            f"This page draws up to {LONGEST}.",
            "Shorten it, or take an example.",
        )
    return without_positions.unplaced(opened, text, lot)


def worse(runs: without_positions.Unplaced) -> str:
    """Return which of shuffled and removed positions has the larger loss, or EQUAL."""
    shuffled, removed = (
        runs.ways[way].surprise for way in (without_positions.SHUFFLED, without_positions.REMOVED)
    )
    if abs(shuffled - removed) < 0.005:
        return EQUAL
    return without_positions.SHUFFLED if shuffled > removed else without_positions.REMOVED


def mean_over(model: str) -> dict[str, float]:
    """Return the mean loss of a model over `SEVERAL`, in nats, with its positions as trained, shuffled and removed."""
    return without_positions.over(default().open(model), SEVERAL)
