"""The runs behind Be the head: who is to be guessed, for which head the row matters, what the visitor's row makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from core.analysis.attribution.ablate_heads import ablate_each_head
from core.edits import SetPattern
from core.errors import InputError
from core.maths import softmax
from core.model import Model
from core.models import Kind
from core.run import Run
from viz.languages import _
from viz.shell.selection import Selection
from viz.widgets import engine_client, input_hints
from viz.workspace.shared import model_run
from viz.workspace.shared.head_ref import HeadRef

TOTAL = 100
KEEP = ("*.pattern", "logits")
SEARCHED = 128
"""Rows times tokens of a translation in which a telling row is looked for: each row needs a run a head."""


EXPECTED = 0.01
"""The right word has less: no row of one head makes it probable."""
BEGINNINGS = (
    "The king had a red horse. The red horse",
    "Once upon a time there was a little girl",
    "The capital of France is Paris",
    "When Mary and John went to the store, John gave a drink to Mary",
    "Monday, Tuesday, Wednesday, Thursday",
    "one two three four five six",
    "She opened the door and looked at the man",
)
"""Texts of which a model opens with the one whose last word it expects most, where ours was not measured with it."""


@dataclass(frozen=True)
class Game:
    """One row of one head of a run, and the word it should lead to. `word` is a token, `row` and `keys` are tokens too."""

    run: Run
    place: HeadRef
    row: int
    word: str
    word_id: int
    table: np.ndarray
    """The probability of the word where one head alone looks evenly in this row: (layer, head)."""

    @property
    def kind(self) -> Kind:
        return self.run.model.spec.kind(self.place.kind)

    @property
    def path(self) -> str:
        return self.kind.path(self.place.layer, "pattern")

    @property
    def keys(self) -> list[int]:
        """Return the keys that the row may look at."""
        return np.flatnonzero(
            self.run.trace[self.kind.path(self.place.layer, "allowed")][0, self.row]
        ).tolist()

    @property
    def names(self) -> list[str]:
        """Return the tokens of these keys."""
        side = (
            self.run.source if self.kind.keys == "source" and self.run.source is not None else self.run.side
        )
        return [side.tokens[key] for key in self.keys]

    @property
    def true_row(self) -> np.ndarray:
        """Return the weights of the head itself on these keys."""
        return self.run.trace[self.path][self.place.head, self.row][self.keys]

    @property
    def true(self) -> float:
        """Return the probability of the word with the head's own row."""
        return token_probability(self.run, self.row, self.word_id)

    @property
    def even(self) -> float:
        return float(self.table[self.place.layer, self.place.head])

    @property
    def heads(self) -> list[tuple[int, int]]:
        """Return all heads, the one whose row matters most first."""
        return [
            (int(layer), int(head))
            for layer, head in zip(
                *np.unravel_index(np.argsort(self.table, axis=None), self.table.shape), strict=True
            )
        ]


def game(selection: Selection, row: int | None) -> Game:
    """Return the run, the row and the head of a selection. A model that goes on reads all but the last word, which is then to be predicted.

    Without a row: of a translation (its first words, where it is long) the one where some head matters most. Without a head: the one whose row matters most.
    """
    reader, text = model_run.open_model(selection.model), selection.text
    if reader.spec.has_source:
        return _translating(selection, row)
    start, end = last_word(reader, text)
    before, wanted = text[:start].rstrip(), text[start - 1 : end] if start else text[start:end]
    ids = reader.tokenizer.encode(wanted).ids
    run = model_run.run_with(replace(selection, text=before), KEEP)
    return _with_head(run, selection, run.side.n_real - 1, ids[0], run.kinds[-1])


def opening(model: Model, text: str) -> str:
    """Return the text that a model opens with: `text` for one of ours, or one that translates; else of these the one whose last word it expects most."""
    if input_hints.is_shipped(model.name) or model.spec.has_source or not text or not model.can("write"):
        return text

    def expected(one: str) -> float:
        start = last_word(model, one)[0]
        before, wanted = one[:start].rstrip(), one[start - 1 :]
        run = model.run(before, keep=())
        return token_probability(run, run.side.n_real - 1, model.tokenizer.encode(wanted).ids[0])

    return engine_client.submit(
        ("be_the_head.opening", model.name),
        lambda: max((text, *BEGINNINGS), key=expected),
        cost=40.0 * (len(BEGINNINGS) + 1) * model.config.n_layers,
    )


