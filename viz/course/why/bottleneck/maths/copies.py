"""A word read letter by letter and written again by the six models that ship; what they lose over length."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.checkpoints.manifest import shipped_folder
from core.checkpoints.scores import by_part, read_scores
from core.data.tasks import COPIED, strings
from core.scoring.copying import same
from core.serving.engine import RunRequest, default
from viz.course.why.bottleneck.maths import reach

CELLS = {"rnn": "RNN", "lstm": "LSTM", "gru": "GRU"}
MODELS = tuple(f"copy-{cell}{attends}" for cell in CELLS for attends in ("", "-attention"))
LONGEST, LONGEST_READ, N_STRINGS = 30, 40, 4


@dataclass(frozen=True)
class Copy:
    """What one model made of the word. `chances[i]`: the probability of the i-th letter written, END's
    behind them.

    Shapes: read_states (n, d) with the left to right half first, context (d,), first and written_states
    (step, d) = l_i, pattern (step, n) or None without attention.
    """

    model: str
    read: tuple[str, ...]
    written: tuple[str, ...]
    chances: np.ndarray
    read_states: np.ndarray
    context: np.ndarray
    first: np.ndarray
    written_states: np.ndarray
    pattern: np.ndarray | None

    @property
    def right(self) -> int:
        """How many letters of the word stand in their places."""
        return round(same("".join(self.written), "".join(self.read)) * len(self.read))

    @property
    def wrong(self) -> list[bool]:
        """Which written letters do not stand in the word at that place."""
        return [
            place >= len(self.read) or letter != self.read[place] for place, letter in enumerate(self.written)
        ]


@dataclass(frozen=True)
class Data:
    """The word through one vector, and the same word by the model of the same cell that may look back."""

    one: Copy
    looks: Copy


def letters_of(text: str) -> str:
    """What these models can read of a text: lower-case letters, not more than the page draws.

    >>> letters_of("Attention, please!")
    'attentionplease'
    """
    return "".join(letter for letter in text.lower() if "a" <= letter <= "z")[:LONGEST]


def copied(model: str, word: str) -> Copy:
    """One model reads the word and writes what it makes of it."""
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
        written=run.tokens[1:],
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
    """|d h_n / d x_1| for n = 1 .. LONGEST_READ, on a few held-out words."""
    words = strings(N_STRINGS, np.random.default_rng(lot), COPIED, LONGEST_READ, "test")
    return reach.typical_fading(default().open(f"copy-{cell}"), words)


def slopes_by_place(word: str) -> dict[str, np.ndarray]:
    """|d c / d x_i| for each letter of a word, by cell."""
    return {cell: reach.reach(default().open(f"copy-{cell}"), [word]).whole[0] for cell in CELLS}
