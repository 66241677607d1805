"""Recording and editing of every value of a forward pass.

`tap("pattern", value, "batch head query key")` inside a forward is the shape comment, the recording
and the place to intervene. `OFF` returns its argument; a `Recorder` keeps what was asked for and
applies edits first. A path names the *call*, not the module, so a layer used four times has four
paths. A recorder belongs to one run: nothing is stored on a model, two runs cannot meet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from core.errors import InputError
from core.wording import mark


class Edit(Protocol):
    """A replacement of a value, as frozen data: `where` is a path or a path pattern (`layer.*.self_attn.heads`)."""

    @property
    def where(self) -> str: ...

    def __call__(self, value: Tensor, /) -> Tensor: ...


class Tap:
    """A tap that is off: it returns every value unchanged.

    >>> OFF("pattern", torch.ones(1), "key")
    tensor([1.])
    >>> (OFF / "layer.0") is OFF
    True
    """

    __slots__ = ()

    def __call__(self, name: str, value: Tensor, axes: str) -> Tensor:
        return value

    def __truediv__(self, part: str) -> Tap:
        return self

    def wants(self, *names: str) -> bool:
        """Return whether a value of one of these names would be recorded or edited here, and so has to be computed: False, since this tap is off."""
        return False


OFF = Tap()
MISFIT = mark("An edit keeps shape and dtype, and its numbers are of the size of what stands there.")


@lru_cache(maxsize=65536)
def matches(path: str, pattern: str) -> bool:
    """Return whether a path matches a pattern (`*` matches anything, also across dots; `|` separates patterns).

    >>> matches("layer.3.self_attn.heads", "layer.*.heads"), matches("logits", "*.heads|logits")
    (True, True)
    """
    return path == pattern or any(fnmatchcase(path, each) for each in pattern.split("|"))


def ready(model: object, edits: Sequence[Any] | Any) -> tuple[Edit, ...]:
    """Return the edits, or the one, each completed with what it takes from the model (`of_model`). Raises InputError for
    an object that is no edit, such as a bare function.
    """
    edits = edits if isinstance(edits, Iterable) else (edits,)
    for edit in edits:
        if not callable(edit) or not isinstance(getattr(edit, "where", None), str):
            raise InputError(
                "An edit is given as {name}.",
                "An edit says at which path it changes a value: edits.Function(where, fn) makes one of a function.",
                'Write core.edits.Function("layer.0.self_attn.scores", fn).',
                name=type(edit).__name__,
            )
    return tuple(edit.of_model(model) if hasattr(edit, "of_model") else edit for edit in edits)


def apply_edit(edit: Edit, value: Tensor, path: str) -> Tensor:
    """Return the value at a path as an edit changes it. Raises InputError, with its cause, for an edit that does not fit the value.

    An edit with a `leaf` is made for values of that name alone, as Temperature is for scores.
    """
    leaf, here = getattr(edit, "leaf", ""), path.rpartition(".")[2]
    if (
        leaf and leaf not in path.split(".")[-2:]
    ):  # a mask that is made of parts has one value for each, as allowed.random
        raise InputError(
            "{name} changes {leaf}, and '{path}' is another value: {here}.",
            "Each edit is made for one kind of value.",
            "Name a path that ends in .{leaf}.",
            name=type(edit).__name__,
            leaf=leaf,
            path=path,
            here=here,
        )
    try:
        new = edit(value)
    except InputError:
        raise
    except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise InputError(
            "The change at '{where}' cannot be made at '{path}'.",
            MISFIT,
            "Make it again here.",
            where=edit.where,
            path=path,
        ) from error
    if new.shape != value.shape or new.dtype != value.dtype:
        raise InputError(
            "The change at '{where}' makes {shape} {dtype} of {before} {before_dtype} at '{path}'.",
            MISFIT,
            "Make it again here.",
            where=edit.where,
            shape=tuple(new.shape),
            dtype=str(new.dtype),
            before=tuple(value.shape),
            before_dtype=str(value.dtype),
            path=path,
        )
    return new


class Record(NamedTuple):
    """One recorded value: the tensor as the model used it, its axis words, its version when recorded."""

    value: Tensor
    axes: tuple[str, ...]
    version: int


class Trace:
    """The recorded values of one run, by path.

    `visited` are the paths of all values that the run computed, recorded or not. Asking for one that was not recorded
    raises KeyError with the nearest known paths.
    """

    def __init__(self, records: dict[str, Record], visited: frozenset[str]) -> None:
        self._records, self.visited = records, visited

    def __getitem__(self, path: str) -> Tensor:
        return self._record(path).value

    def __contains__(self, path: object) -> bool:
        return path in self._records

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def __repr__(self) -> str:
        return f"Trace: {contents(list(self))}"

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    @property
    def records(self) -> Mapping[str, Record]:
        """Return every recorded value with its axis words, by path."""
        return self._records

    def names(self, pattern: str = "*") -> list[str]:
        """Return the recorded paths that match a pattern, in the order of the computation."""
        return [path for path in self._records if matches(path, pattern)]

    def axes(self, path: str) -> tuple[str, ...]:
        return self._record(path).axes

    def stack(self, pattern: str) -> Tensor:
        """Return all values whose path matches, stacked along a new first axis `layer`."""
        names = self.names(pattern)
        if not names:
            raise KeyError(self._unknown(pattern))
        return torch.stack([self[name] for name in names])

    def numpy(self, path: str) -> np.ndarray:
        """Return a value as numpy, float32 (or bool), with its batch axis."""
        value = self[path].detach()
        return value.numpy() if value.dtype == torch.bool else value.float().numpy()

    def changed_in_place(self) -> list[str]:
        """Return the paths whose tensor was modified after it was recorded (needs a run without inference_mode)."""
        return [path for path, record in self._records.items() if record.value._version != record.version]

    def _record(self, path: str) -> Record:
        try:
            return self._records[path]
        except KeyError:
            raise KeyError(self._unknown(path)) from None

    def _unknown(self, path: str) -> str:
        return unknown_path(path, self._records)


def contents(paths: Sequence[str]) -> str:
    """Return a summary of recorded paths: how many there are, and the first and the last.

    >>> contents(["embed.token", "embed.out", "logits"]), contents(["logits"])
    ('3 values, embed.token ... logits', '1 value, logits')
    """
    ends = " ... ".join(dict.fromkeys([*paths[:1], *paths[-1:]]))
    return ", ".join(filter(None, [f"{len(paths)} value{'s' * (len(paths) != 1)}", ends]))


def unknown_path(path: str, paths: Iterable[str]) -> str:
    """Return the error message for a path that was not recorded, with the nearest paths that were."""
    near = get_close_matches(path, list(paths), n=3, cutoff=0.4)
    hint = f" Nearest: {', '.join(near)}." if near else " Nothing was recorded." if not list(paths) else ""
    return f"No value was recorded at '{path}'.{hint}"


class Recorder(Tap):
    """A tap that applies edits, then records the values whose path matches `keep`.

    It raises ValueError with the path for a path visited twice, axis words that do not fit the tensor, an edit that
    changes shape or dtype, and a `keep` or edit pattern that matched nothing. `limit` is in bytes. With `partial` the
    sequence is still being written: an edit of a position beyond its end is ignored. `later` names paths that another
    pass will record: asking for them is no error. With `last_query` a value that has queries is recorded for the last
    one only.

    >>> tap = Recorder(last_query=True)
    >>> _ = tap("pattern", torch.eye(3), "query key")
    >>> tap.close()["pattern"].tolist()
    [[0.0, 0.0, 1.0]]
    """

    __slots__ = ("_book", "_prefix")

    def __init__(
        self,
        keep: Sequence[str] = ("*",),
        edits: Sequence[Edit] = (),
        *,
        limit: int | None = None,
        partial: bool = False,
        later: Sequence[str] = (),
        last_query: bool = False,
    ) -> None:
        self._book = _RecorderState(tuple(keep), tuple(edits), limit, partial, tuple(later), last_query)
        self._prefix = ""

    def __truediv__(self, part: str) -> Recorder:
        child = object.__new__(Recorder)
        child._book = self._book
        child._prefix = f"{self._prefix}{part}."
        return child

    def __call__(self, name: str, value: Tensor, axes: str) -> Tensor:
        book, path = self._book, self._prefix + name
        plan = book.plans.get(path)
        if plan is None or plan.axes != axes:
            plan = book.plan_for(path, axes)
        if path in book.plans_by_path:
            raise ValueError(f"The path '{path}' was tapped twice in one run; a path names one call.")
        book.plans_by_path[path] = plan
        if value.dim() != len(plan.words):
            raise ValueError(
                f"'{path}' has {value.ndim} axes of sizes {tuple(value.shape)} but its words are '{axes}'."
            )
        if plan.edits:
            value = book.apply_edits(path, value, plan)
        if plan.is_recorded:
            book.record(path, value, plan)
        return value

    def wants(self, *names: str) -> bool:
        """Return whether `keep` or an edit has a pattern for a value of one of these names here; where not, it need not be computed."""
        patterns = (*self._book.keep, *self._book.where)
        return any(matches(self._prefix + name, pattern) for name in names for pattern in patterns)

    def plan_for(self, name: str, axes: str) -> Plan:
        """Return the plan of a path whose value is recorded row by row (core/layers/trace_loops.py); the path counts as visited."""
        book, path = self._book, self._prefix + name
        plan = book.plans.get(path)
        if plan is None or plan.axes != axes:
            plan = book.plan_for(path, axes)
        book.plans_by_path[path] = plan
        return plan

    def apply_edits(self, name: str, value: Tensor, plan: Plan) -> Tensor:
        return self._book.apply_edits(self._prefix + name, value, plan)

    def record(self, name: str, value: Tensor, plan: Plan) -> None:
        self._book.record(self._prefix + name, value, plan)

    def close(self) -> Trace:
        """Check that every pattern matched a value, and return the trace."""
        self._book.check_all_used()
        return Trace(self._book.records, _shared(frozenset(self._book.plans_by_path)))


class Plan(NamedTuple):
    """The handling of one path: its axes, whether the value is recorded, and the indices of the edits that apply to it."""

    axes: str
    words: tuple[str, ...]
    is_recorded: bool
    edits: tuple[int, ...]


@lru_cache(maxsize=256)
def _plans(keep: tuple[str, ...], where: tuple[str, ...]) -> dict[str, Plan]:
    """Return the plans of all paths visited so far under these patterns, a dictionary that runs share and fill."""
    return {}


class _RecorderState:
    """The state that a recorder shares with its scopes."""

    __slots__ = (
        "bytes",
        "edits",
        "keep",
        "last_query",
        "later",
        "limit",
        "partial",
        "plans",
        "plans_by_path",
        "records",
        "where",
    )

    def __init__(
        self,
        keep: tuple[str, ...],
        edits: tuple[Edit, ...],
        limit: int | None,
        partial: bool,
        later: tuple[str, ...],
        last_query: bool,
    ) -> None:
        self.keep, self.edits, self.limit, self.partial, self.later = keep, edits, limit, partial, later
        self.last_query = last_query
        self.where = tuple(edit.where for edit in edits)
        self.plans = _plans(keep, self.where)
        self.records: dict[str, Record] = {}
        self.plans_by_path: dict[str, Plan] = {}
        self.bytes = 0

    def plan_for(self, path: str, axes: str) -> Plan:
        edits = tuple(index for index, where in enumerate(self.where) if matches(path, where))
        plan = Plan(axes, tuple(axes.split()), any(matches(path, pattern) for pattern in self.keep), edits)
        self.plans[path] = plan
        return plan

    def record(self, path: str, value: Tensor, plan: Plan) -> None:
        if self.last_query and "query" in plan.words:
            query = plan.words.index("query")
            last = value.shape[query] - 1
            value = value.narrow(query, last, 1).clone() if last else value
        if self.limit is not None:
            self.bytes += value.numel() * value.element_size()
            if self.bytes > self.limit:
                raise MemoryError(f"'{path}' brings what is kept to {self.bytes / 2**20:.0f} MB.")
        self.records[path] = Record(value, plan.words, 0 if value.is_inference() else value._version)

    def apply_edits(self, path: str, value: Tensor, plan: Plan) -> Tensor:
        for index in plan.edits:
            value = self._apply_edit(path, value, self.edits[index])
        return value

    def _apply_edit(self, path: str, value: Tensor, edit: Edit) -> Tensor:
        try:
            return apply_edit(edit, value.cpu(), path).to(value.device)
        except InputError:
            if self.partial:
                return value
            raise

    def check_all_used(self) -> None:
        met = {index for plan in self.plans_by_path.values() for index in plan.edits}
        for index, edit in enumerate(self.edits):
            if index not in met:
                raise ValueError(
                    f"The edit {edit!r} met no value. {unknown_path(edit.where, self.plans_by_path)}"
                )
        for pattern in self.keep:
            if pattern == "*" or pattern in self.plans_by_path:
                continue
            if not any(matches(path, pattern) for path in (*self.plans_by_path, *self.later)):
                raise ValueError(
                    f"keep='{pattern}' met no value. {unknown_path(pattern, (*self.plans_by_path, *self.later))}"
                )


_shared = lru_cache(maxsize=256)(frozenset[str])
"""One object for equal sets of paths: thousands of runs may be kept."""
Out = TypeVar("Out")


def record(
    forward: Callable[..., Out],
    *inputs: object,
    keep: Sequence[str] = ("*",),
    edits: Sequence[Edit] = (),
    **options: object,
) -> tuple[Out, Trace]:
    """Run `forward(*inputs, tap=recorder)` and return its output and its trace.

    >>> out, trace = record(lambda x, tap: tap("twice", x * 2, "pos"), torch.arange(3.0))
    >>> trace.names(), trace["twice"].tolist()
    (['twice'], [0.0, 2.0, 4.0])
    """
    if isinstance(forward, nn.Module) and forward.training:
        raise ValueError(
            "The network is in training mode, where dropout changes every run; call .eval() first."
        )
    recorder = Recorder(keep, edits)
    out = forward(*inputs, tap=recorder, **options)
    return out, recorder.close()
