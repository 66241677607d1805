"""Frozen models, each loaded once for the whole process; nothing a browser sends can clear them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from core.errors import InputError

log = logging.getLogger(__name__)
MOST_ASIDE = 48


class Model(Protocol):
    """What the engine needs of a model: its shape, and a pure `run` (nothing is stored on the model)."""

    @property
    def config(self) -> Any: ...

    def run(self, text: str, **options: Any) -> Any: ...


@dataclass(frozen=True)
class Listing:
    """One model a picker may show: usable (`ok`), or why not (`problem`, a sentence fit for the page)."""

    name: str
    ok: bool
    problem: str = ""
    family: str = ""


class Registry:
    """Models by listed name. Only listed names are opened: a name comes from an address, and must not be a path.

    `opener(name)` loads a model, `listing()` says which there are; each name is loaded at most once, under a lock, and
    a failed load is not remembered (the next visitor tries again) but shows in `models()`. One bad model leaves the
    others as they were. `aside(name)` is asked about a name that is not listed: a Listing opens, None does not.

    >>> registry = Registry(str.upper, lambda: (Listing("a", True), Listing("b", False, "The file is gone.")))
    >>> registry.open("a")
    'A'
    >>> registry.open("b")
    Traceback (most recent call last):
    core.errors.InputError: The model 'b' cannot be used: The file is gone. Models that work: a. Choose one of those.
    """

    def __init__(
        self, opener: Callable[[str], Any], listing: Callable[[], tuple[Any, ...]], aside: Callable[[str], Any | None] = lambda _: None
    ) -> None:
        self._opener, self._listing, self._aside = opener, listing, aside
        self._loading, self._listed_once = threading.Lock(), threading.Lock()
        self._open: dict[str, Any] = {}
        self._beside: list[str] = []
        self._listed: dict[str, Listing] | None = None
        self._problems: dict[str, str] = {}

    def models(self) -> tuple[Listing, ...]:
        """Every listed model; one that failed to load is listed with its problem."""
        return tuple(
            replace(entry, ok=False, problem=self._problems[name]) if name in self._problems else entry
            for name, entry in self._entries().items()
        )

    def entry(self, name: str) -> Any | None:
        """What is known of a name, listed or aside; None for one that is neither."""
        return self._entries().get(name) or self._aside(name)

    def check(self, name: str) -> None:
        """Raise InputError unless the name is listed, or opens aside, and its files were found in order."""
        entry = self.entry(name)
        if entry is not None and entry.ok:
            return
        wrong = f"The model '{name}' cannot be used: {entry.problem}" if entry else f"There is no model '{name}'."
        usable = ", ".join(listed.name for listed in self.models() if listed.ok) or "none"
        raise InputError(wrong, f"Models that work: {usable}.", "Choose one of those.")

    def loaded(self, name: str) -> Any | None:
        """The model if it is in memory already, else None."""
        return self._open.get(name)

    def open(self, name: str) -> Any:
        """The one frozen model of this name, loaded if nobody asked for it before.

        Raises InputError for a name that is not listed or not in order, and whatever loading raises.
        """
        model = self._open.get(name)
        if model is not None and name in self._entries():
            return model
        self.check(name)  # what opens aside may be one visitor's only
        with self._loading:
            model = self._open.get(name)
            if model is None:
                try:
                    model = self._opener(name)
                except Exception as error:
                    self._problems[name] = _worded(error)
                    log.warning("The model '%s' could not be opened.", name, exc_info=True)
                    raise
                self._open[name] = model
                if name not in self._entries():
                    self._make_room(name)
                self._problems.pop(name, None)
        return model

    def _make_room(self, name: str) -> None:
        """Of the models that open aside the last few stay: there may be one a second of a training."""
        self._beside.append(name)
        while len(self._beside) > MOST_ASIDE:
            self._open.pop(self._beside.pop(0), None)

    def _entries(self) -> dict[str, Listing]:
        if self._listed is None:
            with self._listed_once:
                if self._listed is None:
                    self._listed = {
                        entry.name: Listing(entry.name, entry.ok, entry.problem or "", entry.family or "")
                        for entry in self._listing()
                    }
        return self._listed


def _worded(error: Exception) -> str:
    """A sentence for the page: our own errors speak for themselves, others may hold paths and stay in the log."""
    if isinstance(error, InputError):
        return str(error)
    return f"Its files could not be read ({type(error).__name__}); the log of the server says more."
