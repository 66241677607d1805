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
INNER_FILES = frozenset({core.trace.__file__, core.layers.trace_loops.__file__, __file__})
"""Files between a forward and its record: the line that counts is outside them."""

Code = tuple[str, int]
"""A function: its file and the line it begins at."""


@dataclass(frozen=True)
class TapLine:
    """The place where a path is tapped: file and line of the call, the function around it, the axis words."""

    file: str
    line: int
    code: Code
    axes: tuple[str, ...]


@dataclass(frozen=True)
class SourceTrace:
    """The record of one traced pass: the place of every path, every function that was called."""

    places: dict[str, TapLine]
    called: set[Code]


class _LineRecorder(Recorder):
    """A recorder that keeps no values and notes the line from which each path is recorded."""

    __slots__ = ("places",)

    def __init__(self) -> None:
        super().__init__(keep=())
        self.places: dict[str, TapLine] = {}

    def __truediv__(self, part: str) -> _LineRecorder:
        child = object.__new__(_LineRecorder)
        child._book, child.places = self._book, self.places
        child._prefix = f"{self._prefix}{part}."
        return child

    def __call__(self, name: str, value: Tensor, axes: str) -> Tensor:
        self._note(name, axes)
        return super().__call__(name, value, axes)

    def plan_for(self, name: str, axes: str) -> Plan:
        self._note(name, axes)
        return super().plan_for(name, axes)

    def _note(self, name: str, axes: str) -> None:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename in INNER_FILES:
            frame = frame.f_back
        if frame is not None:
            place = TapLine(
                frame.f_code.co_filename, frame.f_lineno, code_of(frame.f_code), tuple(axes.split())
            )
            self.places[self._prefix + name] = place


def code_of(code: CodeType) -> Code:
    """Return file and first line of a code object, which identify a function."""
    return code.co_filename, code.co_firstlineno


_TRACES: WeakKeyDictionary[Model, SourceTrace] = WeakKeyDictionary()


def trace_source(model: Model) -> SourceTrace:
    """Run a model once on two tokens (or an example of its input) and return where each path is recorded; cached per model."""
    found = _TRACES.get(model)
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
        found, watcher, before = SourceTrace({}, set()), _LineRecorder(), sys.getprofile()

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
        _TRACES[model] = found
    return found


def _example(model: Model) -> tuple[torch.Tensor, torch.Tensor]:
    """Return ids (1 pos) and values (1 pos number) that a model whose input is not text can read."""
    encoded = model.reader.encode(getattr(model.reader, "example", ""))
    assert encoded.values is not None
    return torch.tensor([encoded.ids]), torch.from_numpy(encoded.values)[None].float()
