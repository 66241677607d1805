"""A model over a data set, text by text: its loss, the measures of its heads, their mean patterns on aligned positions, and how far a second model disagrees.

The loss of a text is the mean of -log p in nats: of a decoder over the tokens that it predicts, of a masked language model over all tokens, each hidden
in turn (a pseudo-loss: Salazar et al. 2020), of a translator over the translation that is given, else over its own, of a classifier that of the class that is given.

Two models disagree by the Jensen-Shannon divergence of what they predict, in bits, where their outputs have the same choices at the same positions; else by the
difference of their losses of the same words, in nats per character, since a token of one is not a token of the other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from core.analysis.attribution.importance import token_losses
from core.analysis.heads.head_survey import KEEP, score_run
from core.analysis.heads.pattern_distance import jensen_shannon
from core.analysis.task_outputs import activation_of, chances
from core.data.text_lines import TextLine
from core.errors import InputError, reason_of
from core.model import Model
from core.run import Run
from core.scoring.over_texts import TextBatches, text_losses

if TYPE_CHECKING:
    from jaxtyping import Float, Int

Array = np.ndarray
AT_ONCE = 8
"""Texts of a step: few, so that others wait little between two."""
POSITIONS = 16
"""Positions of a mean pattern."""
START, END = "first", "last"
"""Texts are aligned at their first or at their last token."""
SAME = 0.5
"""The share of texts with one token at a position, from which on the position has its name."""
DIVERGENCE, DIFFERENCE = "divergence", "difference"
NAN = float("nan")


@dataclass(frozen=True, eq=False)
class MeanPattern:
    """The mean pattern of each head over texts that are aligned at one end, on at most `POSITIONS` positions.

    A cell is the mean over the `counts` texts that have both positions. A position is named by its token where at least half of the texts have it there, else "".
    """

    weights: Float[Array, "layer head query key"]
    counts: Int[Array, "query key"]
    queries: tuple[str, ...]
    keys: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class TextMeasures:
    """The measures of one text. `heads` by kind of attention and measure (layer, head); `error` is the reason where the text was not read, `note` where a number is missing."""

    line: TextLine
    tokens: int = 0
    loss: float = NAN
    entropy: float = NAN
    predicted: str = ""
    other_loss: float = NAN
    disagreement: float = NAN
    heads: Mapping[str, Mapping[str, Array]] = field(default_factory=dict)
    patterns: Mapping[str, tuple[Array, tuple[str, ...], tuple[str, ...]]] = field(default_factory=dict)
    error: str = ""
    note: str = ""


@dataclass(frozen=True, eq=False)
class DataSetResults:
    """The measures of a model on every text of a data set, in the order of the texts; a number that a text does not have is NaN.

    `scores[kind][measure]` is (text, layer, head); `patterns[kind, START]` and `patterns[kind, END]` are mean patterns. `disagrees_by` is `DIVERGENCE` or
    `DIFFERENCE` with a second model, else "".
    """

    model: str
    lines: tuple[TextLine, ...]
    tokens: Int[Array, " text"]
    loss: Float[Array, " text"]
    entropy: Float[Array, " text"]
    predicted: tuple[str, ...]
    notes: tuple[str, ...]
    scores: Mapping[str, Mapping[str, Float[Array, "text layer head"]]]
    patterns: Mapping[tuple[str, str], MeanPattern]
    other: str = ""
    disagrees_by: str = ""
    other_loss: Float[Array, " text"] = field(default_factory=lambda: np.zeros(0))
    disagreement: Float[Array, " text"] = field(default_factory=lambda: np.zeros(0))

    @property
    def n_read(self) -> int:
        """Return the number of texts that were read."""
        return int((self.tokens > 0).sum())


class DataSetReading:
    """A reading of a data set in steps, so that a page or a thread can do other things between two; `join` makes the results of what the steps return.

    >>> import core
    >>> tiny = core.open_model("induction-tiny")
    >>> reading = DataSetReading(tiny, [TextLine(1, "abcabcab"), TextLine(2, "aabbccdd")])
    >>> results = reading.join([reading.read(step) for step in range(len(reading.steps))])
    >>> bool(results.loss[0] < results.loss[1]), results.scores["causal"]["induction"].shape
    (True, (2, 2, 2))
    """

    def __init__(self, model: Model, lines: Sequence[TextLine], other: Model | None = None) -> None:
        self.model, self.lines, self.other = model, tuple(lines), other
        order = sorted(range(len(lines)), key=lambda place: len(lines[place].text))
        self.steps = [order[first : first + AT_ONCE] for first in range(0, len(order), AT_ONCE)]
        self._kinds = model.spec.kinds_of(model.config)
        self.disagrees_by = disagrees_by(model, other) if other else ""

    def read(self, step: int) -> dict[int, TextMeasures]:
        """Return the measures of the texts of one step by their places."""
        places = {self.lines[place].line: place for place in self.steps[step]}
        found: dict[int, TextMeasures] = {}
        for line, run in TextBatches(self.model, KEEP).runs(
            [self.lines[place] for place in self.steps[step]]
        ):
            found[places[line.line]] = (
                TextMeasures(line, error=line.error) if run is None else self._measured(run, line)
            )
            del run
        return found

    def join(self, parts: Sequence[Mapping[int, TextMeasures]]) -> DataSetResults:
        """Return the results of all steps. Raises InputError, with the first reason, where no text was read."""
        by_place = {place: row for part in parts for place, row in part.items()}
        rows = [by_place[place] for place in range(len(self.lines))]
        if all(row.error for row in rows):
            reason = rows[0].error if rows else "There is no text."
            raise InputError(
                "None of the texts can be read. {reason}",
                "One text at least must be read.",
                "Give other texts, or choose another model.",
                reason=reason,
            )
        return DataSetResults(
            self.model.name,
            self.lines,
            np.array([row.tokens for row in rows]),
            np.array([row.loss for row in rows]),
            np.array([row.entropy for row in rows]),
            tuple(row.predicted for row in rows),
            tuple(row.error or row.note for row in rows),
            _stacked(rows),
            {
                (kind, end): mean_pattern([row.patterns[kind] for row in rows if kind in row.patterns], end)
                for kind in dict.fromkeys(kind for row in rows for kind in row.patterns)
                for end in (START, END)
            },
            self.other.name if self.other else "",
            self.disagrees_by,
            np.array([row.other_loss for row in rows]),
            np.array([row.disagreement for row in rows]),
        )

    def _measured(self, run: Run, line: TextLine) -> TextMeasures:
        """Return the measures of a text that was run."""
        values: dict[str, Any] = {}
        side, notes = run.source or run.side, []
        try:
            losses = self._losses(run, line)
            values["loss"] = float(losses.mean()) if losses is not None else NAN
        except InputError as error:
            losses = None
            notes.append(reason_of(error))
        if run.model.is_classifier:
            shares = chances(run.model, run.scores[-1])
            values["predicted"] = run.model.class_names[int(shares.argmax())]
            if activation_of(run.model) == "softmax":
                values["entropy"] = float(-(shares * np.log2(np.maximum(shares, 1e-300))).sum())
        if self.other is not None:
            try:
                values["other_loss"], values["disagreement"] = self._compared(run, line, losses)
            except InputError as error:
                notes.append(f"{self.other.name}: {error}")
        scores = score_run(run, self._kinds)
        return TextMeasures(
            line,
            side.n_real,
            heads={
                kind: {name: np.asarray(table, dtype=np.float32) for name, table in own.items()}
                for kind, (own, _) in scores.items()
            },
            patterns={
                kind.name: (np.asarray(seen.weights, dtype=np.float32), seen.queries, seen.keys)
                for kind in self._kinds
                if not kind.has_learned_queries
                for seen in [run.attention(kind.name)]
            },
            note=" ".join(notes),
            **values,
        )

    def _losses(self, run: Run, line: TextLine) -> Array | None:
        """Return -log p of what the model had to predict; None for a model, or a text, without."""
        if run.model.can("score_words"):
            return text_losses(run)
        return token_losses(run, line.target) if line.target and run.model.is_classifier else None

    def _compared(self, run: Run, line: TextLine, losses: Array | None) -> tuple[float, float]:
        """Return the second model's loss of a text, and how far the two disagree."""
        other = self.other
        assert other is not None
        target = run.target_text if other.spec.has_source and other.head is None else None
        second = other.run(line.text, target=target, keep=())
        own = self._losses(second, line)
        mean = NAN if own is None else float(own.mean())
        if self.disagrees_by == DIVERGENCE:
            if run.ids != second.ids:
                raise InputError(
                    "The text has other tokens.",
                    "Outputs are compared at the same positions.",
                    "Shorten the text.",
                )
            rows = slice(-1, None) if run.model.is_classifier else slice(None)
            shares = [chances(one.model, one.scores[rows]) for one in (run, second)]
            return mean, float(jensen_shannon(*shares).mean())
        if losses is None or own is None:
            return mean, NAN
        written = target or line.text
        return mean, float(abs(losses.sum() - own.sum()) / max(1, len(written)))


