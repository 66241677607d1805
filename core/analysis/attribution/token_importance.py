"""The importance of words of a text, or patches of a picture, for an output: by attention weights and by gradients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import torch

from core.abilities import ASKABLE
from core.analysis.attention.aggregate import rollout
from core.analysis.attribution.ablation_sweep import ModelInput, pearson
from core.analysis.attribution.importance import head_contributions
from core.analysis.attribution.target_token import OutputTarget, read_positions
from core.edits import DropToken
from core.model import Model
from core.run import Run

if TYPE_CHECKING:
    from jaxtyping import Float, Real


Array = np.ndarray

KEEP = ("*.pattern", "*.v", "|".join(ASKABLE))
"""The values that a run must keep for this."""


def attention_shares(run: Run, output: OutputTarget, kind: str) -> dict[str, Float[Array, " key"]]:
    """Return the importance of each key for the output by three readings of the weights, as shares that add up to 1.

    - "attention": the mean of the last layer's heads, at the position that the asked score is computed from (of several their mean).
    - "rollout": `aggregate.rollout` there (only where a text looks at itself).
    - "value-weighted": as attention, each weight times the length of the vector it brings, a_ij ||v_j W_O|| (Kobayashi et al. 2020).
    """
    weights, rows = run.attention(kind).weights, read_positions(run, output)
    measures = {"attention": weights[-1][:, rows].mean((0, 1))}
    family = run.model.spec.kind(kind)
    if family.queries == family.keys:
        measures["rollout"] = rollout(weights)[-1, rows].mean(0)
    measures["value-weighted"] = head_contributions(run, kind)[-1][:, rows].sum(0).mean(0)
    return {name: _share(values) for name, values in measures.items()}


def attention_gradient(
    model: Model, item: ModelInput, output: OutputTarget, kind: str
) -> Float[Array, " key"]:
    """Compute attention times gradient, as shares: the sum over layers, heads and queries of max(0, a_ij df/da_ij), f the output."""
    kind_spec = model.spec.kind(kind)
    paths = [kind_spec.path(layer, "pattern") for layer in range(kind_spec.n_layers(model.config))]
    with torch.inference_mode(False):
        run = item.run(model, keep=paths, grad=output.goal)
    return _share(
        sum(
            (np.maximum(run.trace[path] * run.trace.grad(path), 0).sum((0, 1)) for path in paths), np.zeros(1)
        )
    )


def input_gradient(model: Model, item: ModelInput, output: OutputTarget) -> Float[Array, " pos"]:
    """Compute gradient times input as shares that sum to 1: |sum_d x_jd df/dx_jd|, x_j the vector of token or patch j before
    its position is added (Denil et al. 2014).
    """
    with torch.inference_mode(False):
        run = item.run(model, keep=("embed.token",), grad=output.goal)
    return _share(np.abs((run.trace["embed.token"] * run.trace.grad("embed.token")).sum(-1)))


def key_mask(model: Model, kind: str, key: int) -> DropToken:
    """Return the edit that masks one word for all queries, in all layers and heads."""
    path = model.spec.kind(kind).path(0, "allowed")
    return DropToken(path.replace(".0.", ".*.", 1), key)


def _share(values: Array) -> Array:
    total = float(values.sum())
    return values.astype(np.float64) / (total or 1.0)


def spearman(one: Real[Array, "*shape"], other: Real[Array, "*shape"]) -> float:
    """Return Spearman's rank correlation; equal values share the mean of their ranks; 0 where one does not vary.

    >>> round(spearman(np.array([0.1, 0.5, 0.2]), np.array([1.0, 9.0, 2.0])), 9)
    1.0
    """
    return pearson(_ranks(one), _ranks(other))


def _ranks(values: Array) -> Array:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return ((ends - counts + ends - 1) / 2)[inverse]


def top_keys(shared: Mapping[str, Float[Array, " key"]]) -> dict[str, int]:
    """Return the key with the largest share, by reading."""
    return {name: int(values.argmax()) for name, values in shared.items()}
