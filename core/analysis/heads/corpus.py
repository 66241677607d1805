"""Every head of a model over a corpus: its strongest rows, a passage of each decile, the tokens it attends from and to, and how its measures spread.

The score of a passage is the largest weight in it that a head gives to a key that is neither the query itself, nor the first token, nor
a token that the model added (`START`, `[CLS]`, `[SEP]`): most heads leave much of their attention there, whatever they read. Only rows count
that have `MIN_KEYS` such keys. All positions are those of tokens.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from core.analysis.attention.measures import mean_distance
from core.analysis.heads import habits, patch_habits
from core.analysis.heads.patch_habits import are_patches
from core.analysis.one_line import OneLine
from core.data.texts import Example
from core.errors import InputError, reason_of
from core.model import Model
from core.models import Kind
from core.run import Attention, Run

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

Array = np.ndarray
T = TypeVar("T")

KEEP = ("*.pattern",)
MIN_KEYS = 6
"""Keys that a row may choose from; with fewer, a large weight says little."""
STRONGEST, DECILES, TOP_TOKENS = 8, 10, 8
MIN_COUNT = 10
"""Occurrences of a token behind its mean weight; tokens with fewer are left out."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
MEAN, MEDIAN = 0, 3
"""Places of the mean and the median among the statistics of a measure: the mean, then `QUANTILES`."""
STRONGEST_WEIGHT, DISTANCE = "strongest", "distance"
SHUFFLED, UNTRAINED = "shuffled", "untrained"
BEFORE, AFTER, MORE = 5, 2, 3
"""Tokens of a window before and after a position, and the further keys with the largest weights."""
BATCH, BATCH_TOKENS = 32, 2048
LETTERS = 4
"""Characters of a token, about."""
LABEL = 24
"""Letters of a token's label; where sentences are the keys, they are cut."""


@dataclass(frozen=True)
class CorpusRow:
    """One row of attention: the passage it is from, the query, the key with the largest weight that counts, and the tokens around both.

    `positions`, `tokens` and `weights` are of keys, in the order of the text; where another text is attended to, `context` has
    the tokens around the query.
    """

    passage: int
    weight: float
    query: int
    key: int
    query_token: str
    positions: tuple[int, ...]
    tokens: tuple[str, ...]
    weights: tuple[float, ...]
    context: tuple[str, ...] = ()


class TokenWeight(NamedTuple):
    """A token with the mean over its occurrences and their number."""

    token: str
    weight: float
    count: int


class WordScore(NamedTuple):
    """A word of the vocabulary with what is added to its score (a logit)."""

    word: str
    added: float


class HeadWrites(NamedTuple):
    """Numbers that a head adds directly to the scores of words on its strongest rows: the words raised and lowered most in the mean of the rows, and those raised most in each.

    `copies`: in how many rows the key's own token is among those raised most; None between two texts.
    """

    raised: tuple[WordScore, ...]
    lowered: tuple[WordScore, ...]
    rows: tuple[tuple[WordScore, ...], ...]
    copies: int | None


Statistics = Mapping[str, "Float[Array, 'layer head statistic']"]
"""By measure the mean over the passages and the `QUANTILES`."""


@dataclass(frozen=True, repr=False)
class HeadCorpus(OneLine):
    """All heads of one kind of attention over a corpus of `n` passages; `controls` are the statistics over `SHUFFLED` words and of an `UNTRAINED` copy.

    `strongest[layer][head]` are rows of different passages, the largest weight first; `deciles[layer][head]` the strongest row of the middle
    passage of each tenth, the highest tenth first. `queries`: tokens by the mean of the largest weight that they give; `keys`: by the mean of the largest
    weight that they get. Only weights that count.
    """

    n: int
    measures: Statistics
    controls: Mapping[str, Statistics]
    strongest: tuple[tuple[tuple[CorpusRow, ...], ...], ...]
    deciles: tuple[tuple[tuple[CorpusRow, ...], ...], ...]
    queries: tuple[tuple[tuple[TokenWeight, ...], ...], ...]
    keys: tuple[tuple[tuple[TokenWeight, ...], ...], ...]
    effect: Float[Array, "layer head"] | None = None
    """Change of the loss, in nats a token, where the head is set to zero; None where it was not measured."""
    writes: tuple[tuple[HeadWrites, ...], ...] | None = None
    """By head its additions to the scores of words on its strongest rows (`core.analysis.heads.corpus_writes`); None where its attention reaches no score of words, or it was not measured."""

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.strongest), len(self.strongest[0])


