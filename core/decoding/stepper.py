"""The reading of a text step by step by any network, of one stack or two or recurrent: tokens in, logits out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from torch import Tensor

from core.decoding.fast_gpt_step import OneToken
from core.models import Batch, Kind
from core.trace import Edit, Recorder, Tap, matches

if TYPE_CHECKING:
    from core.decoding.prompt import Prompt
    from core.model import Model
    from core.run import Run

Array = np.ndarray
VALUES = ("pattern", "allowed")
Forward = Callable[[Tensor, Tap, Any], Tensor]


@dataclass(frozen=True)
class StepOutputs:
    """The outputs of one step for each row: logits (row, vocab), for each kind the new pattern (row, layer, head, key), and
    in the same shape the mask of the keys that it was allowed to attend."""

    logits: Array
    attention: Mapping[str, Array]
    allowed: Mapping[str, Array]


class StepReader(Protocol):
    """The interface that a decoding needs of a network. Rows are texts of one length that are written in parallel."""

    @property
    def kinds(self) -> Sequence[Kind]: ...

    @property
    def nbytes(self) -> int: ...

    def read(self, new: Sequence[Sequence[int]]) -> StepOutputs: ...

    def keep(self, rows: Sequence[int]) -> None: ...


class Stepper:
    """A network that reads a text step by step, with keys and values (or recurrent states) cached; a call costs only the new tokens.

    With edits nothing is cached: the whole text is read again at each step, so that an edit of query 3 meets the same
    cell each time. A stepper belongs to one decoding; nothing is stored on the model. A `run` of the prompt that was made
    with `reads_on` is its first reading.
    """

    def __init__(self, m: Model, prompt: Prompt, edits: Sequence[Edit] = (), run: Run | None = None) -> None:
        self.kinds = tuple(kind for kind in m.spec.kinds_of(m.config) if kind.queries == "target")
        self._network, self._edits = m.network, tuple(edits)
        self._layers = {kind: range(kind.n_layers(m.config)) for kind in self.kinds}
        self._keep = tuple(
            kind.path(i, value) for kind, layers in self._layers.items() for i in layers for value in VALUES
        )
        self._forward = _two_stacks(m.network, prompt) if m.spec.has_source else _one_stack(m.network)
        self._cache = None if edits else m.network.new_cache()
        self._one = OneToken(m.network) if not edits and OneToken.fits(m.network) else None
        self._read: list[list[int]] = []
        self._all = any(matches("logits", edit.where) for edit in edits)
        self._first: StepOutputs | None = None
        fits = (
            run is not None
            and not edits
            and run.ids == prompt.ids
            and self._keep
            and all(path in run.trace for path in self._keep)
        )
        if run is not None and fits and (cache := run.take_cache()) is not None:
            self._cache, self._first = cache, self._last_of(run)

    def _last_of(self, run: Run) -> StepOutputs:
        """Return a run's outputs for its last token."""
        with torch.inference_mode():
            logits = self._network.logits(run.outputs.hidden[:, -1:])[:, -1]
        patterns, allowed = (
            {
                kind.name: np.stack([run.trace[kind.path(i, value)][:, -1] for i in layers])[None]
                for kind, layers in self._layers.items()
            }
            for value in VALUES
        )
        return StepOutputs(logits.double().numpy(), patterns, allowed)

    @property
    def nbytes(self) -> int:
        """Return the bytes of the cached keys and values, or of the states of a recurrent network."""
        return 0 if self._cache is None else self._cache.nbytes

    @torch.inference_mode()
    def read(self, new: Sequence[Sequence[int]]) -> StepOutputs:
        """Read the new tokens of each row, after those read before, and return logits, patterns and masks of its last position."""
        if self._first is not None:
            first, self._first = self._first, None
            return first
        if self._cache is None:
            self._read = [[*old, *row] for old, row in zip(self._read or [[] for _ in new], new, strict=True)]
            tap = Recorder(self._keep, self._edits, partial=True)
            hidden = self._forward(torch.tensor(self._read), tap, None)
            if (
                not self._all
            ):  # the vocabulary is wide: its scores at every position cost more than the layers
                hidden = hidden[:, -1:]
        else:
            ids = torch.tensor([list(row) for row in new])
            if self._one is not None and self._cache.n_read and ids.shape == (1, 1):
                return self._read_one(int(ids[0, 0]), self._one, self._cache)
            tap = Recorder(self._keep, last_query=True)
            hidden = self._forward(ids, tap, self._cache)[:, -1:]
        logits = self._network.logits(hidden, tap)[:, -1]
        trace = tap.close()
        patterns, allowed = (
            {
                kind.name: _layers_of([trace[kind.path(i, value)] for i in layers])
                for kind, layers in self._layers.items()
            }
            for value in VALUES
        )
        return StepOutputs(logits.double().numpy(), patterns, allowed)

    def _read_one(self, token: int, one: OneToken, cache: Any) -> StepOutputs:
        logits, pattern = one(token, cache)
        found, kind = pattern[None].numpy(), self.kinds[0].name
        return StepOutputs(
            logits[None].double().numpy(), {kind: found}, {kind: np.broadcast_to(True, found.shape)}
        )

    def keep(self, rows: Sequence[int]) -> None:
        """Continue with these rows, in this order; a row may be dropped, or continued twice."""
        if self._cache is None:
            self._read = [list(self._read[row]) for row in rows]
        else:
            self._cache.reorder(torch.tensor(rows))


def _layers_of(values: list[Tensor]) -> Array:
    """Return the attention of the last query, (row, layer, head, key), from each layer's (row, head, query, key)."""
    first = values[0]
    if all(value.data_ptr() == first.data_ptr() and value.stride() == first.stride() for value in values[1:]):
        return first[:, None, :, -1].expand(-1, len(values), -1, -1).numpy()  # a mask that all layers share
    found = torch.stack([value[:, :, -1] for value in values], dim=1)
    return found.numpy() if found.dtype == torch.bool else found.float().numpy()


def _one_stack(network: Any) -> Forward:
    def forward(ids: Tensor, tap: Tap, cache: Any) -> Tensor:
        return network(Batch(ids=ids, real=torch.ones_like(ids, dtype=torch.bool)), tap=tap, cache=cache)

    return forward


def _two_stacks(network: Any, prompt: Prompt) -> Forward:
    """Return the forward of an encoder-decoder: the source is encoded once for all rows, unless edits change the encoder too."""
    words = torch.tensor([list(prompt.source)])
    real = torch.ones_like(words, dtype=torch.bool)
    values = None if prompt.values is None else torch.from_numpy(prompt.values)[None]
    given = Batch(ids=words, real=real, source=words, source_real=real, values=values)
    memory: list[Tensor] = []

    def forward(ids: Tensor, tap: Tap, cache: Any) -> Tensor:
        batch = replace(given, ids=ids, real=torch.ones_like(ids, dtype=torch.bool))
        if cache is None:
            return network(batch, tap=tap)
        if not memory:
            memory.append(network.encode(given))
        return network(batch, tap=tap, cache=cache, memory=memory[0])

    return forward
