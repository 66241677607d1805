"""Every head of a model over a visitor's own lines, measured in a thread that asks the engine batch by batch, so that no page waits."""

from __future__ import annotations

import itertools
import logging
import threading
import time
import weakref
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import core.serving.engine
from core.analysis.heads.corpus import SHUFFLED, UNTRAINED, CorpusReading, are_pictures, evenly, shuffled
from core.analysis.heads.corpus_file import ModelCorpus, Source
from core.data.texts import Example
from core.errors import InputError, reason_of
from core.model import Model
from core.reading import bounds
from core.reading.surveys import BREATH, COST
from core.serving.scheduler import Busy
from core.training.recipe import untrained

log = logging.getLogger(__name__)
_numbers = itertools.count()  # of the readings of this process; the engine stores what it has read by them
LINES, TOKENS = 500, 64
"""Lines that are read, and tokens of each."""
LETTERS = 2_000
"""Of a longer line the rest is not even looked at."""
CONTROLS = 100
"""Lines that are read again with their words shuffled, and by an untrained copy."""
COPY_BYTES = 256 * 2**20
"""Models above this size have no untrained copy: it would need their memory again."""
BATCH_TOKENS = 64
"""Tokens of a batch: one line, so that others wait little for it."""
PAUSE = 4.0
"""Time without a batch after each, as a share of the time that it took with its waiting: the longer others keep it waiting, the rarer it asks."""
VISITORS = 16
"""Visitors whose results for a model are remembered."""
SOURCE = "lines of yours"


@dataclass(frozen=True)
class CorpusProgress:
    """The state of a reading: batches done of all, then the heads; the error that ended it, then with the heads of the reading before; lines beyond the limit."""

    done: int = 0
    total: int = 0
    corpus: ModelCorpus | None = None
    problem: str = ""
    beyond: int = 0

    @property
    def over(self) -> bool:
        """Return whether the reading has ended, with success or an error."""
        return bool(self.corpus or self.problem)


class CorpusJobs:
    """The readings of all visitors, one for each model and visitor; they run one after the other."""

    def __init__(self) -> None:
        self._lock, self._turn = threading.Lock(), threading.Lock()
        self._progress: weakref.WeakKeyDictionary[Model, dict[str, tuple[int, CorpusProgress]]] = (
            weakref.WeakKeyDictionary()
        )

    def progress(self, model: Model, visitor: str) -> CorpusProgress | None:
        """Return the state of the reading of a visitor's lines; None where none was begun."""
        entry = self._progress.get(model, {}).get(visitor)
        return entry[1] if entry else None

    def forget(self, model: Model, visitor: str) -> None:
        """Discard the reading of a visitor's lines, and end it where it runs."""
        with self._lock:
            self._progress.get(model, {}).pop(visitor, None)

    def begin(self, model: Model, lines: Sequence[str], visitor: str) -> None:
        """Start to read a visitor's lines; a new call ends the one before."""
        texts = [line.strip()[:LETTERS] for line in lines if line.strip()]
        job, standing = next(_numbers), CorpusProgress(beyond=max(0, len(texts) - LINES))
        with self._lock:
            visitors = self._progress.setdefault(model, {})
            _, earlier = visitors.pop(visitor, (job, standing))
            visitors[visitor] = job, standing
            while len(visitors) > VISITORS:
                del visitors[next(iter(visitors))]
        args = (model, texts[:LINES], visitor, job, standing.beyond, earlier.corpus)
        threading.Thread(target=self._run, args=args, name=f"corpus of {model.name}", daemon=True).start()

    def _set(self, model: Model, visitor: str, job: int, standing: CorpusProgress) -> bool:
        """Store the state of a job and return True, or False where a newer one took its place."""
        with self._lock:
            visitors = self._progress.get(model, {})
            current = visitor in visitors and visitors[visitor][0] == job
            if current:
                visitors[visitor] = job, standing
            return current

    def _run(
        self,
        model: Model,
        texts: Sequence[str],
        visitor: str,
        job: int,
        beyond: int,
        earlier: ModelCorpus | None,
    ) -> None:
        try:
            with self._turn:
                corpus = self._read(model, texts, visitor, job, beyond)
            end = CorpusProgress(corpus=corpus, beyond=beyond) if corpus else None
        except InputError as error:
            end = CorpusProgress(corpus=earlier, problem=reason_of(error))
        except Exception as error:  # the page says so; everything else of the model works
            log.warning("The corpus of %s failed.", model.name, exc_info=True)
            end = CorpusProgress(corpus=earlier, problem=type(error).__name__)
        if end:
            self._set(model, visitor, job, end)

    def _read(
        self, model: Model, texts: Sequence[str], visitor: str, job: int, beyond: int
    ) -> ModelCorpus | None:
        """Return the heads over these texts; None where the job was ended."""
        most = min(TOKENS, bounds.token_limit(model))
        pictures = are_pictures(model)
        parts = texts if pictures else [bounds.slice_tokens(model, text, 0, most) for text in texts]
        examples = [Example(part) for part in parts if part]
        if not examples:
            raise InputError(
                "There is no text to read.",
                "A head is measured on texts, one per line.",
                "Type a line, or choose another file.",
            )
        again, readings = evenly(examples, CONTROLS), {}
        if not pictures:
            rng = np.random.default_rng(0)
            mixed = [shuffled(one, rng) for one in again]
            readings[SHUFFLED] = CorpusReading(model, mixed, rows=False, batch_tokens=BATCH_TOKENS)
        if sum(weight.nbytes for weight in model.network.parameters()) <= COPY_BYTES:
            copy = untrained(model)
            readings[UNTRAINED] = CorpusReading(copy, again, rows=False, batch_tokens=BATCH_TOKENS)
        own = CorpusReading(model, examples, batch_tokens=BATCH_TOKENS)
        steps = [(one, number) for one in (own, *readings.values()) for number in range(len(one.batches))]
        for done, (reading, number) in enumerate(steps):
            if not self._set(model, visitor, job, CorpusProgress(done, len(steps), beyond=beyond)):
                return None
            self._ask(model, job, reading, number, done)
        return ModelCorpus((Source(SOURCE, len(examples), ""),), own.result(readings), texts=tuple(examples))

    def _ask(self, model: Model, job: int, reading: CorpusReading, number: int, step: int) -> None:
        """Read one batch through the engine, as soon as it has room."""
        engine = core.serving.engine.default()
        cost = COST * model.config.n_layers * len(reading.batches[number])

        def read() -> bool:
            reading.read(number)
            return True

        begun = time.monotonic()
        while True:
            if not engine.is_current(model):
                raise InputError(
                    "{name} was closed.", "A reading ends with its model.", "Open it again.", name=model.name
                )
            try:
                engine.submit(("heads.corpus", model.name, job, step), read, cost)
                time.sleep(PAUSE * (time.monotonic() - begun))
                return
            except Busy:
                time.sleep(BREATH)


_default = CorpusJobs()


def default() -> CorpusJobs:
    """Return the readings of this process.

    >>> default() is default()
    True
    """
    return _default
