"""Path patching: how much of the difference of two texts goes from one head to another through the residual stream alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from core.analysis.attribution.composition import check_stream
from core.analysis.attribution.one_layer import LayerEdits
from core.analysis.attribution.patching import Pair, PatchAt, input_of, restored_shares
from core.edits import Function
from core.errors import InputError
from core.run import Run

if TYPE_CHECKING:
    from jaxtyping import Float


Array = np.ndarray
LEAVES = {"query": "q", "key": "k", "value": "v"}
"""The three inputs of a head by which it may receive."""


def path_patching(
    pair: Pair,
    kind: str,
    receiver: tuple[int, int],
    by: str = "key",
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Float[Array, "layer head"]:
    """Return for every earlier head the share of a pair's difference that its clean output restores through one input of the receiver alone.

    Two runs of the corrupted text for each sender (Wang et al. 2022, "Interpretability in the wild", Goldowsky-Dill et al. 2023): in the
    first the sender has its clean output, and all other heads and all feed-forward networks below the receiver the corrupted ones,
    so what reaches the receiver came through the residual stream, and norms, only. The receiver's query, key or value
    (`by`) that this gives is put into the second, in which everything else is computed as usual. `receiver` is its layer and number;
    the rows are the layers below it. `progress` is called with the number of senders done and of all.
    Raises InputError for an attention without a residual stream of its own, and for a head that there is not.

    >>> import core
    >>> from core.analysis import make_pair
    >>> model = core.open_model("induction-tiny")
    >>> pair = make_pair(model.run("kmwpk"), model.run("zmwpk"), answer="m", foil="w")
    >>> path_patching(pair, "causal", receiver=(1, 0), by="key").shape
    (1, 2)
    """
    model, (layer, head) = pair.clean.model, receiver
    check_stream(model, kind)
    if by not in LEAVES:
        raise InputError(
            "A head receives nothing by '{by}'.",
            "It has {names}.",
            "Choose one of them.",
            by=by,
            names=", ".join(LEAVES),
        )
    attention, n_heads = model.spec.kind(kind), model.config.n_heads
    if not (0 < layer < attention.n_layers(model.config) and 0 <= head < n_heads):
        raise InputError(
            "L{layer}.H{head} receives nothing from an earlier head.",
            "There are {n_layers} layers of {n_heads} heads, counted from 0, and nothing is below layer 0.",
            "Choose a head of a later layer.",
            layer=layer,
            head=head,
            n_layers=attention.n_layers(model.config),
            n_heads=n_heads,
        )
    inputs = input_of(pair.corrupted)
    runs = LayerEdits(model, inputs["text"], kind, target=inputs["target"], pair=inputs["pair"])
    frozen = _SubLayers(pair, kind, layer)
    path = attention.path(layer, LEAVES[by])
    senders = list(np.ndindex(layer, n_heads))
    shares: list[Array] = []
    for first in range(0, len(senders), runs.batch_size):
        batch = senders[first : first + runs.batch_size]
        received = _run_many(pair.corrupted, len(batch), keep=(path,), edits=frozen.edits(batch))
        edits = [PatchAt(path, head, torch.tensor(run.trace[path])) for run in received]
        shares.append(restored_shares(pair, runs, layer, edits))
        if progress is not None:
            progress(first + len(batch), len(senders))
    return np.concatenate(shares).reshape(layer, n_heads)


class _SubLayers:
    """The outputs of all heads and feed-forward networks below a layer in the corrupted run, and of the heads of one kind in the clean run."""

    def __init__(self, pair: Pair, kind: str, below: int) -> None:
        spec, config = pair.clean.model.spec, pair.clean.model.config
        attention = spec.kind(kind)
        inside = [each for each in spec.kinds_of(config) if each.layered and each.stack == attention.stack]
        paths = [
            path
            for layer in range(below)
            for path in (
                *(each.path(layer, "heads") for each in inside),
                f"{attention.stack}.{layer}.ffn.out",
            )
            if pair.corrupted.trace.has_visited(path)
        ]
        self._corrupted = self._values(pair.corrupted, paths)
        self._head_paths = [attention.path(layer, "heads") for layer in range(below)]
        self._clean = self._values(pair.clean, self._head_paths)

    def edits(self, senders: list[tuple[int, int]]) -> list[Function]:
        """Return the edits of a batch in which row r has the clean output of head `senders[r]`, and all else the corrupted one."""

        def replacement(path: str) -> Callable[[Tensor], Tensor]:
            rows = {row: head for row, (layer, head) in enumerate(senders) if path == self._head_paths[layer]}

            def replaced(value: Tensor) -> Tensor:
                new = self._corrupted[path].to(value.dtype).expand_as(value)
                if rows:
                    new = new.clone()
                for row, head in rows.items():
                    new[row, head] = self._clean[path][head].to(value.dtype)
                return new

            return replaced

        return [Function(path, replacement(path)) for path in self._corrupted]

    @staticmethod
    def _values(run: Run, paths: list[str]) -> dict[str, Tensor]:
        (again,) = _run_many(run, 1, keep=paths)
        return {path: torch.tensor(again.trace[path]) for path in paths}


def _run_many(run: Run, n: int, **options: Any) -> list[Run]:
    """Return n runs of the input of a run, as one batch."""
    many: Any = {f"{name}s": [value] * n for name, value in input_of(run).items()}
    return run.model.run_many(**many, **options)
