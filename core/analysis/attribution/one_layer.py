"""Ablation of the heads of one layer, each alone, in one batch that starts at that layer: the layers below are not computed again."""

from __future__ import annotations

import copy
from collections.abc import Sequence
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


class LayerAblation:
    """Runs of one input in which the heads of a layer are changed, each alone.

    A layer reads what the layer below gave, which no change above it moves: the input is read once as it is, then each
    batch begins with what its layer was given. Where a network has no such list of layers (one used again and again,
    loops, something between two layers) it is read from the start. The target of a translator must be given.
    Numbers agree with those of single runs to rounding, not to the bit.
    """

    def __init__(
        self, model: Model, text: str, kind: str, *, target: str | None = None, pair: str | None = None
    ) -> None:
        self.model, self.kind = model, model.spec.kind(kind)
        self._read: dict[str, Any] = {"text": text, "target": target, "pair": pair}

    def edited_scores(self, layer: int, edits: Sequence[Edit], row: int) -> Float[Array, "edit choice"]:
        """Return the scores at position `row`, or of the classes, with each of these edits of the layer's heads."""
        model, n = self._model_from(layer), len(edits)
        texts = [self._read["text"]] * n
        many: dict[str, Any] = {
            f"{name}s": [self._read[name]] * n for name in ("target", "pair") if self._read[name] is not None
        }
        each = _EditPerRow(self.kind.path(layer, "heads"), tuple(edits))
        runs = model.run_many(texts, keep=(), edits=(each,), **many)
        return np.stack([_scores(run, row) for run in runs])

    def _model_from(self, layer: int) -> Model:
        """Return the model without the layers below this one."""
        if not layer or not self._layer_inputs:
            return self.model
        name, layers = self._layers
        below = [_SkippedLayer()] * (layer - 1) + [_SkippedLayer(self._layer_inputs[layer])]
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
    def _layer_inputs(self) -> list[Tensor]:
        """Return the input of each layer without edits; empty where the layers are no chain of single tensors."""
        name, layers = self._layers
        if not layers:
            return []
        seen = [_RecordingLayer(layer) for layer in layers]
        _replace_layers(self.model, name, seen).run(**self._read, keep=())
        inputs = [each.layer_input for each in seen if isinstance(each.layer_input, Tensor)]
        joined = all(below.layer_output is above.layer_input for below, above in pairwise(seen))
        if not joined or len(inputs) < len(seen):
            return []
        return inputs


def _replace_layers(model: Model, name: str, layers: Sequence[nn.Module]) -> Model:
    """Return a copy of the model that shares its weights and has other layers under this name."""
    network, found = copy.copy(model.network), copy.copy(model)
    network._modules = {**model.network._modules, name: nn.ModuleList(layers)}
    object.__setattr__(found, "network", network)  # as it was settled: a new Model would be settled anew
    return found


def _scores(run: Run, row: int) -> Array:
    """Return one row of `run.scores`; for words no other row is computed."""
    model = run.model
    if model.main_output != "logits" or model.outputs["logits"].reads != "hidden":
        return run.scores[row].copy()
    with torch.inference_mode():
        found = model.network.logits(run.outputs.hidden[:, row : row + 1])[0, 0]
    return check_finite(found, model.name).float().numpy()