def digest(lines: Sequence[TextLine]) -> str:
    """Return a name for texts: the same for the same texts."""
    return hashlib.blake2b(repr(tuple(lines)).encode("utf-8", "replace"), digest_size=16).hexdigest()


def scored_tokens(run: Run, line: TextLine) -> list[tuple[str, float]]:
    """Return the tokens of a text, of a translator those of the translation, each with its -log p in nats; NaN for one that is not predicted.

    >>> import core
    >>> run = core.open_model("induction-tiny").run("abcabc")
    >>> [token for token, loss in scored_tokens(run, TextLine(1, "abcabc")) if loss < 0.5]
    ['b', 'c']
    """
    if not run.model.can("score_words"):
        return [(token, NAN) for token in (run.source or run.side).without_padding.tokens]
    losses = text_losses(run).tolist()
    if run.model.can("fill_blanks"):
        special = frozenset(run.side.special_positions)
        each = iter(losses)
        return [(token, NAN if place in special else next(each)) for place, token in enumerate(run.tokens)]
    tokens = [*run.tokens[1:], *["END"] * (len(losses) - len(run.tokens) + 1)]
    return [(run.tokens[0], NAN), *zip(tokens, losses, strict=True)]


def disagrees_by(model: Model, other: Model) -> str:
    """Return how the disagreement of two models is measured: `DIVERGENCE` of what they predict, or `DIFFERENCE` of losses; "" where they cannot be compared.

    Both read the same kind of input and have the same kind of output. The divergence needs the same choices at the same positions, and a masked language
    model predicts no token of a text that has no blank: its pseudo-loss is compared.
    """
    traits = [
        (
            one.spec.reads,
            one.spec.has_source,
            one.spec.sentences,
            one.spec.framed,
            one.can("score_words"),
            one.can("fill_blanks"),
        )
        for one in (model, other)
    ]
    if traits[0] != traits[1] or model.main_output != other.main_output:
        return ""
    if model.main_output == "classes":
        return DIVERGENCE if list(model.class_names) == list(other.class_names) else ""
    if not model.can("score_words"):
        return ""
    one, two = model.tokenizer, other.tokenizer
    same = one is two or one.to_json() == two.to_json()
    return DIVERGENCE if same and not model.can("fill_blanks") else DIFFERENCE


