"""Edits of one layer, each alone, in batches that start at that layer: the layers below are not computed again."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from core.model import Model
from core.run import Run
from core.run.lazy_logits import check_finite
from core.trace import Edit

if TYPE_CHECKING:
    from jaxtyping import Float


Array = np.ndarray
ROOM = 2**26
"""Bytes that the values of one batch may have at a time."""


@dataclass(frozen=True)
class _EditPerRow:
    """An edit of a batch: row r is changed by edit r alone."""

    where: str
    edits: tuple[Edit, ...]

    def __call__(self, value: Tensor) -> Tensor:
        return torch.cat([edit(value[row : row + 1]) for row, edit in enumerate(self.edits)])


class _RecordingLayer(nn.Module):
    """A layer that records its input and output."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer
        self.layer_input: Any = None
        self.layer_output: Any = None

    def forward(self, x: Any, *rest: Any, **kwargs: Any) -> Any:
        self.layer_input = x
        self.layer_output = self.layer(x, *rest, **kwargs)
        return self.layer_output


class _SkippedLayer(nn.Module):
    """The replacement of a layer that need not be computed: returns its input, or the `value` given."""

    def __init__(self, value: Tensor | None = None) -> None:
        super().__init__()
        self.value = value

    def forward(self, x: Tensor, *rest: Any, **kwargs: Any) -> Tensor:
        return x if self.value is None else self.value.expand(len(x), *self.value.shape[1:])


class LayerEdits:
    """Runs of one input in which one value of a layer is changed, each run by an edit of its own.

    A layer reads what the layer below gave, which no change above it moves: the input is read once as it is, then each
    batch begins with what its layer was given. Where a network has no such list of layers (one used again and again,
    loops, something between two layers) it is read from the start. `kind` is one of the attentions in these layers. The
    target of a translator must be given. Numbers agree with those of single runs to rounding, not to the bit.
    """

    def __init__(
        self, model: Model, text: str, kind: str, *, target: str | None = None, pair: str | None = None
    ) -> None:
        self.model, self.kind = model, model.spec.kind(kind)
        self._read: dict[str, Any] = {"text": text, "target": target, "pair": pair}

    def edited_runs(self, layer: int, edits: Sequence[Edit]) -> Iterator[list[Run]]:
        """Yield the runs with each of these edits, which have one path, in a layer: as many in a batch as have room."""
        model, n = self._model_from(layer), self.batch_size
        for first in range(0, len(edits), n):
            batch = tuple(edits[first : first + n])
            many: dict[str, Any] = {
                f"{name}s": [value] * len(batch) for name, value in self._read.items() if value is not None
            }
            yield model.run_many(keep=(), edits=(_EditPerRow(batch[0].where, batch),), **many)

    def edited_scores(self, layer: int, edits: Sequence[Edit], row: int) -> Float[Array, "edit choice"]:
        """Return the scores at position `row`, or of the classes, with each of these edits, which have one path, in a layer."""
        return np.concatenate([_scores(runs, row) for runs in self.edited_runs(layer, edits)])

    @cached_property
    def batch_size(self) -> int:
        """Return how many rows of this input fit into `ROOM`, with the values of one layer and the scores of all positions."""
        config, (n, _) = self.model.config, self._plain_run
        widths = (
            6 * getattr(config, "d_model", 0) + 3 * getattr(config, "d_ff", 0) + getattr(config, "n_vocab", 0)
        )
        row = 4 * n * (widths + 4 * n * getattr(config, "n_heads", 1))
        return max(1, ROOM // row)

    def _model_from(self, layer: int) -> Model:
        """Return the model without the layers below this one."""
        _, inputs = self._plain_run
        if not layer or not inputs:
            return self.model
        name, layers = self._layers
        below = [_SkippedLayer()] * (layer - 1) + [_SkippedLayer(inputs[layer])]
        return _replace_layers(self.model, name, [*below, *layers[layer:]])

    @cached_property
    def _layers(self) -> tuple[str, list[nn.Module]]:
        """Return the name and the layers of the list that holds this kind; ("", []) where there is no such list."""
        n, network = self.kind.n_layers(self.model.config), self.model.network
        for name, part in network.named_children():
            whole = isinstance(part, nn.ModuleList) and self.kind.layered and len(set(part)) == len(part) == n
            if whole and all(
                any(each is self.kind.module(network, i) for each in block.modules())
                for i, block in enumerate(part)
            ):
                return name, list(part)
        return "", []

    @cached_property
    def _plain_run(self) -> tuple[int, list[Tensor]]:
        """Return the number of tokens that are read, and the input of each layer without edits: none where the layers are no chain of single tensors."""
        name, layers = self._layers
        seen = [_RecordingLayer(layer) for layer in layers]
        run = (_replace_layers(self.model, name, seen) if layers else self.model).run(**self._read, keep=())
        n = len(run.ids) + (len(run.source.ids) if run.source else 0)
        inputs = [each.layer_input for each in seen if isinstance(each.layer_input, Tensor)]
        joined = all(below.layer_output is above.layer_input for below, above in pairwise(seen))
        return n, inputs if joined and len(inputs) == len(seen) else []


def _replace_layers(model: Model, name: str, layers: Sequence[nn.Module]) -> Model:
    """Return a copy of the model that shares its weights and has other layers under this name."""
    network, changed = copy.copy(model.network), copy.copy(model)
    network._modules = {**model.network._modules, name: nn.ModuleList(layers)}
    object.__setattr__(changed, "network", network)  # as it was settled: a new Model would be settled anew
    return changed


def _scores(runs: Sequence[Run], row: int) -> Float[Array, "run choice"]:
    """Return one row of the `scores` of each run; for words no other row is computed."""
    model = runs[0].model
    if model.main_output != "logits" or model.outputs["logits"].reads != "hidden":
        return np.stack([run.scores[row] for run in runs])
    with torch.inference_mode():
        logits = model.network.logits(torch.cat([run.outputs.hidden[:, row : row + 1] for run in runs]))[:, 0]
    return check_finite(logits, model.name).float().numpy()
