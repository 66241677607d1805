"""One sentence through BERT, GPT and a translator, and which input moves which output in each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.errors import InputError
from core.run import Attention, Run
from core.serving.engine import RunRequest, default
from core.text.words import word_spans
from viz.course.gpt.families import two_chains
from viz.course.gpt.families.influence import influence
from viz.labels import distinct
from viz.widgets import input_hints

BERT, GPT, BOTH = "bert-mini", "gpt-mini", "translator-en-es"
LONGEST = 14


@dataclass(frozen=True, eq=False)
class FamilyRun:
    """One model over the sentence: names of its outputs and inputs, weights (mean of all heads) and mask, and the tokens of each word."""

    run: Run
    outputs: tuple[str, ...]
    inputs: tuple[str, ...]
    weights: np.ndarray
    allowed: np.ndarray
    pieces: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class Data:
    """The words, and BERT, GPT and the translator's decoder over them: its inputs are the source tokens, then its own words."""

    text: str
    words: tuple[str, ...]
    bert: FamilyRun
    gpt: FamilyRun
    both: FamilyRun


@dataclass(frozen=True, eq=False)
class Influence:
    """How much each position moves when one input is moved: of BERT, GPT and the translator's source and target (input, layer + 1,
    position), of ELMo's chains (output, input)."""

    bert: np.ndarray
    gpt: np.ndarray
    source: np.ndarray
    target: np.ndarray
    chains: dict[str, np.ndarray]

    def pattern(self, name: str) -> np.ndarray:
        """Return which input moves which output of the last layer (output, input); the translator's inputs are source, then target."""
        if name == "both":
            return np.concatenate([self.source[:, -1].T, self.target[:, -1].T], 1) > 0
        return getattr(self, name)[:, -1].T > 0


def read(text: str) -> Data:
    """Run the sentence through the three models. Raises InputError for no word, or more tokens than can be drawn."""
    for name in (BERT, GPT, BOTH):
        input_hints.check_length(name, text, LONGEST)
    bert, gpt, both = (
        default().run(RunRequest(name, text, keep=("*pattern", "*allowed"))) for name in (BERT, GPT, BOTH)
    )
    words = [word for word in word_spans(text) if all(tokens_within(run, word) for run in (bert, gpt, both))]
    if not words:
        raise InputError(
            "The sentence holds no word.", "One word is moved, and the others are watched.", "Type a word."
        )
    return Data(
        text,
        tuple(text[begin:end] for begin, end in words),
        family_run(bert, (bert.attention(),), words),
        family_run(gpt, (gpt.attention(),), words),
        family_run(both, (both.attention("cross"), both.attention("causal")), words),
    )


def move_every_input(data: Data, draw: int = two_chains.DRAW) -> Influence:
    """Move every input of every model, one at a time."""
    bert, gpt, both = (default().open(name) for name in (BERT, GPT, BOTH))
    return Influence(
        influence(bert, data.text),
        influence(gpt, data.text),
        influence(both, data.text, "source", data.both.run.target_text),
        influence(both, data.text, "target", data.both.run.target_text),
        two_chains.influence(len(data.words), draw),
    )


def family_run(run: Run, kinds: tuple[Attention, ...], words: list[tuple[int, int]]) -> FamilyRun:
    """Return a run with its kinds of attention beside each other."""
    return FamilyRun(
        run,
        tuple(distinct(token.removeprefix(" ") or token for token in kinds[0].queries)),
        tuple(distinct(token.removeprefix(" ") or token for kind in kinds for token in kind.keys)),
        np.concatenate([kind.weights.mean((0, 1)) for kind in kinds], 1),
        np.concatenate([kind.allowed[0, 0] for kind in kinds], 1),
        tuple(tokens_within(run, word) for word in words),
    )


def tokens_within(run: Run, word: tuple[int, int]) -> tuple[int, ...]:
    """Return the positions of the tokens that overlap a word."""
    spans = (run.source or run.side).spans
    return tuple(i for i, span in enumerate(spans) if span and span[0] < word[1] and span[1] > word[0])
