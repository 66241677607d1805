"""The texts of the page Many texts and what a model, or two, make of them."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

import core.serving.engine
from core.analysis.heads.habits import HABIT_NAMES
from core.data.text_lines import TextLine
from core.data.texts import texts
from core.errors import InputError, reason_of
from core.model import Model
from core.reading import data_set_jobs
from core.reading.data_set_jobs import DataSetProgress
from core.scoring.data_set import DIVERGENCE, DataSetReading, DataSetResults, digest
from viz.labels import head_name
from viz.languages import ENGLISH, _, mark, using
from viz.memo import remembered
from viz.shell.selection import Selection
from viz.widgets import engine_client, export
from viz.workspace.shared.toy_models import own_texts

NAN = float("nan")
PER_GROUP = 3
"""Of each group of our sentences so many are read."""
GROUPS = {
    "previous-word": mark("plain sentence"),
    "shuffled": mark("words shuffled"),
    "repetitions": mark("repetition"),
    "coreference": mark("pronoun"),
    "agreement": mark("subject and verb"),
    "quotes": mark("quotation"),
    "questions": mark("question"),
    "lists": mark("list"),
}
LOSS, TOKENS, ENTROPY, DISAGREEMENT, HEAD = "loss", "tokens", "entropy", "disagreement", "head"
NUMBERS = {
    LOSS: mark("loss"),
    DISAGREEMENT: mark("disagreement"),
    ENTROPY: mark("entropy, bits"),
    TOKENS: mark("tokens"),
}
"""The columns of the numbers of texts."""
SESSION_TEXTS = "many_texts.texts"
"""The visitor's own texts in the session."""


@dataclass(frozen=True, eq=False)
class TextSet:
    """The texts that a page measures: ready-made ones, or those given `from_visitor`; so many are `beyond` the limit and left out."""

    name: str
    lines: tuple[TextLine, ...]
    from_visitor: bool = False
    beyond: int = 0

    @property
    def name_on_screen(self) -> str:
        """Return the name in the visitor's language, where it is one of ours."""
        return self.name if self.from_visitor else _(self.name, n=len(GROUPS))

    @functools.cached_property
    def digest(self) -> str:
        """Return a name for the texts: the same for the same texts."""
        return digest(self.lines)


def current_texts(model: Model) -> TextSet:
    """Return the texts that are measured: those that the visitor gave, else ready-made ones that mean something to the model."""
    return st.session_state.get(SESSION_TEXTS) or ready_texts(model.name, task_of(model))


def task_of(model: Model) -> str:
    """Return which of the ready-made texts a model reads."""
    if model.spec.sentences:
        return "genre"
    return "pairs" if model.spec.has_source and model.head is None else "battery"


@functools.lru_cache(64)
def ready_texts(model: str, task: str) -> TextSet:
    """Return ready-made texts: those of a toy's own task, passages with their genre, sentences with their translation, or sentences of eight kinds."""
    if rows := own_texts(model):
        lines = (TextLine(n, row.text, target=row.target or "") for n, row in enumerate(rows, 1))
        return TextSet(mark("texts of its own task"), tuple(lines))
    if task == "genre":
        books = [row for row in texts("presets") if row.kind == "genre"]
        return TextSet(
            mark("passages"),
            tuple(TextLine(n, row.text, target=row.second) for n, row in enumerate(books, 1)),
        )
    if task == "pairs":
        pairs = texts("heads_en-es")
        return TextSet(
            mark("sentences with their translation"),
            tuple(TextLine(n, row.text, target=row.target or "") for n, row in enumerate(pairs, 1)),
        )
    by_group: dict[str, list[str]] = defaultdict(list)
    for row in texts("battery"):
        by_group[row.group].append(row.text)
    chosen = [(group, text) for group in GROUPS for text in by_group[group][:PER_GROUP]]
    return TextSet(
        mark("sentences of {n} kinds"),
        tuple(TextLine(n, text, group=GROUPS[group]) for n, (group, text) in enumerate(chosen, 1)),
    )


def results(
    model: Model, other: Model | None, text_set: TextSet, *, wait: bool = False
) -> DataSetResults | DataSetProgress:
    """Return what a model, and another, make of the texts, or how far the reading is; it is begun where that was not done yet.

    What takes a moment is computed here, anything longer in a thread, unless the page should `wait`.
    """
    key, lines = _key(model, other, text_set)
    if (stored := core.serving.engine.default().cached(key)) is not None:
        return stored
    jobs, job = data_set_jobs.default(), _job(key, text_set)
    standing = jobs.progress(job)
    if standing is not None:
        return standing.results or standing
    reading = DataSetReading(model, lines, other)
    if not wait and data_set_jobs.work(reading) > data_set_jobs.AT_ONCE:
        jobs.begin(job, reading)
        return jobs.progress(job) or DataSetProgress()
    try:
        with engine_client.many() as ask:
            return data_set_jobs.measured(reading, ask) or DataSetProgress()
    except InputError as error:
        return DataSetProgress(problem=reason_of(error))