def mean_pattern(rows: Sequence[tuple[Array, Sequence[str], Sequence[str]]], end: str) -> MeanPattern:
    """Return the mean of patterns (layer, head, query, key) with their tokens, aligned at one end.

    >>> two = [(np.eye(2)[None, None], ("a", "b"), ("a", "b")), (np.ones((1, 1, 1, 1)), ("a",), ("a",))]
    >>> found = mean_pattern(two, START)
    >>> found.weights[0, 0].tolist(), found.counts.tolist(), found.queries
    ([[1.0, 0.0], [0.0, 1.0]], [[2, 1], [1, 1]], ('a', ''))
    """
    n_queries, n_keys = (min(POSITIONS, max(row[0].shape[axis] for row in rows)) for axis in (-2, -1))
    sums = np.zeros((*rows[0][0].shape[:2], n_queries, n_keys))
    counts = np.zeros((n_queries, n_keys), dtype=int)
    tokens: tuple[list[list[str]], ...] = ([[] for _ in range(n_queries)], [[] for _ in range(n_keys)])
    for weights, *labels in rows:
        q, k = min(n_queries, weights.shape[-2]), min(n_keys, weights.shape[-1])
        part = (slice(0, q), slice(0, k)) if end == START else (slice(-q, None), slice(-k, None))
        sums[..., part[0], part[1]] += weights[..., part[0], part[1]]
        counts[part] += 1
        for own, names, n in zip(tokens, labels, (q, k), strict=True):
            for place, token in (
                list(zip(range(len(own)), names, strict=False))[:n]
                if end == START
                else zip(range(len(own) - n, len(own)), names[-n:], strict=True)
            ):
                own[place].append(token)
    with np.errstate(invalid="ignore"):
        means = sums / counts
    return MeanPattern(means, counts, *(tuple(_common(own, len(rows)) for own in side) for side in tokens))


def _common(tokens: Sequence[str], n: int) -> str:
    """Return the token that at least half of `n` texts have, and two at least; "" where none has so many."""
    best = max(dict.fromkeys(tokens), key=tokens.count, default="")
    return best if tokens.count(best) >= max(2, SAME * n) else ""


def _stacked(rows: Sequence[TextMeasures]) -> dict[str, dict[str, Array]]:
    """Return the measures of heads (text, layer, head) by kind and measure; NaN for a text that lacks one."""
    shapes = {
        (kind, name): np.shape(table)
        for row in rows
        for kind, own in row.heads.items()
        for name, table in own.items()
    }
    found: dict[str, dict[str, Array]] = {}
    for (kind, name), shape in shapes.items():
        empty = np.full(shape, np.nan, dtype=np.float32)
        found.setdefault(kind, {})[name] = np.stack(
            [row.heads.get(kind, {}).get(name, empty) for row in rows]
        )
    return found
