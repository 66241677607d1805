"""The importance of words of a text, or patches of a picture, for a chosen output: by three readings of the attention weights, and by removing words."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch

from core.abilities import ASKABLE
from core.analysis.attention.aggregate import rollout
from core.analysis.attribution.ablation_sweep import Item, agreement
from core.analysis.attribution.importance import brought
from core.analysis.attribution.target_token import Asked, positions
from core.edits import DropToken
from core.model import Model
from core.run import Run

Array = np.ndarray

KEEP = ("*.pattern", "*.v", "|".join(ASKABLE))
"""The values that a run must keep for this."""


def shares(run: Run, asked: Asked, kind: str) -> dict[str, Array]:
    """Return the importance of each key for the asked score by three readings of the weights: (key,) each, shares that add up to 1.

    - "attention": the mean of the last layer's heads, at the position that the asked score is computed from (of several their mean).
    - "rollout": `aggregate.rollout` there (only where a text looks at itself).
    - "value-weighted": as attention, each weight times the length of the vector it brings, a_ij ||v_j W_O|| (Kobayashi et al. 2020).
    """
    weights, rows = run.attention(kind).weights, positions(run, asked)
    found = {"attention": weights[-1][:, rows].mean((0, 1))}
    family = run.model.spec.kind(kind)
    if family.queries == family.keys:
        found["rollout"] = rollout(weights)[-1, rows].mean(0)
    found["value-weighted"] = brought(run, kind)[-1][:, rows].sum(0).mean(0)
    return {name: _share(values) for name, values in found.items()}


def attention_gradient(model: Model, item: Item, asked: Asked, kind: str) -> Array:
    """Attention times gradient, in shares: the sum over layers, heads and queries of max(0, a_ij df/da_ij), f the asked number."""
    found = model.spec.kind(kind)
    paths = [found.path(layer, "pattern") for layer in range(found.n_layers(model.config))]
    with torch.inference_mode(False):
        run = item.run(model, keep=paths, grad=asked.goal)
    return _share(
        sum(
            (np.maximum(run.trace[path] * run.trace.grad(path), 0).sum((0, 1)) for path in paths), np.zeros(1)
        )
    )


def input_gradient(model: Model, item: Item, asked: Asked) -> Array:
    """Gradient times input, in shares: |sum_d x_jd df/dx_jd|, x_j the vector of token j, or of patch j, before its position is added (Denil et al. 2014)."""
    with torch.inference_mode(False):
        run = item.run(model, keep=("embed.token",), grad=asked.goal)
    return _share(np.abs((run.trace["embed.token"] * run.trace.grad("embed.token")).sum(-1)))


def hidden_from(model: Model, kind: str, key: int) -> DropToken:
    """One word that no word may look at any more, in all layers and heads."""
    path = model.spec.kind(kind).path(0, "allowed")
    return DropToken(path.replace(".0.", ".*.", 1), key)


def _share(values: Array) -> Array:
    total = float(values.sum())
    return values.astype(np.float64) / (total or 1.0)


def ranks_agree(one: Array, other: Array) -> float:
    """Spearman's rank correlation; equal values share the mean of their ranks; 0 where one does not vary.

    >>> round(ranks_agree(np.array([0.1, 0.5, 0.2]), np.array([1.0, 9.0, 2.0])), 9)
    1.0
    """
    return agreement(_ranks(one), _ranks(other))


def _ranks(values: Array) -> Array:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return ((ends - counts + ends - 1) / 2)[inverse]


def most(shared: Mapping[str, Array]) -> dict[str, int]:
    """The key with the largest share, by reading."""
    return {name: int(values.argmax()) for name, values in shared.items()}