@dataclass(frozen=True)
class SortKey:
    """The number by which texts are sorted; for `HEAD` with the measure of a head."""

    by: str = LOSS
    kind: str = ""
    measure: str = ""
    layer: int = 0
    head: int = 0

    def values(self, results: DataSetResults) -> np.ndarray:
        """Return the number of each text."""
        if self.by == HEAD:
            scores = results.scores.get(self.kind, {}).get(self.measure)
            return (
                np.full(len(results.lines), np.nan)
                if scores is None
                else scores[:, self.layer, self.head].astype(float)
            )
        if self.by == TOKENS:
            return np.where(results.tokens > 0, results.tokens.astype(float), np.nan)
        return {LOSS: results.loss, ENTROPY: results.entropy, DISAGREEMENT: results.disagreement}[self.by]

    def label(self, results: DataSetResults) -> str:
        """Return the name of the number with its unit."""
        if self.by == HEAD:
            return f"{head_name(self.layer, self.head)}, {_(HABIT_NAMES[self.measure])}"
        if self.by == DISAGREEMENT:
            return (
                _("JS divergence, bits")
                if results.disagrees_by == DIVERGENCE
                else _("difference of losses, nats per character")
            )
        return {
            LOSS: _("loss, {unit}", unit=loss_unit(results)),
            TOKENS: _("tokens"),
            ENTROPY: _("entropy of its classes, bits"),
        }[self.by]


def loss_unit(results: DataSetResults) -> str:
    """Return the unit of a loss: that of a classifier is of the whole text."""
    return "nats" if any(results.predicted) else _("nats per token")


def group_name(group: str) -> str:
    """Return the name of a group on screen: in the visitor's language where the texts are ours."""
    return group if SESSION_TEXTS in st.session_state else _(group)


@dataclass(frozen=True, eq=False)
class TextView:
    """The text in view: its line, and the results in which it is, at a `place`: those of the data set, or of itself alone (line 0); None where it cannot be measured."""

    model: Model
    results: DataSetResults
    key: SortKey
    line: TextLine
    line_results: DataSetResults | None
    place: int
    is_cut: bool = False

    @property
    def is_in_set(self) -> bool:
        """Return whether the text is one of the data set."""
        return self.line_results is self.results

    @property
    def value(self) -> float:
        """Return the number by which texts are sorted, of this text."""
        return NAN if self.line_results is None else float(self.key.values(self.line_results)[self.place])


def view_text(
    model: Model,
    other: Model | None,
    results_of_set: DataSetResults,
    text_set: TextSet,
    key: SortKey,
    selection: Selection,
) -> TextView:
    """Return the text in the box: the one of the data set that is equal to it, else by itself."""
    for place, line in enumerate(results_of_set.lines):
        if selection.text in (line.text, text_set.lines[place].text):
            cut = not line.error and len(line.text) < len(text_set.lines[place].text.strip())
            return TextView(model, results_of_set, key, line, results_of_set, place, cut)
    writes = model.spec.has_source and model.head is None
    line = TextLine(0, selection.text, target=(selection.target or "") if writes else "")
    alone = results(model, other, TextSet("text in the box", (line,)), wait=True)
    is_known = isinstance(alone, DataSetResults)
    line = alone.lines[0] if is_known else line
    return TextView(
        model,
        results_of_set,
        key,
        line,
        alone if is_known else None,
        0,
        len(line.text) < len(selection.text.strip()),
    )


def forget(model: Model, other: Model | None, text_set: TextSet) -> None:
    """Discard a reading, so that it is begun again."""
    data_set_jobs.default().forget(_job(_key(model, other, text_set)[0], text_set))


def _key(
    model: Model, other: Model | None, text_set: TextSet
) -> tuple[tuple[str, ...], tuple[TextLine, ...]]:
    """Return the key of the results, and the texts as far as they are read."""

    def fitted() -> tuple[tuple[TextLine, ...], str]:
        lines = tuple(data_set_jobs.fit(model, text_set.lines))
        return lines, digest(lines)

    lines, name = remembered(model, ("many_texts", text_set.digest), fitted)
    return data_set_jobs.key_of(model, other, name), lines


