"""Surveys of the heads of a foreign model: measured once, in a thread that asks the engine text by text, so that no page waits.

They are saved beside the weights as heads.json where that folder may be written, else they last as long as the model is open.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import core.serving.engine
from core.analysis.heads.habits import HeadHabits
from core.analysis.heads.head_file import METHOD, read_heads, write_heads
from core.analysis.heads.head_survey import (
    TextScores,
    average_results,
    scores_or_reason,
    survey_steps,
    survey_texts,
    with_readability,
)
from core.data.texts import Example
from core.errors import InputError, reason_of
from core.model import Model
from core.reading import bounds
from core.serving.scheduler import Busy

log = logging.getLogger(__name__)
COST = 60.0
"""Of one text, a layer: characters times layers, as the engine counts."""
LINES, LETTERS = 300, 2_000
"""Of a visitor's own texts so many lines are read, and so much of each."""
VISITORS = 64
"""Visitors whose names for the heads of a model are remembered."""
BREATH = 1.0
"""Seconds until the next try where the engine is full."""


@dataclass(frozen=True)
class SurveyProgress:
    """The state of a survey: texts read of all, then the heads by kind of attention; whether they are saved beside the
    weights; the error that ended it.

    `unread` is the share of unknown tokens in the texts; `texts` is the hash of a visitor's own texts, "" for ours; `left_out` counts texts that could not be read.
    """

    done: int = 0
    total: int = 0
    heads: Mapping[str, HeadHabits] = field(default_factory=dict)
    saved: bool = False
    problem: str = ""
    unread: float = 0.0
    texts: str = ""
    left_out: int = 0

    @property
    def over(self) -> bool:
        """Return whether the survey has ended, with success or an error."""
        return bool(self.heads or self.problem)


