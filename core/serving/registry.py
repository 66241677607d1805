"""Frozen models, each loaded once for the whole process; no request from a browser can drop the shipped ones."""

from __future__ import annotations

import logging
import math
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Protocol

from core.errors import InputError, reason_of
from core.jobs.listing import Listing
from core.serving.scheduler import TURNS
from core.wording import mark

log = logging.getLogger(__name__)
MOST_ASIDE = 2**23
"""Weights that the models that no list has have together, with one that has more alone: a fine-tuned BERT has 7 million, a moment of a small GPT 0.4."""
MB = 2**20
GLANCE = 3.0
"""Seconds from one look for models that have come or gone to the next."""
PATIENCE = 0.5
"""Seconds between two calls of `on_wait` while a model is loaded."""


class Model(Protocol):
    """The interface of a model that the engine needs: its shape, and a pure `run` (nothing is stored on the model)."""

    @property
    def config(self) -> Any: ...

    def run(self, text: str, **options: Any) -> Any: ...


class Registry:
    """Models by listed name. Only listed names are opened: a name comes from an address, and must not be a path.

    `opener(name)` loads a model, `listing()` says which there are; each name is loaded at most once, and
    a failed load is not remembered (the next visitor tries again) but shows in `models()`. One bad model leaves the
    others as they were. They are listed again when `state()` is not what it was: a folder has come or gone. `unlisted(name, session)` gives the Listing of a name that is not listed but opens for this session, None for any other.

    `room()` says how many bytes are free for one more model. Where a foreign one needs more, those that were used longest ago
    go first (`on_drop(name)` is called for each), and if that is not enough it is refused in words. Where a shipped one needs
    more than `calm()`, other shipped ones that were used longest ago are closed, and it is never refused: opening one again
    takes some hundredths of a second.

    >>> registry = Registry(str.upper, lambda: (Listing("a", True), Listing("b", False, "The file is gone.")))
    >>> registry.open("a")
    'A'
    >>> registry.open("b")
    Traceback (most recent call last):
    core.errors.InputError: The model 'b' cannot be used: The file is gone. Models that work: a. Choose one of those.
    """

    def __init__(
        self,
        opener: Callable[[str], Any],
        listing: Callable[[], tuple[Any, ...]],
        unlisted: Callable[[str, str], Any | None] = lambda name, session: None,
        state: Callable[[], object] = lambda: None,
    ) -> None:
        self._opener, self._listing, self._unlisted, self._state = opener, listing, unlisted, state
        self.glance = GLANCE
        self._looked = -math.inf
        self._listed_state: object = None
        self.room: Callable[[], float] = lambda: math.inf
        self.calm: Callable[[], float] = lambda: math.inf
        self.on_drop: Callable[[str], None] = lambda name: None
        self._lock, self._listed_once = threading.Lock(), threading.Lock()
        self._one_by_one = threading.Lock()
        self._open: dict[str, Any] = {}
        self._used: dict[str, float] = {}
        self._foreign: dict[str, int] = {}
        self._opening: dict[str, Future[Any]] = {}
        self._open_unlisted: list[str] = []
        self._closed: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
        self._listed: dict[str, Listing] | None = None
        self._problems: dict[str, str] = {}

    def models(self) -> tuple[Listing, ...]:
        """Return every listed model; one that failed to load is listed with its problem."""
        return tuple(
            replace(entry, ok=False, problem=self._problems[name]) if name in self._problems else entry
            for name, entry in self._entries().items()
        )

    def entry(self, name: str, session: str = "") -> Any | None:
        """Return the listing of a name, listed or not; None for one that is neither. The session "" is the server's own."""
        return self._entries().get(name) or self._unlisted(name, session)

    def check(self, name: str, session: str = "") -> None:
        """Check that the name is listed, or opens for this session, and that its files were found in order. Raises InputError where not."""
        entry = self.entry(name, session)
        if entry is not None and entry.ok:
            return
        usable = ", ".join(listed.name for listed in self.models() if listed.ok) or mark("none")
        raise InputError(
            "The model '{name}' cannot be used: {problem}" if entry else "There is no model '{name}'.",
            "Models that work: {usable}.",
            "Choose one of those.",
            name=name,
            problem=entry.problem if entry else "",
            usable=usable,
        )

    def model_in_memory(self, name: str) -> Any | None:
        """Return the model of this name if it is open already, else None; never open it."""
        return self._open.get(name)

    def open(self, name: str, session: str = "", on_wait: Callable[[], None] = lambda: None) -> Any:
        """Return the one frozen model of this name, loaded at the first request.

        It is loaded in a thread of its own, whoever asks first, and `on_wait()` is called in the caller's thread every half
        second until it is there. No model waits for another, unless memory is short: then they are read one after the other.

        Raises InputError for a name that is not listed or not in order, and whatever loading raises.
        """
        model = self._open.get(name)
        if model is not None and not getattr(model, "files", True):
            log.warning("A file of the model '%s' was written to: it is opened anew.", name)
            self.drop(name)
            model = None
        self._used[name] = time.monotonic()
        if model is not None and name in self._entries():
            return model
        self.check(name, session)  # what is not listed may be one visitor's only
        with self._lock:
            if name in self._open:
                return self._open[name]
            closed = self._closed.pop(name, None)
            if closed is not None and getattr(closed, "files", True):
                self._open[name] = closed
                return closed
            opening = self._opening.get(name) or self._begin(name)
        with TURNS.give_up():
            while not wait([opening], PATIENCE).done:
                on_wait()
        return opening.result()

    def drop(self, name: str) -> None:
        """Drop a model from memory; the next request reads it again, if it still opens."""
        with self._lock:
            model = self._open.pop(name, None)
            self._closed.pop(name, None)
            self._used.pop(name, None)
            self._foreign.pop(name, None)
            self._problems.pop(name, None)
            if name in self._open_unlisted:
                self._open_unlisted.remove(name)
        if model is not None:
            self.on_drop(name)

    def _begin(self, name: str) -> Future[Any]:
        opening = self._opening[name] = Future()
        threading.Thread(target=self._load, args=(name, opening), name=f"opening {name}", daemon=True).start()
        return opening

    def _load(self, name: str, opening: Future[Any]) -> None:
        try:
            entry = self.entry(name)
            with self._one_by_one if self.calm() <= 0 else nullcontext():
                if entry is not None and entry.foreign:
                    self._find_room(entry)
                elif entry is not None:
                    self.close_unused(getattr(entry, "memory", 0))
                model = self._opener(name)
        except BaseException as error:
            log.warning("The model '%s' could not be opened.", name, exc_info=True)
            with self._lock:
                self._problems[name] = _sentence(error)
                del self._opening[name]
            opening.set_exception(error)
            return
        with self._lock:
            self._open[name] = model
            if name not in self._entries() and not (entry and entry.foreign):
                self._make_room(name)
            self._problems.pop(name, None)
            del self._opening[name]
        opening.set_result(model)

    def models_to_drop(self, entry: Listing) -> list[str]:
        """Return the names of the foreign models to drop so that one more fits into memory, those used longest ago first.

        Raises InputError where dropping all of them would not free enough.
        """
        free = self.room()
        others = {
            name: need for name, need in self._foreign.items() if name in self._open and name != entry.name
        }
        going = []
        for name in sorted(others, key=lambda name: self._used.get(name, 0.0)):
            if free >= entry.memory:
                break
            going.append(name)
            free += others[name]
        if free < entry.memory:
            raise InputError(
                "{name} needs {size:,.0f} MB to be opened, and {free:,.0f} MB can be had.",
                "This server holds only so many models at once.",
                "Choose a smaller model, or let whoever started the server give it more memory.",
                name=entry.name,
                size=entry.memory / MB,
                free=max(free, 0) / MB,
            )
        return going

    def close_unused(self, need: float = 0) -> None:
        """Close models that are not foreign, those used longest ago first, until `calm()` leaves `need` bytes. A run that uses one
        keeps it until its end; who asks for it meanwhile gets the same one."""
        free, listed = self.calm(), self._entries()
        for name in sorted(
            self._open.keys() - self._foreign.keys(), key=lambda name: self._used.get(name, 0.0)
        ):
            if free >= need:
                break
            log.info("%s is closed until somebody asks for it", name)
            free += (
                listed[name].memory
                if name in listed
                else 4 * getattr(self._open.get(name), "n_parameters", 0)
            )
            model = self._open.get(name)
            self.drop(name)
            if model is not None and name in listed:
                self._closed[name] = model

    def _find_room(self, entry: Listing) -> None:
        for name in self.models_to_drop(entry):
            log.info("%s goes, to make room for %s", name, entry.name)
            self.drop(name)
        self._foreign[entry.name] = entry.memory

    def _make_room(self, name: str) -> None:
        """Drop unlisted models, those opened first, until the others are small enough: a training may open one each second."""
        self._open_unlisted.append(name)
        while (
            len(self._open_unlisted) > 1
            and sum(getattr(self._open[other], "n_parameters", 0) for other in self._open_unlisted)
            > MOST_ASIDE
        ):
            del self._open[self._open_unlisted.pop(0)]

    def _entries(self) -> dict[str, Listing]:
        if self._listed is None or time.monotonic() >= self._looked + self.glance:
            with self._listed_once:
                if self._listed is None or time.monotonic() >= self._looked + self.glance:
                    self._list_again()
        assert self._listed is not None
        return self._listed

    def _list_again(self) -> None:
        """List the models again where a folder has appeared or disappeared, and drop those whose folder is gone."""
        seen = self._state()
        if self._listed is None or seen != self._listed_state:
            before, self._listed = (
                self._listed or {},
                {
                    entry.name: Listing(
                        entry.name,
                        entry.ok,
                        entry.problem or "",
                        entry.family or "",
                        getattr(entry, "memory", 0),
                        getattr(entry, "foreign", False),
                        getattr(entry, "does", ""),
                    )
                    for entry in self._listing()
                },
            )
            for name in before:
                if self._listed.get(name) != before[name]:
                    self.drop(name)
        self._looked, self._listed_state = time.monotonic(), seen


def _sentence(error: BaseException) -> str:
    """Return a sentence about the error for the page: our own errors are shown, others may hold paths and stay in the log."""
    if isinstance(error, InputError):
        return reason_of(error)
    return f"Its files could not be read ({type(error).__name__}); the log of the server says more."
