"""What the exhibit on the families of models computes: one sentence through three models, and who moves whom in each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from core.errors import InputError
from core.serving.engine import RunRequest, default
from core.text.words import word_spans
from viz.course.gpt.families.maths import two_chains
from viz.course.gpt.families.maths.influence import influence
from viz.labels import distinct
from viz.widgets import input_hints

BERT, GPT, BOTH = "bert-mini", "gpt-mini", "translator-en-es"
LONGEST = 14


@dataclass(frozen=True, eq=False)
class FamilyRun:
    """One model over the sentence: names of the outputs and of the inputs, weights (all heads, mean) and mask, which pieces each word has."""

    run: Any
    outputs: tuple[str, ...]
    inputs: tuple[str, ...]
    weights: np.ndarray
    allowed: np.ndarray
    pieces: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class Data:
    """The words, and BERT, GPT and the translator's decoder over them: its inputs are the source pieces, then its own words."""

    text: str
    words: tuple[str, ...]
    bert: FamilyRun
    gpt: FamilyRun
    both: FamilyRun


@dataclass(frozen=True, eq=False)
class Moved:
    """How much moves when one input is moved: BERT, GPT (input, layer + 1, place); of the translator by source and by target; ELMo's chains (output, input)."""

    bert: np.ndarray
    gpt: np.ndarray
    source: np.ndarray
    target: np.ndarray
    chains: dict[str, np.ndarray]

    def pattern(self, name: str) -> np.ndarray:
        """Which input moves which output of the last layer: boolean (output, input); the translator's inputs are source, then target."""
        if name == "both":
            return np.concatenate([self.source[:, -1].T, self.target[:, -1].T], 1) > 0
        return getattr(self, name)[:, -1].T > 0


def read(text: str) -> Data:
    """The sentence through the three models. Errors: InputError for no word, or more pieces than can be drawn."""
    places = list(word_spans(text))
    for name in (BERT, GPT, BOTH):
        input_hints.check_length(name, text, LONGEST)
    runs = [
        default().run(RunRequest(name, text, keep=("*pattern", "*allowed"))) for name in (BERT, GPT, BOTH)
    ]
    places = [
        place for place in places if all(_pieces((run.source or run.side).spans, place) for run in runs)
    ]
    if not places:
        raise InputError(
            "The sentence holds no word.", "One word is moved, and the others are watched.", "Type a word."
        )
    bert, gpt = (_reading(run, (run.attention(),), places) for run in runs[:2])
    both = _reading(runs[2], (runs[2].attention("cross"), runs[2].attention("causal")), places)
    return Data(text, tuple(text[begin:end] for begin, end in places), bert, gpt, both)


def moved(data: Data, draw: int = two_chains.DRAW) -> Moved:
    """Every input of every model moved, one at a time."""
    bert, gpt = (influence(default().open(name), data.text) for name in (BERT, GPT))
    both = default().open(BOTH)
    source, target = (
        influence(both, data.text, of, data.both.run.target_text) for of in ("source", "target")
    )
    return Moved(bert, gpt, source, target, two_chains.influence(len(data.words), draw))


def _reading(run: Any, kinds: tuple[Any, ...], places: list[tuple[int, int]]) -> FamilyRun:
    weights, allowed = (
        np.concatenate([each.weights.mean((0, 1)) for each in kinds], 1),
        np.concatenate([each.allowed[0, 0] for each in kinds], 1),
    )
    inputs = distinct(token.removeprefix(" ") or token for each in kinds for token in each.keys)
    outputs = distinct(token.removeprefix(" ") or token for token in kinds[0].queries)
    pieces = tuple(_pieces((run.source or run.side).spans, place) for place in places)
    return FamilyRun(run, tuple(outputs), tuple(inputs), weights, allowed, pieces)


def _pieces(spans: Any, place: tuple[int, int]) -> tuple[int, ...]:
    return tuple(i for i, span in enumerate(spans) if span and span[0] < place[1] and span[1] > place[0])
