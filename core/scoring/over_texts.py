"""A model over many texts: a measure of each, in batches of texts of like length, as `core.over`."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from itertools import islice, zip_longest
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import torch

from core.analysis.attribution.importance import hidden_token_losses, token_losses
from core.analysis.heads.habits import HABIT_NAMES, RARE
from core.analysis.heads.head_survey import KEEP, score_run
from core.data.text_lines import TextLine, read_texts
from core.errors import InputError
from core.model import KEEP_LIMIT, Model
from core.run import Run
from core.scoring.progress import Silent
from core.scoring.progress import progress as progress_bar
from core.trace import Edit

Array = np.ndarray
Number = float | Array
Value = Number | dict[str, Number]
Measure = Callable[[Run], Any]
"""A function of a run that returns a number, an array, or a dict of them."""

WINDOW = 512
"""Texts that are read ahead and sorted by their length."""
MOST_TEXTS, MOST_TOKENS = 64, 2048
"""Texts of one batch, and its tokens with the padding."""
FIRST_TOKENS = 256
"""Tokens of the first batch: what it records tells how much memory the next ones need."""
ROOM = KEEP_LIMIT // 4
"""Bytes that the recorded values of one batch should have at most."""
LOSS = "loss"
HABITS = {name: word for name, word in HABIT_NAMES.items() if name not in (*RARE, "aligner", "mixed")}
"""Measures of heads that need nothing but a text; the others are taken where words are linked by hand."""
FAILURES = (ValueError, ArithmeticError, IndexError)
"""Errors of a measure that are those of one text, InputError among them; any other is a mistake in its code and ends the reading."""


@dataclass(frozen=True)
class TextResult:
    """The value of the measure on one text: a number, an array or a dict of them; or None and the reason. `line` counts from 1."""

    line: int
    text: str
    value: Any
    error: str = ""


@dataclass(frozen=True, repr=False)
class TextResults:
    """The results of a model over texts, in the order of the texts: `results[0]`, `len(results)`, `for result in results`.

    `head_shape` (layers, heads) tells arrays of heads from others: their numbers are called L0.H0.
    """

    model: str
    measure: str
    rows: tuple[TextResult, ...]
    head_shape: tuple[int, int] = field(default=(0, 0))

    def __repr__(self) -> str:
        failed = len(self.errors)
        parts = [f"Results: {self.model}", self.measure, f"{len(self)} texts"]
        mean = self.mean
        parts += [f"{failed} without a value"] if failed else []
        parts += [f"mean {mean:.4g}"] if isinstance(mean, float) else []
        return ", ".join(parts)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[TextResult]:
        return iter(self.rows)

    def __getitem__(self, place: int) -> TextResult:
        return self.rows[place]

    @property
    def values(self) -> list[Any]:
        """Return the value of each text, None where there is none."""
        return [row.value for row in self.rows]

    @property
    def errors(self) -> dict[int, str]:
        """Return why a text has no value, by its line."""
        return {row.line: row.error for row in self.rows if row.error}

    @property
    def mean(self) -> Any:
        """Return the mean over the texts whose value is a number everywhere; of a dict the mean of each entry.

        None (in a dict: no entry) where the shapes differ from text to text, NaN where no text has a number.
        """
        values = [value for value in self.values if value is not None]
        if not any(isinstance(value, dict) for value in values):
            return _mean(values)
        names = dict.fromkeys(name for value in values for name in value)
        means = {name: _mean([value[name] for value in values if name in value]) for name in names}
        return {name: mean for name, mean in means.items() if mean is not None}

    def table(self) -> list[dict[str, Any]]:
        """Return a row for each text, as a dict: its line, the text, each number of its value by name, and the error.

        A number per head is named L0.H0, one of another array by its indices; numbers in a dict have the name of their entry in front.
        """
        cells = [self._cells(row.value) for row in self.rows]
        names = dict.fromkeys(name for row in cells for name in row)
        return [
            {
                "line": row.line,
                "text": row.text,
                **{name: own.get(name) for name in names},
                "error": row.error,
            }
            for row, own in zip(self.rows, cells, strict=True)
        ]

    def csv(self) -> str:
        """Return `table()` as the text of a CSV file."""
        rows, out = self.table(), io.StringIO()
        writer = csv.DictWriter(out, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return out.getvalue()

    def sorted_by(self, column: str | None = None, *, largest_first: bool = True) -> TextResults:
        """Return the same results sorted by a column of `table()`, such as "loss" or "L2.H1"; by the mean of its numbers where none is named.

        Texts without a number there come last. Raises InputError for a column that there is not.
        """
        cells = [self._cells(row.value) for row in self.rows]
        names = list(dict.fromkeys(name for row in cells for name in row))
        if column is not None and column not in names:
            some = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
            raise InputError(
                f"There is no column '{column}'.", f"The columns are {some}.", "Name one of them."
            )
        keys = [_mean(list(own.values())) if column is None else own.get(column) for own in cells]
        numbers = [np.nan if key is None else float(key) for key in keys]
        order = np.argsort([-key if largest_first else key for key in numbers], kind="stable")
        return TextResults(
            self.model, self.measure, tuple(self.rows[place] for place in order), self.head_shape
        )

    def disagreement(self, other: TextResults) -> TextResults:
        """Return the mean absolute difference of two results for each text; of dicts for each entry that both have.

        Raises InputError for results over other texts, and where no text has values of one shape in both.
        """
        pairs = list(zip_longest(self.rows, other.rows))
        if any(a is None or b is None or (a.line, a.text) != (b.line, b.text) for a, b in pairs):
            rule = "Two results are compared text by text."
            raise InputError(
                "The results are over different texts.", rule, "Measure both over one list, unsorted."
            )
        rows = [
            _measured(TextLine(a.line, a.text, a.error or b.error), _difference, a.value, b.value)
            for a, b in pairs
        ]
        return _checked(
            TextResults(f"{self.model} and {other.model}", f"disagreement in {self.measure}", tuple(rows))
        )

    def _cells(self, value: Any) -> dict[str, float]:
        """Return the numbers of a value by their names."""
        if isinstance(value, dict):
            parts = {name: self._cells(part) for name, part in value.items()}
            return {
                f"{name} {cell}" if isinstance(value[name], Array) else name: number
                for name, part in parts.items()
                for cell, number in part.items()
            }
        if not isinstance(value, Array):
            return {} if value is None else {self.measure: value}
        name = "L{}.H{}" if value.shape == self.head_shape else ", ".join(["{}"] * value.ndim)
        return {name.format(*place): float(number) for place, number in np.ndenumerate(value)}


def over(
    model: Model,
    texts: str | Path | Iterable[str],
    measure: str | Sequence[str] | Measure = LOSS,
    *,
    column: str | None = None,
    encoding: str = "utf-8",
    keep: str | Sequence[str] | None = None,
    edits: Sequence[Edit] = (),
    progress: Callable[[int, int | None], None] | bool = True,
) -> TextResults:
    """Run a model over many texts and return the measure of each.

    `texts` is a list, an iterator, or the path of a file with one text per line; of .csv and .tsv a `column`. They are
    read in parts and run in batches of like length; a run is dropped once it is measured.

    `measure` is a function of a run that returns a number, an array or a dict of them; or a name, or several names. "loss" is
    the mean -log p per token in nats: of a masked language model with each token hidden in turn, of a translator that of what
    it writes itself. Any other name is a measure of each head over words, as in `core.analysis.survey_heads`: "previous
    token", "induction"; of a model with several kinds of attention there is one array per kind. `edits` are those of
    `Model.run`, as is `keep` for a function. `progress` is called with the number of texts done and of all (None if
    unknown); True shows a line in a terminal or notebook.

    A text that cannot be read, or is too long, has an error in place of a value. Raises InputError where no text has a value.

    >>> import core
    >>> tiny = core.open_model("induction-tiny")
    >>> results = core.over(tiny, ["abcabc", "aabb", ""], ["loss", "previous token"])
    >>> results[0].value["previous token"].shape, list(results.errors)
    ((2, 2), [3])
    """
    if not isinstance(model, Model):
        rule = "core.over(model, texts, measure) begins with a model."
        raise InputError(
            f"The model is given as {type(model).__name__}.", rule, 'Open it: core.open_model("gpt-mini").'
        )
    name, function, paths = _measure_of(model, measure, keep, edits)
    batches = TextBatches(model, paths, edits)
    total = len(texts) if isinstance(texts, Sized) and not isinstance(texts, str) else None
    lines, rows = read_texts(texts, column=column, encoding=encoding), []
    with progress_bar(total, "text") if progress is True else Silent() as bar:
        while window := list(islice(lines, WINDOW)):
            first = len(rows)
            for row in batches.results(window, function):
                rows.append(row)
                bar.update(1)
                if callable(progress):
                    progress(len(rows), total)
            rows[first:] = sorted(rows[first:], key=lambda row: row.line)
    if not rows:
        raise InputError("There is no text.", "A measure needs at least one.", "Give a list of texts.")
    shape = (model.config.n_layers, model.config.n_heads)
    return _checked(TextResults(model.name, name, tuple(rows), shape))


def _checked(results: TextResults) -> TextResults:
    """Return the results. Raises InputError, with the first reason, where no text has a value."""
    if len(results.errors) == len(results):
        row = results[0]
        wrong = f"None of the texts has a value. Line {row.line}: {row.error}"
        raise InputError(wrong, "One at least must be read and measured.", "Mend the texts, or the measure.")
    return results


@dataclass
class TextBatches:
    """The runs of a model over texts, whose batches grow to the memory that their recorded values may need."""

    model: Model
    keep: str | Sequence[str] | None = None
    edits: Sequence[Edit] = ()
    tokens: int = FIRST_TOKENS

    def results(self, window: Sequence[TextLine], measure: Measure) -> Iterator[TextResult]:
        """Yield the result of each text, the shortest first."""
        for line, run in self.runs(window):
            result = _measured(line, measure, run)
            del run  # freed once it is measured
            yield result

    def runs(self, window: Sequence[TextLine]) -> Iterator[tuple[TextLine, Run | None]]:
        """Yield each text with its run, the shortest first; with an error and None where it cannot be read."""
        pending: list[tuple[int, TextLine]] = []
        for line in window:
            try:
                n = 0 if line.error else len(self.model.reader.encode(line.text).ids)
            except InputError as error:
                line, n = replace(line, error=str(error)), 0
            if line.error:
                yield line, None
            else:
                pending.append((n, line))
        pending.sort(key=lambda pair: pair[0])
        first = 0
        while first < len(pending):
            last = first + 1
            while (
                last < min(len(pending), first + MOST_TEXTS)
                and (last + 1 - first) * pending[last][0] <= self.tokens
            ):
                last += 1
            yield from self._batch([line for _, line in pending[first:last]])
            first = last

    def _batch(self, lines: list[TextLine]) -> Iterator[tuple[TextLine, Run | None]]:
        """Yield the runs of texts that are read together; in halves where one of them, or the memory, does not allow it."""
        writes = self.model.spec.has_source and self.model.head is None
        try:
            runs = self.model.run_many(
                [line.text for line in lines],
                targets=[line.target or None for line in lines] if writes else None,
                keep=self.keep,
                edits=self.edits,
            )
        except InputError as error:
            if len(lines) == 1:
                yield replace(lines[0], error=str(error)), None
                return
            for half in (lines[: len(lines) // 2], lines[len(lines) // 2 :]):
                yield from self._batch(half)
            return
        n_tokens = len(runs) * max(len((run.source or run.side).ids) for run in runs)
        self.tokens = min(MOST_TOKENS, ROOM * n_tokens // max(1, runs[0].trace.nbytes))
        runs.reverse()
        for line in lines:
            yield line, runs.pop()  # so that a run is freed once it is measured


def _measured(line: TextLine, measure: Callable[..., Any], *arguments: Any) -> TextResult:
    """Return the result of a measure, or the reason that it gives."""
    if line.error:
        return TextResult(line.line, line.text, None, line.error)
    try:
        value = measure(*arguments)
    except FAILURES as error:
        name = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
        return TextResult(line.line, line.text, None, f"{name}{error}")
    return TextResult(line.line, line.text, _value(value))


def _value(value: Any) -> Value:
    """Return a copy of what a measure returned, so that it holds no run. Raises InputError for anything but numbers."""
    if isinstance(value, Mapping):
        return {str(name): _number(part) for name, part in value.items()}
    return _number(value)


def _number(value: Any) -> Number:
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().double().numpy()
    if isinstance(value, Array | np.generic | Real | list | tuple):
        try:
            array = np.array(value)
        except ValueError:
            array = np.array(None)
        if array.dtype.kind in "biuf":
            return array if array.ndim else float(array)
    raise InputError(
        f"The measure returned {type(value).__name__}.",
        "A measure of a run returns a number, an array of numbers, or a dict of them.",
        'Return run.attention("causal").weights, for example.',
    )


def _mean(values: Sequence[Any]) -> Any:
    """Return the mean of numbers or arrays of one shape without those that have a NaN; None for arrays of several shapes."""
    arrays = [np.asarray(value, dtype=np.float64) for value in values]
    if len({array.shape for array in arrays}) != 1:
        return None
    whole = [array for array in arrays if not np.isnan(array).any()]
    mean = np.mean(whole, axis=0) if whole else np.full(arrays[0].shape, np.nan)
    return mean if mean.ndim else float(mean)


def _difference(one: Any, other: Any) -> Any:
    """Return the mean absolute difference of two values. Raises InputError for values of different shapes."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() & other.keys():
        return {name: _difference(one[name], other[name]) for name in one if name in other}
    shapes = ["a dict" if isinstance(value, dict) else f"shape {np.shape(value)}" for value in (one, other)]
    if isinstance(one, dict) or isinstance(other, dict) or shapes[0] != shapes[1]:
        raise InputError(
            f"The values are {shapes[0]} and {shapes[1]}.",
            "Numbers are subtracted at the same index.",
            "Choose a measure of one shape in both models, such as loss.",
        )
    return float(np.abs(np.subtract(one, other, dtype=np.float64)).mean())


