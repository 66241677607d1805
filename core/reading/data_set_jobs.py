"""The readings of data sets: at once where that is a moment's work, else in a thread that asks the engine step by step, so that no page waits.

What a step returns is kept by the engine under the texts themselves, so that two visitors with one file, or one who comes back, wait once.
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import core.serving.engine
from core.data.text_lines import TextLine
from core.errors import InputError, reason_of
from core.model import Model
from core.reading import bounds
from core.reading.surveys import BREATH, COST
from core.scoring.data_set import DataSetReading, DataSetResults, digest
from core.serving.scheduler import Busy

log = logging.getLogger(__name__)
TEXTS, TOKENS = 500, 64
"""Texts that are read, and tokens of each."""
LETTERS = 2_000
"""Of a longer text the rest is not even split into tokens."""
AT_ONCE = bounds.WORK / 8
"""Tokens times weights that a page computes itself; beyond it, a thread does."""
VISITORS = 32
"""Visitors whose results are remembered."""
Ask = Callable[[Hashable, Callable[[], Any], float], Any]
"""A function that computes through the engine, as `Engine.submit`."""


@dataclass(frozen=True)
class DataSetProgress:
    """The state of a reading: steps done of all, then the results, or the error that ended it."""

    done: int = 0
    total: int = 0
    results: DataSetResults | None = None
    problem: str = ""

    @property
    def over(self) -> bool:
        """Return whether the reading has ended, with success or an error."""
        return bool(self.results or self.problem)


def fit(model: Model, lines: Sequence[TextLine]) -> list[TextLine]:
    """Return the texts as far as they are read: the first `TOKENS` tokens of a long one; one whose translation belongs to all of it has an error instead.

    >>> import core
    >>> tiny = core.open_model("induction-tiny")
    >>> [len(line.text) for line in fit(tiny, [TextLine(1, "ab"), TextLine(2, "ab" * 40)])]
    [2, 64]
    """
    most = min(TOKENS, bounds.token_limit(model))
    return [line if line.error else _fitted(model, line, most) for line in lines]


def _fitted(model: Model, line: TextLine, most: int) -> TextLine:
    text = line.text.strip()
    try:
        part = bounds.slice_tokens(model, text[:LETTERS], 0, most)
    except InputError as error:
        return replace(line, text=text[:LETTERS], error=reason_of(error))
    if not part or len(part.rstrip()) >= len(text):
        return replace(line, text=text[:LETTERS])
    if line.target and model.spec.has_source:
        reason = reason_of(
            InputError(
                "The text has more than {most} tokens.",
                "A text with its translation is read whole.",
                "Split it, and its translation, into sentences.",
                most=most,
            )
        )
        return replace(line, text=text[:LETTERS], error=reason)
    return replace(line, text=part)


def work(reading: DataSetReading) -> float:
    """Return the tokens times weights of a reading: of a masked language model each text once per token."""
    total = 0.0
    for model in filter(None, (reading.model, reading.other)):
        again = model.can("fill_blanks")
        lengths = [len(line.text) / 4 + 4 for line in reading.lines if not line.error]
        total += model.n_parameters * sum(n * (n if again else 1) for n in lengths)
    return total


def key_of(model: Model, other: Model | None, name: str) -> tuple[str, ...]:
    """Return the key of the engine under which the results of texts are kept; `name` is their digest."""
    return ("data_set", model.name, other.name if other else "", name)


def steps(reading: DataSetReading) -> list[tuple[Hashable, Callable[[], Any], float]]:
    """Return the key, the function and the cost of each step, as the engine takes them."""
    layers, key = reading.model.config.n_layers, key_of(reading.model, reading.other, digest(reading.lines))
    return [
        (
            (*key, number),
            lambda number=number: reading.read(number),
            COST * layers * len(places),
        )
        for number, places in enumerate(reading.steps)
    ]


def measured(
    reading: DataSetReading, ask: Ask, progress: Callable[[int, int], bool | None] = lambda done, total: None
) -> DataSetResults | None:
    """Return the results of a reading, each step through `ask`; None where `progress(done, total)` returns False. The engine keeps the whole, too.

    Raises InputError where no text can be read.
    """
    key = key_of(reading.model, reading.other, digest(reading.lines))
    if (known := core.serving.engine.default().cached(key)) is not None:
        return known
    parts, todo = [], steps(reading)
    for done, step in enumerate(todo):
        if progress(done, len(todo)) is False:
            return None
        parts.append(ask(*step))
    return ask(key, lambda: reading.join(parts), COST)


class DataSetJobs:
    """The readings of all visitors in threads of their own, one for each visitor; they run one after the other."""

    def __init__(self) -> None:
        self._lock, self._turn = threading.Lock(), threading.Lock()
        self._numbers = itertools.count()
        self._jobs: OrderedDict[Hashable, tuple[int, DataSetProgress]] = OrderedDict()

    def progress(self, key: Hashable) -> DataSetProgress | None:
        """Return the state of the reading of this key; None where none was begun."""
        entry = self._jobs.get(key)
        return entry[1] if entry else None

    def forget(self, key: Hashable) -> None:
        """Discard a reading, and end it where it runs."""
        with self._lock:
            self._jobs.pop(key, None)

    def begin(self, key: Hashable, reading: DataSetReading) -> None:
        """Start a reading; a new call with the same key ends the one before."""
        number = next(self._numbers)
        with self._lock:
            self._jobs.pop(key, None)
            self._jobs[key] = number, DataSetProgress(0, len(reading.steps))
            while len(self._jobs) > VISITORS:
                self._jobs.popitem(last=False)
        name = f"data set of {reading.model.name}"
        threading.Thread(target=self._run, args=(key, number, reading), name=name, daemon=True).start()

    def _set(self, key: Hashable, number: int, standing: DataSetProgress) -> bool:
        """Store the state of a job and return True, or False where it was discarded or a newer one took its place."""
        with self._lock:
            current = key in self._jobs and self._jobs[key][0] == number
            if current:
                self._jobs[key] = number, standing
            return current

    def _run(self, key: Hashable, number: int, reading: DataSetReading) -> None:
        def progress(done: int, total: int) -> bool:
            return self._set(key, number, DataSetProgress(done, total))

        try:
            with self._turn:
                results = measured(
                    reading, lambda step, fn, cost: _patiently(reading, step, fn, cost), progress
                )
            end = DataSetProgress(results=results) if results else None
        except InputError as error:
            end = DataSetProgress(problem=reason_of(error))
        except Exception as error:  # the page says so; everything else of the model works
            log.warning("The data set of %s failed.", reading.model.name, exc_info=True)
            end = DataSetProgress(problem=type(error).__name__)
        if end:
            self._set(key, number, end)


def _patiently(reading: DataSetReading, key: Hashable, fn: Callable[[], Any], cost: float) -> Any:
    """Compute one step through the engine, as soon as it has room. Raises InputError where a model was closed."""
    engine = core.serving.engine.default()
    while True:
        for model in filter(None, (reading.model, reading.other)):
            if not engine.is_current(model):
                raise InputError(
                    "{name} was closed.", "A reading ends with its model.", "Open it again.", name=model.name
                )
        try:
            return engine.submit(key, fn, cost)
        except Busy:
            time.sleep(BREATH)


_default = DataSetJobs()


def default() -> DataSetJobs:
    """Return the readings of this process.

    >>> default() is default()
    True
    """
    return _default
