"""What the heads of a brought model do, measured once, behind the pages: a thread asks the engine text by text, so nobody waits for it.

What was measured is kept beside the weights as heads.json where that folder may be written, else as long as the model is open.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import core.serving.engine
from core.analysis.heads.habits import Heads
from core.analysis.heads.head_file import read_heads, write_heads
from core.analysis.heads.head_survey import Told, readings, summed
from core.data.texts import Example
from core.errors import InputError
from core.model import Model
from core.serving.executor import Busy

log = logging.getLogger(__name__)
COST = 60.0
"""Of one text, a layer: characters times layers, as the engine counts."""
BREATH = 1.0
"""Seconds until the next try where the engine is full."""


@dataclass(frozen=True)
class Standing:
    """How far a survey is: texts read of all, then the heads by kind of attention; whether they lie beside the weights; what went wrong."""

    done: int = 0
    total: int = 0
    heads: Mapping[str, Heads] = field(default_factory=dict)
    kept: bool = False
    problem: str = ""

    @property
    def over(self) -> bool:
        return bool(self.heads or self.problem)


class Surveys:
    """One survey a model, begun once; a model that is let go takes its survey with it.

    >>> import core
    >>> Surveys().known(core.open_model("gpt-mini")) is None
    True
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: weakref.WeakKeyDictionary[Model, Standing] = weakref.WeakKeyDictionary()

    def begin(
        self, model: Model, folder: Path, own: Sequence[Example] = (), *, keep: bool = True
    ) -> Standing:
        """Begin the survey of a model, or say how it stands. `own`: what it reads where it reads no sentences; `keep`: beside the weights, if one may."""
        with self._lock:
            if model in self._held:
                return self._held[model]
            self._held[model] = Standing()
        threading.Thread(
            target=self._survey, args=(model, folder, own, keep), name=f"survey of {model.name}", daemon=True
        ).start()
        return Standing()

    def known(self, model: Model) -> Mapping[str, Heads] | None:
        """What was measured, once all is."""
        found = self._held.get(model)
        return found.heads if found and found.heads else None

    def _survey(self, model: Model, folder: Path, own: Sequence[Example], keep: bool) -> None:
        try:
            heads, kept = _kept(folder, model), True
            if heads is None:
                heads = self._measured(model, own)
                kept = keep and _keep(folder, heads, own=bool(own))
            found = Standing(heads=heads, kept=kept)
        except InputError as error:
            found = Standing(problem=str(error))
        except Exception as error:  # the page says so; everything else of the model works
            log.warning("The survey of %s failed.", model.name, exc_info=True)
            found = Standing(problem=type(error).__name__)
        self._held[model] = found

    def _measured(self, model: Model, own: Sequence[Example]) -> Mapping[str, Heads]:
        engine, told = core.serving.engine.default(), list[Told]()
        steps = readings(model, own)
        while len(told) < len(steps):
            if not engine.holds(model):
                raise InputError(
                    f"{model.name} was closed.", "A survey ends with its model.", "Open it again."
                )
            self._held[model] = Standing(len(told), len(steps))
            try:
                key = ("heads.read", model.name, len(told))
                told.append(engine.submit(key, steps[len(told)], COST * model.config.n_layers))
            except Busy:
                time.sleep(BREATH)
        return summed(told)


def _kept(folder: Path, model: Model) -> Mapping[str, Heads] | None:
    """What lies beside the weights, if it is of them and fits the model; a file of a foreign folder may say anything."""
    try:
        found = read_heads(folder)
    except InputError:
        return None
    kinds = {
        kind.name: (kind.n_layers(model.config), model.config.n_heads)
        for kind in model.spec.kinds_of(model.config)
    }
    if found is None or {name: heads.shape for name, heads in found.trained.items()} != kinds:
        return None
    return found.trained if found.of(folder) else None


def _keep(folder: Path, heads: Mapping[str, Heads], *, own: bool) -> bool:
    """Write it beside the weights, if that is allowed."""
    if not os.access(folder, os.W_OK):
        return False
    try:
        write_heads(folder, heads, {}, 0, own=own)
    except (OSError, InputError):
        return False
    return True


_default = Surveys()


def default() -> Surveys:
    """The surveys of this process.

    >>> default() is default()
    True
    """
    return _default