def last_word(reader, text: str) -> tuple[int, int]:
    """Return where the last word begins and ends in the text. Raises InputError for a text without two words."""
    words = [
        span for span in _spans(reader, text) if any(letter.isalnum() for letter in text[span[0] : span[1]])
    ]
    if len(words) < 2:
        raise InputError(
            _("There is nothing to guess."),
            _("The model reads all but the last word, and is to say that one."),
            _("Type a sentence of three words or more."),
        )
    return words[-1]


def _spans(reader, text: str) -> list[tuple[int, int]]:
    """Return the words of a text as positions, split by white space."""
    found, at = [], 0
    for word in text.split():
        start = text.index(word, at)
        at = start + len(word)
        cut = len(word.rstrip('.,;:!?"”'))
        found.append((start, start + cut) if cut else (start, at))
    return found


def _translating(selection: Selection, row: int | None) -> Game:
    run = model_run.fixed(selection, KEEP)
    if run.side.n_real < 2:
        wrong = _(
            "{model} writes nothing to this sentence: its first token is the end of the text.",
            model=selection.model,
        )
        raise InputError(
            wrong, _("The word to be guessed is one that it writes."), _("Type another sentence.")
        )
    wanted = (*run.ids[1 : run.side.n_real], run.model.tokenizer.end)
    kind = "cross"
    if row is None or not 0 <= row < run.side.n_real - 1:
        row = min(
            range(min(run.side.n_real - 1, max(1, SEARCHED // run.side.n_real))),
            key=lambda at: (
                float(_effects(run, kind, at, wanted[at]).min()) - token_probability(run, at, wanted[at])
            ),
        )
    return _with_head(run, selection, row, wanted[row], kind)


def _with_head(run: Run, selection: Selection, row: int, word_id: int, kind: str) -> Game:
    """Return the game of the selection's head, where it has one of these, else of the one whose row matters most."""
    table, layer, head = _effects(run, kind, row, word_id), selection.layer, selection.head
    if layer is None or head is None or not (layer < table.shape[0] and head < table.shape[1]):
        layer, head = (int(i) for i in np.unravel_index(int(table.argmin()), table.shape))
    return Game(run, HeadRef(kind, layer, head), row, run.model.tokenizer.token(word_id), word_id, table)


def _effects(run: Run, kind: str, row: int, word_id: int) -> np.ndarray:
    """Return the probability of the word where one head alone is uniform in this row: (layer, head), all in one batch."""
    allowed = run.trace[run.model.spec.kind(kind).path(0, "allowed")][0, row]
    even = torch.tensor(allowed / allowed.sum(), dtype=torch.float32)

    def change(pattern: torch.Tensor) -> torch.Tensor:
        new = pattern.clone()
        new[row] = even
        return new

    text, model = (run.source or run.side).text, run.model
    key = ("be_the_head.even", model.name, text, run.target_text, kind, row, word_id)
    cost = float(len(text) * model.config.n_layers * model.config.n_heads)

    def read(other: Run) -> np.ndarray:
        return np.asarray(token_probability(other, row, word_id))

    return engine_client.submit(
        key,
        lambda: ablate_each_head(
            model, text, kind, read, target=run.target_text, leaf="pattern", change=change
        ),
        cost,
    )


def token_probability(run: Run, row: int, word_id: int) -> float:
    """Return the probability of a token at a row."""
    return float(softmax(run.logits[row])[word_id])


def played(game: Game, shares: Sequence[float]) -> float:
    """Return the probability of the word with this row, in percent, in the place of the head's own."""
    weights = np.zeros(game.run.trace[game.path].shape[-1])
    weights[game.keys] = np.array(shares) / TOTAL
    edit = SetPattern(game.path, game.row, tuple(float(weight) for weight in weights), head=game.place.head)
    return token_probability(model_run.rerun(game.run, ("logits",), edits=(edit,)), game.row, game.word_id)


def evenly(n: int) -> tuple[int, ...]:
    """Return 100 shared out over n positions, as evenly as whole numbers allow.

    >>> evenly(3)
    (34, 33, 33)
    """
    return tuple(TOTAL // n + (place < TOTAL % n) for place in range(n))


def read_row(raw: str, n: int) -> tuple[int, ...]:
    """Read the shares of a link: n whole numbers that are together at most 100. Raises ValueError for anything else."""
    shares = tuple(int(part) for part in raw.split("."))
    if len(shares) != n or min(shares) < 0 or sum(shares) > TOTAL:
        raise ValueError(
            _("A row has {n} whole numbers, 0 or more, together at most {total}.", n=n, total=TOTAL)
        )
    return shares


def best(game: Game) -> int:
    """Return the position, among the keys, to which the head itself gives most."""
    return int(game.true_row.argmax())
