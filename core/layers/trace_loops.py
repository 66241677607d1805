"""Traces of loops: the values of each step, and those of all steps in one tensor.

A recurrent network computes `step.3.attn.pattern` before it knows step 4. Pictures want the whole `attn.pattern`, and
so do edits that name a query. `steps` gives a tap for each turn of the loop that serves both: a value is recorded at
`step.T.NAME` and, when the last row is in, at `NAME`; an edit of either path is met before the value is used.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from core.trace import OFF, Plan, Recorder, Tap


def steps(tap: Tap, n: int, first: int = 0, axis: str = "pos") -> Callable[[int], Tap]:
    """Return a function from t = 0 .. n - 1 to the tap of that turn of a loop, which records under `step.{first + t}`.

    In the whole, values with a query axis (of size 1 in a step) are concatenated along it; all others get a new axis after
    `batch`, called `axis`. The rows are in the order of t, whatever order the loop takes. The whole is a copy: gradients
    belong to the steps.

    >>> recorder = Recorder()
    >>> at = steps(recorder, 2)
    >>> for t in (1, 0):
    ...     _ = at(t)("hidden", torch.full((1, 3), float(t)), "batch d_hidden")
    >>> trace = recorder.close()
    >>> trace.names(), trace["hidden"].tolist(), trace.axes("hidden")
    (['step.1.hidden', 'step.0.hidden', 'hidden'], [[[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]], ('batch', 'pos', 'd_hidden'))
    """
    if not isinstance(tap, Recorder):
        return lambda t: OFF
    values = _LoopValues(tap, n, axis)
    return lambda t: _Step(tap / f"step.{first + t}", values, "", t)


class _Step(Tap):
    """The tap of one turn."""

    __slots__ = ("_prefix", "_row", "_tap", "_values")

    def __init__(self, tap: Tap, values: _LoopValues, prefix: str, row: int) -> None:
        self._tap, self._values, self._prefix, self._row = tap, values, prefix, row

    def __truediv__(self, part: str) -> _Step:
        return _Step(self._tap / part, self._values, f"{self._prefix}{part}.", self._row)

    def __call__(self, name: str, value: Tensor, axes: str) -> Tensor:
        return self._values.row(self._prefix + name, self._row, self._tap(name, value, axes), axes)


class _LoopValues:
    """The rows of one loop's values until all are there."""

    def __init__(self, recorder: Recorder, n: int, axis: str) -> None:
        self._recorder, self._n, self._axis = recorder, n, axis
        self._rows: dict[str, dict[int, Tensor]] = {}

    def row(self, name: str, row: int, value: Tensor, axes: str) -> Tensor:
        words = axes.split()
        has_query = "query" in words
        along = words.index("query") if has_query else 1
        plan = self._recorder.plan_for(
            name, axes if has_query else axes.replace("batch", f"batch {self._axis}", 1)
        )
        if plan.edits:
            value = self._edited(name, row, value if has_query else value.unsqueeze(1), along, plan)
            value = value if has_query else value.squeeze(1)
        if plan.is_recorded:
            rows = self._rows.setdefault(name, {})
            rows[row] = value.detach()
            if len(rows) == self._n:
                ordered = [rows[i] for i in range(self._n)]
                joined = torch.cat(ordered, along) if has_query else torch.stack(ordered, 1)
                self._recorder.record(name, joined, plan)
        return value

    def _edited(self, name: str, row: int, value: Tensor, along: int, plan: Plan) -> Tensor:
        """Apply an edit to one row: the edit receives a tensor of full length, zero elsewhere, and only this row of its result is returned."""
        before, after = list(value.shape), list(value.shape)
        before[along], after[along] = row, self._n - 1 - row
        whole = torch.cat((value.new_zeros(before), value, value.new_zeros(after)), along)
        return self._recorder.apply_edits(name, whole, plan).narrow(along, row, 1).contiguous()
