"""A word read letter by letter and copied by the six models that ship; their accuracy by length."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.analysis.attribution.token_importance import spearman
from core.checkpoints.manifest import shipped_folder
from core.checkpoints.scores import by_part, read_scores
from core.data.tasks import COPY_LENGTHS, COPY_LETTERS, sample_strings
from core.scoring.copying import matching_share
from core.serving.engine import RunRequest, default
from viz.course.why.bottleneck import reach

CELLS = {"rnn": "RNN", "lstm": "LSTM", "gru": "GRU"}
MODELS = tuple(f"copy-{cell}{attends}" for cell in CELLS for attends in ("", "-attention"))
LONGEST, LONGEST_READ, N_STRINGS = 30, 40, 4
N_WORDS, ENDS = 12, 5
"""Held-out words whose letters are counted by position, and the number of letters in a beginning or an end."""


@dataclass(frozen=True)
class Copy:
    """A word as one model copied it. `chances[i]`: the probability of the i-th letter written, then that of END.

    Shapes: read_states (n, d) with the left to right half first, context (d,), first and written_states
    (step, d) = l_i, pattern (step, n) or None without attention.
    """

    model: str
    read: tuple[str, ...]
    written_letters: tuple[str, ...]
    chances: np.ndarray
    read_states: np.ndarray
    context: np.ndarray
    first: np.ndarray
    written_states: np.ndarray
    pattern: np.ndarray | None

    @property
    def right(self) -> int:
        """Return the number of letters that are right at their position."""
        return round(matching_share("".join(self.written_letters), "".join(self.read)) * len(self.read))

    @property
    def wrong(self) -> list[bool]:
        """Return for each written letter whether the word has another one at that position."""
        return [
            place >= len(self.read) or letter != self.read[place]
            for place, letter in enumerate(self.written_letters)
        ]


@dataclass(frozen=True)
class Data:
    """The word copied from one vector, and by the model of the same cell with attention."""

    one: Copy
    looks: Copy


def letters_of(text: str) -> str:
    """Return the part of a text that these models can read: lower-case letters, at most LONGEST.

    >>> letters_of("Attention, please!")
    'attentionplease'
    """
    return "".join(letter for letter in text.lower() if "a" <= letter <= "z")[:LONGEST]


def copied(model: str, word: str) -> Copy:
    """Run one model on the word and return its copy with its states."""
    keep, attends = (
        ("encoder.layer.0.hidden", "decoder.start.*", "decoder.layer.0.hidden", "logits"),
        "attention" in model,
    )
    run = default().run(RunRequest(model, word, keep=(*keep, "decoder.attn.pattern") if attends else keep))
    logits, trace = run.logits.astype(float), run.trace
    chances = np.exp(logits - logits.max(-1, keepdims=True))
    chances /= chances.sum(-1, keepdims=True)
    taken = [*run.ids[1:], run.model.tokenizer.end]
    return Copy(
        model=model,
        read=run.source.tokens,
        written_letters=run.tokens[1:],
        chances=chances[np.arange(len(taken)), taken],
        read_states=trace["encoder.layer.0.hidden"],
        context=trace["decoder.start.context"],
        first=trace["decoder.start.layer.0.hidden"],
        written_states=trace["decoder.layer.0.hidden"],
        pattern=trace["decoder.attn.pattern"][0] if attends else None,
    )


def tables() -> dict[str, dict[int, float]]:
    """Share of letters right by length, as measured on held-out words and shipped with each of the six
    models."""
    found = {}
    for name in MODELS:
        scores = read_scores(shipped_folder() / name)
        rows = by_part(scores, "token_accuracy_by_length", "held-out strings", name)
        found[name] = {int(row.split()[-1]): value for row, value in rows.items()}
    return found


def fading(cell: str, lot: int = 0) -> np.ndarray:
    """Return |d h_n / d x_1| for n = 1 .. LONGEST_READ, the geometric mean over a few held-out words."""
    words = sample_strings(N_STRINGS, np.random.default_rng(lot), COPY_LETTERS, LONGEST_READ, "test")
    return reach.typical_fading(default().open(f"copy-{cell}"), words)


@dataclass(frozen=True)
class ByPlace:
    """Accuracy and slope by position, of words of the longest length in training: share of letters right and |d c / d x_i|,
    both (position,)."""

    right: np.ndarray
    slope: np.ndarray

    @property
    def ends(self) -> tuple[float, float]:
        """Return the share of letters right among the first ENDS of a word, and among the last.

        >>> ByPlace(np.repeat([1.0, 0.0], [7, ENDS]), np.zeros(12)).ends
        (1.0, 0.0)
        """
        return float(self.right[:ENDS].mean()), float(self.right[-ENDS:].mean())

    @property
    def agreement(self) -> float:
        """Return the rank correlation of slope and share right over the positions."""
        return spearman(self.slope, self.right)


def by_place(cell: str, lot: int = 0) -> ByPlace:
    """Return by position the share of letters that one vector gives back, and the slope of that vector, on held-out words."""
    model, longest = default().open(f"copy-{cell}"), max(COPY_LENGTHS)
    words = sample_strings(N_WORDS, np.random.default_rng(lot), COPY_LETTERS, longest, "test")
    written = [(model.run(word, keep=()).target_text or "").ljust(longest) for word in words]
    right = [[a == b for a, b in zip(*pair, strict=False)] for pair in zip(written, words, strict=True)]
    return ByPlace(
        np.mean([row[:longest] for row in right], axis=0), reach.reach(model, words).context_slopes.mean(0)
    )


def slopes_by_place(word: str) -> dict[str, np.ndarray]:
    """Return |d c / d x_i| for each letter of a word, by cell."""
    return {cell: reach.reach(default().open(f"copy-{cell}"), [word]).context_slopes[0] for cell in CELLS}