def _job(key: tuple[str, ...], text_set: TextSet) -> tuple[str, ...]:
    return (*key, engine_client.session() if text_set.from_visitor else "")


def n_cut(model: Model, text_set: TextSet) -> int:
    """Return the number of texts of which only the beginning is read."""
    lines = _key(model, None, text_set)[1]
    pairs = zip(lines, text_set.lines, strict=True)
    return sum(not line.error and len(line.text) < len(typed.text.strip()) for line, typed in pairs)


def sort_names(results: DataSetResults) -> dict[str, str]:
    """Return the numbers by which these results can be sorted, with their names on screen."""
    names = {
        LOSS: _("Loss") if np.isfinite(results.loss).any() else "",
        DISAGREEMENT: _("Disagreement") if np.isfinite(results.disagreement).any() else "",
        ENTROPY: _("Entropy of its classes") if np.isfinite(results.entropy).any() else "",
        HEAD: _("One head") if results.scores else "",
        TOKENS: _("Length"),
    }
    return {by: name for by, name in names.items() if name}


def order_of(values: np.ndarray, *, highest_first: bool) -> list[int]:
    """Return the places of texts in the order of their numbers; those without one come last.

    >>> order_of(np.array([1.0, np.nan, 3.0]), highest_first=True), order_of(np.array([1.0, np.nan, 3.0]), highest_first=False)
    ([2, 0, 1], [0, 2, 1])
    """
    keys = np.where(np.isnan(values), np.inf, -values if highest_first else values)
    return [int(place) for place in np.argsort(keys, kind="stable")]


def table(
    results: DataSetResults, key: SortKey, order: Sequence[int], *, all_columns: bool = False
) -> pd.DataFrame:
    """Return a row for each text with its numbers, sorted; `all_columns` with all columns, as they are saved."""
    numbers = _numbers(results)
    first = key.label(results) if key.by == HEAD else _(NUMBERS[key.by])
    columns: dict[str, Sequence[object] | np.ndarray] = {_("line"): [line.line for line in results.lines]}
    columns[first] = key.values(results)
    columns |= (
        {_("group"): [group_name(line.group) for line in results.lines]}
        if any(line.group for line in results.lines)
        else {}
    )
    columns[_("text")] = [line.text for line in results.lines]
    columns |= {name: values for name, values in numbers.items() if name != first}
    columns[_("tokens")] = results.tokens
    for name, words in (
        (_("target"), [line.target for line in results.lines]),
        (_("output"), results.predicted),
        (_("note"), results.notes),
    ):
        if any(words):
            columns[name] = words
    if all_columns:
        for kind, tables in results.scores.items():
            prefix = f"{kind} " if len(results.scores) > 1 else ""
            for measure, scores in tables.items():
                for layer, head in np.ndindex(scores.shape[1:]):
                    columns[f"{prefix}{head_name(layer, head)} {_(HABIT_NAMES[measure])}"] = scores[
                        :, layer, head
                    ]
    return pd.DataFrame(columns).iloc[list(order)]


def csv(results: DataSetResults, key: SortKey, order: Sequence[int]) -> bytes:
    """Return all numbers of all texts as a CSV file, in the order of the list, its columns named in English."""
    with using(ENGLISH.code):
        return export.table_csv(table(results, key, order, all_columns=True)).encode("utf-8")


def _numbers(results: DataSetResults) -> Mapping[str, np.ndarray]:
    """Return the columns of numbers that are not all missing."""
    numbers = {
        _(NUMBERS[LOSS]): results.loss,
        _("loss of {model}", model=results.other): results.other_loss,
        _(NUMBERS[DISAGREEMENT]): results.disagreement,
        _(NUMBERS[ENTROPY]): results.entropy,
    }
    return {name: values for name, values in numbers.items() if np.isfinite(values).any()}


def loss_kind(model: Model) -> str:
    """Return what the loss of this model is, in a sentence; "" for one without."""
    if model.can("fill_blanks"):
        return _(
            "Pseudo-loss: each token is masked in turn, and the loss is the mean of -ln p of the masked token (Salazar et al. 2020). It is not the probability of the text."
        )
    if model.can("score_words"):
        if model.spec.has_source:
            return _(
                "Loss: the mean of -ln p of the tokens of the translation, where one is given; else of what the model writes itself, which it always finds probable."
            )
        return _("Loss: the mean of -ln p of each token, given the tokens before it.")
    if model.is_classifier:
        return _(
            "Loss: -ln p of the class that is given; without one there is no loss, and the entropy of its classes shows how sure the model is."
        )
    return ""