def head_corpus(
    model: Model,
    passages: Sequence[Example | str],
    untrained: Model | None = None,
    *,
    controls: int | None = None,
    seed: int = 0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, HeadCorpus]:
    """Read passages and return every head by kind of attention; `untrained` is a copy of the model with random weights, as a control.

    So many `controls` of the passages, evenly spaced (all by default), are read again with their words shuffled, and by the untrained copy. `progress` is called with the
    number of readings done and of all. Passages that the model cannot read are left out. Raises InputError where it can read none.

    >>> import core
    >>> tiny = core.open_model("induction-tiny")
    >>> heads = head_corpus(tiny, ["abcdefghabcdefgh", "hgfedcbahgfedcba"])["causal"]
    >>> row = heads.strongest[1][0][0]  # of an induction head: the key follows the earlier occurrence of the query's token
    >>> heads.shape, row.query - row.key
    ((2, 2), 7)
    """
    examples = [one if isinstance(one, Example) else Example(one) for one in passages]
    again = evenly(examples, len(examples) if controls is None else controls)
    rng = np.random.default_rng(seed)
    readings = [CorpusReading(model, examples)]
    if not are_pictures(model):
        readings.append(CorpusReading(model, [shuffled(one, rng) for one in again], rows=False))
    if untrained is not None:
        readings.append(CorpusReading(untrained, again, rows=False))
    total, done = sum(len(reading.batches) for reading in readings), 0
    for reading in readings:
        for number in range(len(reading.batches)):
            reading.read(number)
            progress(done := done + 1, total)
    names = [SHUFFLED] * (not are_pictures(model)) + [UNTRAINED] * (untrained is not None)
    return readings[0].result(dict(zip(names, readings[1:], strict=True)))


