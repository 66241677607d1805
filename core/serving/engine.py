"""The single entry to computation for all visitors of a process: its models, scheduler and cache.

Pages ask here and nowhere else. Equal questions share one forward, a new question of a visitor replaces the
visitor's older one, nobody is starved, and what was answered is kept within a budget of bytes.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch

from core.edits import Function
from core.errors import InputError
from core.serving.cache import MISSING, ByteCache
from core.serving.registry import Listing, Registry, log
from core.serving.scheduler import Busy, Scheduler, Superseded

__all__ = ["Busy", "Engine", "Listing", "RunRequest", "Superseded", "default"]

CACHE_BYTES = 9 * 2**24
"""Budget of the process-wide cache."""

HEAVY_BYTES = 2**30
"""The one answer heavier than the budget that is kept beside it: the patterns of GPT-2 small at 1,024 tokens are 604 MB, and are asked for with every rerun."""

CHARACTERS_A_TOKEN = 4
LAYERS_UNKNOWN, CONTEXT_UNKNOWN = 6, 512


@dataclass(frozen=True)
class RunRequest:
    """A request for a run, as data: equal requests have equal answers, so one forward pass serves all of them.

    Lists are taken as tuples. Raises InputError for a `Patch` without a recipe: patches are compared by their
    recipe, so two different ones without would be taken for equal; and for an `edits.Function`, which cannot be compared.
    `reads_on` is no part of the question: it says that the asker will go on with the text, see `Model.run`.

    >>> RunRequest("gpt-mini", "Hello", keep=["*.pattern"]) == RunRequest("gpt-mini", "Hello", keep=("*.pattern",))
    True
    """

    model: str
    text: str
    pair: str | None = None
    target: str | None = None
    keep: tuple[str, ...] | None = None
    edits: tuple[Any, ...] = ()
    special: bool = False
    reads_on: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "keep", None if self.keep is None else tuple(self.keep))
        object.__setattr__(self, "edits", tuple(self.edits))
        for edit in self.edits:
            if isinstance(edit, Function):
                raise InputError(
                    f"A function was given as an edit at '{edit.where}'.",
                    "Functions cannot be compared, so no answer could be kept: they are for notebooks.",
                    "Call model.run(text, edits=[...]) yourself.",
                )
            if getattr(edit, "recipe", None) == ():
                raise InputError(
                    f"The patch at '{edit.where}' does not say where its value comes from.",
                    "The engine tells patches apart by their recipe.",
                    "Give recipe=(the request of the other run, the path).",
                )

    def cost(self, config: Any = None) -> int:
        """Return the characters times the layers, known before anything is tokenised; at most those that the model's context can hold.

        >>> RunRequest("gpt-mini", "Hello").cost()
        30
        """
        layers = getattr(config, "n_layers", LAYERS_UNKNOWN)
        most = CHARACTERS_A_TOKEN * getattr(config, "n_ctx", CONTEXT_UNKNOWN)
        texts = (text for text in (self.text, self.pair, self.target) if isinstance(text, str))
        return max(1, min(sum(map(len, texts)), most)) * layers


class Engine:
    """The models, the scheduler and the cache of a process: one forward pass at a time, results within a budget of bytes.

    `opener(name)` loads a model, `listing()` says which there are, and `unlisted(name, session)` what else this session can open by name;
    without them, those of `core`. The rules of the order are those of `core.serving.scheduler.Scheduler`. `on_slow_open(name)` is called
    every half second in the thread of whoever waits for a model to be loaded (the app says so there); `forwards` counts the
    runs that were computed. Every function runs in inference mode; arrays in what it returns become read-only.

    >>> class Echo:
    ...     config = None
    ...     def run(self, text, **options):
    ...         return text[::-1]
    >>> with Engine(opener=lambda name: Echo(), listing=lambda: (Listing("echo", True),)) as engine:
    ...     engine.run(RunRequest("echo", "step on"), session="a"), engine.models()[0].name
    ('no pets', 'echo')
    """

    def __init__(
        self,
        *,
        opener: Callable[[str], Any] | None = None,
        listing: Callable[[], tuple[Any, ...]] | None = None,
        unlisted: Callable[[str, str], Any | None] | None = None,
        cache_bytes: int = CACHE_BYTES,
        heavy_bytes: int = HEAVY_BYTES,
        max_waiting: int = 128,
        max_cost: float = 500_000,
    ) -> None:
        self.forwards = 0
        self.on_slow_open: Callable[[str], None] = lambda name: None
        self._opener = opener or _open_shipped
        self._registry = Registry(
            self._load,
            listing or _list_shipped,
            unlisted or (_unlisted if opener is None else lambda name, session: None),
            _local_folders if listing is None else lambda: None,
        )
        self._cache = ByteCache(cache_bytes, heavy_bytes)
        self._registry.on_drop = self._cache.drop
        self._scheduler = Scheduler(self._cache, max_waiting=max_waiting, max_cost=max_cost)

    def run(
        self, request: RunRequest, session: str = "", on_wait: Callable[[int], None] | None = None
    ) -> Any:
        """Return the `Run` of a request. `on_wait(place)` is called every half second while it waits, in this thread.

        A page that will read `run.logits` says so in `keep`: then they, too, are computed by the scheduler.

        Raises InputError (unknown model, text the model cannot read), Superseded, Busy.
        """
        self._registry.check(request.model, session)
        model = self._registry.model_in_memory(request.model)
        cost = request.cost(None if model is None else model.config)
        return self._ask(("run", request), lambda: self._forward(request), cost, session, on_wait)

    def submit(
        self,
        key: Hashable,
        fn: Callable[[], Any],
        cost: float,
        session: str = "",
        on_wait: Callable[[int], None] | None = None,
    ) -> Any:
        """Return the value of any pure function, computed by the scheduler and cached under `key`: same key, same value.

        `cost` is in characters times layers of a forward (about 50 units a millisecond). The function may itself
        call `run` and `submit`: they then compute on the spot.

        Raises Superseded, Busy, and whatever `fn` raises (errors are not kept).

        >>> with Engine() as engine:
        ...     engine.submit(("square", 12), lambda: 12 * 12, cost=1)
        144
        """
        return self._ask(("value", key), fn, cost, session, on_wait)

    def cached(self, key: Hashable) -> Any | None:
        """Return the value of a key of `submit` if it is still cached, else None.

        >>> with Engine() as engine:
        ...     before = engine.cached("square"), engine.submit("square", lambda: 12 * 12, cost=1)
        ...     before, engine.cached("square")
        ((None, 144), 144)
        """
        value = self._cache.get(("value", key))
        return None if value is MISSING else value

    def models(self) -> tuple[Listing, ...]:
        """Return every listed model; one that cannot be used has its problem."""
        return self._registry.models()

    def entry(self, name: str, session: str = "") -> Any | None:
        """Return the listing of a name: of a listed model, or of one that opens without being listed (`core.jobs.names`); None for any other.

        What a visitor trained or uploaded opens for that visitor's `session`; the session "" is the server's own, which may
        open everything. Raises InputError for a name that nearly opens, such as that of a step that was not kept.
        """
        return self._registry.entry(name, session)

    def open(self, name: str, session: str = "") -> Any:
        """Return the frozen model of a name that opens (see `entry`), loaded once for the process.

        Raises InputError for a name that does not open (a path never does) and whatever loading raises.
        """
        return self._registry.open(name, session, lambda: self.on_slow_open(name))

    def warm(self, names: Iterable[str] | None = None) -> tuple[Listing, ...]:
        """Load models (None: all that are in order) and run each once, so that no visitor waits for the first time.

        A model that fails does not keep the others from loading: it is listed with its problem.
        """
        for name in [entry.name for entry in self.models() if entry.ok] if names is None else names:
            try:
                self.run(RunRequest(name, self.open(name).reader.example, keep=()))
            except Exception:  # noqa: BLE001 - whatever is wrong with one model, the others are served
                log.warning("The model '%s' could not be warmed up.", name, exc_info=True)
        return self.models()

    def place(self, session: str) -> int | None:
        """Return the position of the session's request in the queue: 0 running, 1 next, and so on; None if it has none."""
        return self._scheduler.place(session)

    @property
    def cached_bytes(self) -> int:
        """Return the bytes that the cache holds now."""
        return self._cache.nbytes

    def is_current(self, model: Any) -> bool:
        """Return whether this object is still the open model of its name: results of a dropped one must not keep it alive."""
        return self._registry.model_in_memory(model.name) is model

    def set_memory_budget(
        self, free: Callable[[], float], calm: Callable[[], float] = lambda: math.inf
    ) -> None:
        """Set the functions that return the bytes free for foreign models, and for shipped ones, see `core.serving.registry.Registry`."""
        self._registry.room, self._registry.calm = free, calm

    def set_cache_budget(self, cache_bytes: int, heavy_bytes: int) -> None:
        """Set the bytes of the cache, and of the one heavier answer beside it."""
        self._cache.budget, self._cache.heavy = cache_bytes, heavy_bytes

    def close_unused(self) -> None:
        """Close shipped models that were used longest ago where memory is short; they are opened again when somebody asks."""
        self._registry.close_unused()

    def check_memory_for(self, entry: Listing) -> None:
        """Check that there is memory for one more foreign model, or that dropping others would free it; drop nothing.

        Raises InputError where there is not.
        """
        self._registry.models_to_drop(entry)

    def drop(self, name: str) -> None:
        """Drop a model and what was computed with it."""
        self._registry.drop(name)
        self._cache.drop(name)

    def forget(self) -> None:
        """Empty the cache; the models stay."""
        self._cache.clear()

    def close(self) -> None:
        """End the worker thread. Threads that wait for a result get RuntimeError."""
        self._scheduler.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _load(self, name: str) -> Any:
        with torch.inference_mode(False):  # weights are plain tensors, whoever asks first
            return self._opener(name)

    def _forward(self, request: RunRequest) -> Any:
        self.forwards += 1
        run = self.open(request.model).run(
            request.text,
            target=request.target,
            pair=request.pair,
            keep=request.keep,
            edits=request.edits,
            special=request.special,
            reads_on=request.reads_on,
        )
        if "logits" in (request.keep or ()):
            _ = run.logits  # else computed at first access, in the thread of the page
        return run

    def _ask(
        self,
        key: Hashable,
        fn: Callable[[], Any],
        cost: float,
        session: str,
        on_wait: Callable[[int], None] | None,
    ) -> Any:
        def inferred() -> Any:
            with torch.inference_mode():
                return fn()

        return self._scheduler.ask(key, inferred, cost, session, on_wait)


_default: Engine | None = None
_making = threading.Lock()


def default() -> Engine:
    """Return the engine of this process, made at the first call.

    >>> default() is default()
    True
    """
    global _default
    if _default is None:
        with _making:
            if _default is None:
                _default = Engine()
    return _default


def _open_shipped(name: str) -> Any:
    from core.jobs import names  # late: an engine of models that somebody else opens needs no training

    return names.open_model(name)


def _unlisted(name: str, session: str) -> Any | None:
    from core.jobs import names

    return names.resolve_name(name, session)


def _local_folders() -> object:
    from core.checkpoints import find

    return find.local_state()


def _list_shipped() -> tuple[Any, ...]:
    from core.checkpoints import listing

    return listing()