def _measure_of(
    model: Model,
    measure: str | Sequence[str] | Measure,
    keep: str | Sequence[str] | None,
    edits: Sequence[Edit],
) -> tuple[str, Measure, str | Sequence[str] | None]:
    """Return the name of a measure, its function, and the paths that it needs: of a function those to `keep`. Raises InputError for a name that is none."""
    if callable(measure):
        name = getattr(measure, "__name__", "value")
        return ("value" if name == "<lambda>" else name), measure, keep
    names = [measure] if isinstance(measure, str) else list(measure)
    habits = {name: _habit(name) for name in names if name != LOSS}
    if not names:
        raise InputError("No measure is named.", "A list names at least one.", f'Name one, such as "{LOSS}".')
    if LOSS in names and not model.can("score_words"):
        rule = f"A loss is that of words that a model predicts; {model.lacks('score_words')}"
        raise InputError(f"{model.name} has no loss.", rule, "Name a measure of its heads.")
    if habits and not model.can("attend"):
        rule = f"Any measure but the loss is one of heads; {model.lacks('attend')}"
        raise InputError(f"{model.name} has no heads.", rule, "Measure its loss.")
    kinds = model.spec.kinds_of(model.config)

    def measure_by_name(run: Run) -> Any:
        results: dict[str, Number] = {}
        scores = score_run(run, kinds) if habits else {}
        for name in names:
            if name == LOSS:
                results[name] = float(text_losses(run, edits).mean())
                continue
            own = {kind: each[habits[name]] for kind, (each, _) in scores.items() if habits[name] in each}
            if not own:
                rule = f"It has {', '.join(dict.fromkeys(name for each, _ in scores.values() for name in each))}."
                raise InputError(
                    f"{model.name} has no measure '{name}' on this text.", rule, "Name one of them."
                )
            results |= {name if len(own) == 1 else f"{kind} {name}": score for kind, score in own.items()}
        return results if len(results) > 1 or not isinstance(measure, str) else next(iter(results.values()))

    return ", ".join(names), measure_by_name, KEEP if habits else ()


def text_losses(run: Run, edits: Sequence[Edit] = ()) -> Array:
    """Return -log p, in nats, of each token of a text: of a masked language model with each token hidden in turn, of a translator those of what it writes."""
    return hidden_token_losses(run, edits) if run.model.can("fill_blanks") else token_losses(run)


def _habit(name: str) -> str:
    """Return the measure of heads of a name: its own, or its words on screen. Raises InputError for one that is none."""
    for habit, words in HABITS.items():
        if _plain(name) in (habit, _plain(words), *(_plain(part) for part in words.rstrip(")").split(" ("))):
            return habit
    rule = f"There are {LOSS}, {', '.join(HABITS.values())}; any other is a function of a run."
    raise InputError(f"There is no measure '{name}'.", rule, "Name one of these, or give a function.")


def _plain(name: str) -> str:
    return name.lower().replace("token", "word").replace("-", " ").removesuffix(" head").strip()