def evenly(items: Sequence[T], n: int) -> list[T]:
    """Return n items, evenly spaced, or all where there are fewer.

    >>> evenly("abcdef", 3)
    ['a', 'c', 'e']
    """
    n = min(n, len(items))
    return [items[place * len(items) // n] for place in range(n)]


def are_pictures(model: Model) -> bool:
    """Return whether a model reads no words: drawings, scenes or sounds, written as a text."""
    return model.spec.reads is not None


def shuffled(example: Example, rng: np.random.Generator) -> Example:
    """Return the same words, or the letters of a text of one word, in a random order; of a pair in both texts."""

    def shuffled_text(text: str) -> str:
        parts = text.split() if len(text.split()) > 1 else list(text)
        return (" " if " " in text.strip() else "").join(
            parts[place] for place in rng.permutation(len(parts))
        )

    return Example(
        shuffled_text(example.text), None if example.target is None else shuffled_text(example.target)
    )


class CorpusReading:
    """The reading of passages by a model, batch by batch: `read` each of `batches`, then ask for the `result`."""

    def __init__(
        self,
        model: Model,
        passages: Sequence[Example],
        *,
        rows: bool = True,
        batch_tokens: int = BATCH_TOKENS,
    ) -> None:
        self.model, self.passages, self.problem = model, passages, ""
        kinds = model.spec.kinds_of(model.config)
        self._tallies = {kind.name: _Tally(kind, rows=rows) for kind in kinds}
        self.batches = _batches(passages, batch_tokens)

    def read(self, number: int) -> None:
        """Run one batch and add it up; passages that the model cannot read are left out."""
        self._read(self.batches[number])

    def _read(self, batch: Sequence[int]) -> None:
        some = [self.passages[number] for number in batch]
        targets = [one.target for one in some] if self.model.spec.has_source else None
        try:
            runs = self.model.run_many([one.text for one in some], targets=targets, keep=KEEP)
        except InputError as error:
            self.problem = self.problem or reason_of(error)
            for number in batch if len(batch) > 1 else ():
                self._read([number])
            return
        for number, run in zip(batch, runs, strict=True):
            for tally in self._tallies.values():
                tally.add(number, run)

    def result(self, controls: Mapping[str, CorpusReading] | None = None) -> dict[str, HeadCorpus]:
        """Return the heads by kind of attention. Raises InputError, with the first reason, where no passage could be read."""
        if not any(tally.measures for tally in self._tallies.values()):
            raise InputError(
                "None of the passages can be read. {problem}"
                if self.problem
                else "None of the passages can be read.",
                "Heads are measured on texts that the model can read.",
                "Give other texts.",
                problem=self.problem,
            )
        others = {name: reading._tallies for name, reading in (controls or {}).items()}
        return {
            kind: tally.result({name: tallies[kind].statistics() for name, tallies in others.items()})
            for kind, tally in self._tallies.items()
            if tally.measures
        }


def _batches(passages: Sequence[Example], batch_tokens: int) -> list[list[int]]:
    """Return the numbers of passages that are run together: those of like length."""
    sizes = [len(one.text) + len(one.target or "") for one in passages]
    found: list[list[int]] = []
    some = [number for number, one in enumerate(passages) if one.text.strip()]
    for number in sorted(some, key=sizes.__getitem__):
        room = batch_tokens * LETTERS // max(1, sizes[number])
        if found and len(found[-1]) < min(BATCH, max(1, room)):
            found[-1].append(number)
        else:
            found.append([number])
    return found


@dataclass
class _Tally:
    """Sums over the passages read so far, of one kind of attention."""

    kind: Kind
    rows: bool
    measures: dict[int, Mapping[str, Array]] = field(default_factory=dict)
    strongest: dict[int, _Strongest] = field(default_factory=dict)
    queries: _TokenSums = field(default_factory=lambda: _TokenSums())
    keys: _TokenSums = field(default_factory=lambda: _TokenSums())

    def add(self, number: int, run: Run) -> None:
        """Add the run of a passage."""
        crosses = not self.kind.one_text and not self.kind.has_learned_queries
        attention = real_rows(run.attention(self.kind.name, writing=crosses))
        w, counts = attention.weights, counted(attention, one_text=self.kind.one_text)
        peaks = np.where(counts, w, -1.0)
        best = peaks.max(-1)
        score = best.max(-1)
        score = np.where(score < 0, np.nan, score)
        self.measures[number] = {**_measures(run, attention, self.kind), STRONGEST_WEIGHT: score}
        if not self.rows or np.isnan(score).all():
            return
        query = best.argmax(-1)
        row = np.take_along_axis(w, query[..., None, None], 2)[:, :, 0]
        key = np.take_along_axis(peaks, query[..., None, None], 2)[:, :, 0].argmax(-1)
        labels = tuple(tuple(_label(name) for name in names) for names in (attention.queries, attention.keys))
        self.strongest[number] = _Strongest(
            score, query.astype(np.int16), key.astype(np.int16), row.astype(np.float16), *labels
        )
        rows = np.asarray(counts.any(-1))
        if not self.kind.has_learned_queries:
            self.queries.add(labels[0], np.where(rows, best, 0.0), rows)
        columns = np.asarray(counts.any(-2))
        self.keys.add(labels[1], np.where(columns, peaks.max(-2), 0.0), columns)

    def statistics(self) -> Statistics:
        """Return the mean and quantiles of each measure over the passages."""
        names = dict.fromkeys(name for one in self.measures.values() for name in one)
        found = {}
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", RuntimeWarning
            )  # of a head without a number the statistics are NaN
            for name in names:
                values = np.stack([one[name] for one in self.measures.values() if name in one])
                if not np.isnan(values).all():
                    parts = [np.nanmean(values, 0)[None], np.nanquantile(values, QUANTILES, 0)]
                    found[name] = np.moveaxis(np.concatenate(parts), 0, -1)
        return found

    def result(self, controls: Mapping[str, Statistics]) -> HeadCorpus:
        """Return the heads over all passages read."""
        statistics = self.statistics()
        layers, heads = next(iter(statistics.values())).shape[:2]
        grid = [[(layer, head) for head in range(heads)] for layer in range(layers)]

        def of_each(function: Callable[[int, int], tuple]) -> tuple:
            return tuple(tuple(function(*place) for place in row) for row in grid)

        ranked = {place: self._ranked(*place) for row in grid for place in row}
        return HeadCorpus(
            len(self.measures),
            statistics,
            controls,
            of_each(lambda layer, head: self._rows(ranked[layer, head][:STRONGEST], layer, head)),
            of_each(lambda layer, head: self._rows(middle_of_tenths(ranked[layer, head]), layer, head)),
            of_each(self.queries.top),
            of_each(self.keys.top),
        )

    def _ranked(self, layer: int, head: int) -> list[int]:
        """Return the passages of a head, the largest score first."""
        scored = [number for number, one in self.strongest.items() if not np.isnan(one.score[layer, head])]
        return sorted(scored, key=lambda number: (-self.strongest[number].score[layer, head], number))

    def _rows(self, passages: Sequence[int], layer: int, head: int) -> tuple[CorpusRow, ...]:
        return tuple(self._row(passage, layer, head) for passage in passages)

    def _row(self, passage: int, layer: int, head: int) -> CorpusRow:
        one = self.strongest[passage]
        query, key = int(one.query[layer, head]), int(one.key[layer, head])
        weights = one.row[layer, head].astype(float)
        around = [key] if not self.kind.one_text else [key, query]
        near = {place for middle in around for place in range(middle - BEFORE, middle + AFTER + 1)}
        near |= {*np.argsort(-weights, kind="stable")[:MORE].tolist()}
        shown = sorted(place for place in near if 0 <= place < len(weights))
        context = () if self.kind.one_text else one.queries[max(0, query - BEFORE) : query + 1]
        return CorpusRow(
            passage,
            round(float(one.score[layer, head]), 3),
            query,
            key,
            one.queries[query],
            tuple(shown),
            tuple(one.keys[place] for place in shown),
            tuple(round(float(weights[place]), 3) for place in shown),
            context,
        )


class _Strongest(NamedTuple):
    """The strongest row of every head in one passage."""

    score: Float[Array, "layer head"]
    query: Array
    key: Array
    row: Float[Array, "layer head key"]
    queries: tuple[str, ...]
    keys: tuple[str, ...]


class _TokenSums:
    """Sums of weights and counts by token, of all heads of a kind."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {}
        self._sums: Array = np.zeros((0, 0, 0), dtype=np.float32)
        self._counts: Array = np.zeros((0, 0, 0), dtype=np.float32)

    def add(self, tokens: Sequence[str], weights: Array, counts: Array) -> None:
        """Add the weights and counts (layer, head, token) of the tokens of a passage."""
        names = dict.fromkeys(tokens)
        for name in names:
            self._index.setdefault(name, len(self._index))
        if self._sums.shape[-1] < len(self._index):
            shape = (*weights.shape[:2], max(256, 2 * len(self._index)))
            self._sums, self._counts = (_resized(table, shape) for table in (self._sums, self._counts))
        places = {name: place for place, name in enumerate(names)}
        one_hot = np.zeros((len(tokens), len(names)), dtype=np.float32)
        one_hot[np.arange(len(tokens)), [places[token] for token in tokens]] = 1
        here = [self._index[name] for name in names]
        self._sums[..., here] += weights.astype(np.float32) @ one_hot
        self._counts[..., here] += np.broadcast_to(counts, weights.shape).astype(np.float32) @ one_hot

    def top(self, layer: int, head: int) -> tuple[TokenWeight, ...]:
        """Return the tokens with the largest mean weight of a head."""
        if not self._index:
            return ()
        counts, sums = (
            self._counts[layer, head, : len(self._index)],
            self._sums[layer, head, : len(self._index)],
        )
        mean = np.where(counts >= MIN_COUNT, sums / np.maximum(counts, 1), -1.0)
        names = list(self._index)
        return tuple(
            TokenWeight(names[place], round(float(mean[place]), 3), int(counts[place]))
            for place in np.argsort(-mean, kind="stable")[:TOP_TOKENS]
            if mean[place] >= 0
        )


def _resized(table: Array, shape: tuple[int, ...]) -> Array:
    found = np.zeros(shape, dtype=np.float32)
    found[: table.shape[0], : table.shape[1], : table.shape[2]] = table
    return found


def real_rows(attention: Attention) -> Attention:
    """Return the attention without the rows of END and padding."""
    n = len(attention.rows)
    return replace(
        attention,
        weights=attention.weights[..., :n, :],
        allowed=attention.allowed[..., :n, :],
        queries=attention.queries[:n],
        n_rows=None,
    )


def counted(attention: Attention, *, one_text: bool) -> Bool[Array, "layer head query key"]:
    """Return the cells whose weight counts for the score of a passage; see the beginning of this module."""
    n_queries, n_keys = attention.weights.shape[-2:]
    cells = np.ones((n_queries, n_keys), dtype=bool)
    queries, keys = (
        [place for place in places if place < n]
        for places, n in zip(attention.special_positions, (n_queries, n_keys), strict=True)
    )
    cells[queries, :] = False
    cells[:, keys] = False
    if one_text:
        cells[:, 0] = False
        np.fill_diagonal(cells, False)
    found = attention.allowed & cells
    return found & (found.sum(-1, keepdims=True) >= MIN_KEYS)


def middle_of_tenths(ranked: Sequence[int]) -> list[int]:
    """Return the middle of each tenth of what is ranked, the highest first; of fewer than ten each one.

    >>> middle_of_tenths(range(100))
    [5, 15, 25, 35, 45, 55, 65, 75, 85, 95]
    """
    n = min(DECILES, len(ranked))
    return [ranked[int((tenth + 0.5) * len(ranked) / n)] for tenth in range(n)]


def _measures(run: Run, attention: Attention, kind: Kind) -> Mapping[str, Array]:
    """Return the measures of each head over the tokens of a passage."""
    if run.side.values is not None and are_patches(run.tokens):
        return patch_habits.measures(run, attention)[0]
    found = dict(habits.measures(attention, learned_query=not kind.one_text))
    if kind.one_text:
        found[DISTANCE] = mean_distance(attention.weights)
    return found


def _label(name: str) -> str:
    return name if len(name) <= LABEL else f"{name[: LABEL - 1]}…"
