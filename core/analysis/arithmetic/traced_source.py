"""The line of this project's code that makes each tensor, found by watching one tiny pass."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

import core.layers
import core.layers.trace_loops
import core.trace
from core.model import Model
from core.models import Batch
from core.trace import Plan, Recorder

LAYERS = str(Path(core.layers.__path__[0]))
PASSED_ON = frozenset({core.trace.__file__, core.layers.trace_loops.__file__, __file__})
"""Files between a forward and its record: the line that counts is outside them."""

Code = tuple[str, int]
"""A function: its file and the line it begins at."""


@dataclass(frozen=True)
class TapLine:
    """The place at which a path is tapped: file and line of the call, the function around it, the axis words."""

    file: str
    line: int
    code: Code
    axes: tuple[str, ...]


@dataclass(frozen=True)
class Watched:
    """The record of one watched pass: the place of every path, every function that was called."""

    places: dict[str, TapLine]
    called: set[Code]


class _Watcher(Recorder):
    """A recorder that keeps nothing and notes who calls it for which path."""

    __slots__ = ("places",)

    def __init__(self) -> None:
        super().__init__(keep=())
        self.places: dict[str, TapLine] = {}

    def __truediv__(self, part: str) -> _Watcher:
        child = object.__new__(_Watcher)
        child._book, child.places = self._book, self.places
        child._prefix = f"{self._prefix}{part}."
        return child

    def __call__(self, name: str, value: Tensor, axes: str) -> Tensor:
        self._note(name, axes)
        return super().__call__(name, value, axes)

    def planned(self, name: str, axes: str) -> Plan:
        self._note(name, axes)
        return super().planned(name, axes)

    def _note(self, name: str, axes: str) -> None:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename in PASSED_ON:
            frame = frame.f_back
        if frame is not None:
            place = TapLine(
                frame.f_code.co_filename, frame.f_lineno, code_of(frame.f_code), tuple(axes.split())
            )
            self.places[self._prefix + name] = place


def code_of(code: CodeType) -> Code:
    """Return file and first line of a code object, which identify a function."""
    return code.co_filename, code.co_firstlineno


_SEEN: WeakKeyDictionary[Model, Watched] = WeakKeyDictionary()


def watched(model: Model) -> Watched:
    """One pass over two tokens, or over an example of what is no sentence, once a model."""
    found = _SEEN.get(model)
    if found is None:
        torch.get_num_threads()  # as in core.run.lazy_logits: a thread takes over the process's number only when asked
        ids = torch.zeros(1, 2, dtype=torch.long)
        real = torch.ones_like(ids, dtype=torch.bool)
        read, values = (ids, None) if model.spec.reads is None else _example(model)
        seen = torch.ones_like(read, dtype=torch.bool)
        batch = (
            Batch(ids=ids, real=real, source=read, source_real=seen, values=values)
            if model.spec.has_source
            else Batch(ids=read, real=seen, values=values)
        )
        found, watcher, before = Watched({}, set()), _Watcher(), sys.getprofile()

        def note(frame: FrameType, event: str, _: Any) -> None:
            if event == "call" and frame.f_code.co_filename.startswith(LAYERS):
                found.called.add(code_of(frame.f_code))

        sys.setprofile(note)
        try:
            with torch.inference_mode():
                model.network(batch, tap=watcher)
        finally:
            sys.setprofile(before)
        found.places.update(watcher.places)
        _SEEN[model] = found
    return found


def _example(model: Model) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids (1 pos) and numbers (1 pos number) of what a model that reads no sentence can read."""
    encoded = model.reader.encode(getattr(model.reader, "example", ""))
    assert encoded.values is not None
    return torch.tensor([encoded.ids]), torch.from_numpy(encoded.values)[None].float()