class Surveys:
    """The surveys of all models, one for each, started once; a survey is dropped with its model.

    >>> import core
    >>> Surveys().heads(core.open_model("gpt-mini")) is None
    True
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._standings: weakref.WeakKeyDictionary[Model, SurveyProgress] = weakref.WeakKeyDictionary()
        self._visitors: weakref.WeakKeyDictionary[Model, OrderedDict[str, SurveyProgress]] = (
            weakref.WeakKeyDictionary()
        )

    def begin(
        self, model: Model, folder: Path, examples: Sequence[Example] = (), *, keep: bool = True
    ) -> SurveyProgress:
        """Start the survey of a model's heads in the background, unless it was started before, and return its progress. `examples`: its texts where it reads no sentences;
        `keep`: save the heads beside the weights, if that is allowed.
        """
        with self._lock:
            if model in self._standings:
                return self._standings[model]
            self._standings[model] = SurveyProgress()
        threading.Thread(
            target=self._survey,
            args=(model, folder, examples, keep),
            name=f"survey of {model.name}",
            daemon=True,
        ).start()
        return SurveyProgress()

    def heads(self, model: Model, visitor: str = "") -> Mapping[str, HeadHabits] | None:
        """Return the heads by kind of attention once all are measured, on the visitor's own texts if there are any, else
        on the shipped ones; None before that.
        """
        own = self.visitor_survey(model, visitor)
        progress = own if own and own.heads else self._standings.get(model)
        return progress.heads if progress and progress.heads else None

    def visitor_survey(self, model: Model, visitor: str) -> SurveyProgress | None:
        """Return the progress of the survey of a model on this visitor's own texts; None where none was begun."""
        return self._visitors.get(model, {}).get(visitor)

    def forget(self, model: Model, visitor: str) -> None:
        """Discard the survey on this visitor's own texts; the names that the shipped texts gave apply again."""
        self._visitors.get(model, OrderedDict()).pop(visitor, None)

    def name_on(self, model: Model, lines: Sequence[str], visitor: str) -> SurveyProgress:
        """Measure the heads on a visitor's own texts, one a line, for this visitor only, and return the state; a new call ends the one before."""
        texts = [line.strip()[:LETTERS] for line in lines if line.strip()][:LINES]
        texts_hash = hashlib.sha256("\n".join(texts).encode(errors="replace")).hexdigest()
        standing = SurveyProgress(total=len(texts), texts=texts_hash)
        with self._lock:
            visitors = self._visitors.setdefault(model, OrderedDict())
            visitors.pop(visitor, None)
            visitors[visitor] = standing
            while len(visitors) > VISITORS:
                visitors.popitem(last=False)
        args = (model, texts, visitor, texts_hash)
        threading.Thread(
            target=self._survey_own, args=args, name=f"own survey of {model.name}", daemon=True
        ).start()
        return standing

    def _survey_own(self, model: Model, texts: Sequence[str], visitor: str, texts_hash: str) -> None:
        def tell(standing: SurveyProgress) -> bool:
            with self._lock:
                visitors = self._visitors.get(model, OrderedDict())
                wanted = visitor in visitors and visitors[visitor].texts == texts_hash
                if wanted:
                    visitors[visitor] = standing
                return wanted

        try:
            most = bounds.token_limit(model)
            own = [Example(part) for text in texts if (part := bounds.slice_tokens(model, text, 0, most))]
            if not own:
                raise InputError(
                    "There is no text to read.", "A text stands on a line of its own.", "Type a line."
                )
            steps = survey_steps(model, own)
            heads, left_out = self._read(
                model,
                steps,
                lambda done: tell(SurveyProgress(done, len(steps), texts=texts_hash)),
                texts_hash,
            )
            heads, share = with_readability(heads, model, texts)
            progress = SurveyProgress(heads=heads, unread=share, texts=texts_hash, left_out=left_out)
        except InputError as error:
            progress = SurveyProgress(problem=reason_of(error), texts=texts_hash)
        except Exception as error:  # as with our texts
            log.warning("The survey of %s failed.", model.name, exc_info=True)
            progress = SurveyProgress(problem=type(error).__name__, texts=texts_hash)
        tell(progress)

    def _survey(self, model: Model, folder: Path, examples: Sequence[Example], keep: bool) -> None:
        try:
            heads, saved, left_out = _read_saved(folder, model), True, 0
            if heads is None:
                heads, left_out = self._measure(model, examples)
                saved = keep and _save(folder, heads, foreign=bool(examples))
            share = 0.0
            if not examples:
                heads, share = with_readability(heads, model, survey_texts(model))
            progress = SurveyProgress(heads=heads, saved=saved, unread=share, left_out=left_out)
        except InputError as error:
            progress = SurveyProgress(problem=reason_of(error))
        except Exception as error:  # the page says so; everything else of the model works
            log.warning("The survey of %s failed.", model.name, exc_info=True)
            progress = SurveyProgress(problem=type(error).__name__)
        self._standings[model] = progress

    def _measure(self, model: Model, examples: Sequence[Example]) -> tuple[Mapping[str, HeadHabits], int]:
        steps = survey_steps(model, examples, translates=False)

        def tell(done: int) -> bool:
            self._standings[model] = SurveyProgress(done, len(steps))
            return True

        return self._read(model, steps, tell)

    def _read(
        self,
        model: Model,
        steps: Sequence[Callable[[], TextScores]],
        tell: Callable[[int], bool],
        texts_hash: str = "",
    ) -> tuple[Mapping[str, HeadHabits], int]:
        """Read text by text through the engine while `tell`, called with the number read, returns True; return the
        heads, and the number of texts left out.
        """
        engine, notes = core.serving.engine.default(), list[TextScores | str]()
        while len(notes) < len(steps):
            if not engine.is_current(model):
                raise InputError(
                    "{name} was closed.", "A survey ends with its model.", "Open it again.", name=model.name
                )
            if not tell(len(notes)):
                break
            try:
                key = ("heads.read", model.name, texts_hash, len(notes))
                notes.append(
                    engine.submit(
                        key, partial(scores_or_reason, steps[len(notes)]), COST * model.config.n_layers
                    )
                )
            except Busy:
                time.sleep(BREATH)
        return average_results(notes), sum(isinstance(one, str) for one in notes)


def _read_saved(folder: Path, model: Model) -> Mapping[str, HeadHabits] | None:
    """Return the heads saved beside the weights, if they are of these weights and fit the model; else None."""
    try:
        saved = read_heads(folder)
    except InputError:
        return None
    kinds = {
        kind.name: (kind.n_layers(model.config), model.config.n_heads)
        for kind in model.spec.kinds_of(model.config)
    }
    if saved is None or {name: heads.shape for name, heads in saved.trained.items()} != kinds:
        return None
    if model.spec.has_source and saved.method < METHOD:
        return None
    return saved.trained if saved.matches(folder) else None


def _save(folder: Path, heads: Mapping[str, HeadHabits], *, foreign: bool) -> bool:
    """Write the heads beside the weights and return True, or False where that is not allowed. `foreign`: they were
    measured on other than the shipped texts.
    """
    if not os.access(folder, os.W_OK):
        return False
    try:
        write_heads(folder, heads, {}, 0, own_items=foreign, method=METHOD)
    except (OSError, InputError):
        return False
    return True


_default = Surveys()


def default() -> Surveys:
    """Return the surveys of this process.

    >>> default() is default()
    True
    """
    return _default
