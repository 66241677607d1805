"""The routers of a mixture of experts: which experts compute each token in each layer, and with which weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.errors import InputError
from core.run import Run

if TYPE_CHECKING:
    from jaxtyping import Float, Int


Array = np.ndarray
KEEP = ("*ffn.router|*ffn.routed",)
"""Paths that a run must have recorded."""


@dataclass(frozen=True)
class Routing:
    """Scores of the router and weights of the experts; an expert that is not chosen has the weight 0."""

    scores: Float[Array, "layer pos expert"]
    weights: Float[Array, "layer pos expert"]

    def experts_of(self, layer: int, position: int) -> list[int]:
        """Return the experts that compute a token, that of the largest weight first.

        >>> Routing(np.zeros((1, 1, 3)), np.array([[[0.2, 0.0, 0.8]]])).experts_of(0, 0)
        [2, 0]
        """
        row = self.weights[layer, position]
        return [int(expert) for expert in np.argsort(-row, kind="stable") if row[expert] > 0]

    def counts(self, layer: int) -> Int[Array, " expert"]:
        """Return how many tokens each expert computes in a layer."""
        return (self.weights[layer] > 0).sum(0)


def routing(run: Run) -> Routing:
    """Return what the routers of a run decided. Raises InputError for a model without experts.

    Shazeer et al. 2017, section 2.1: each token is computed by the few experts with the largest scores x W_r, weighted by their softmax.
    """
    if not run.model.can("choose_experts"):
        raise InputError(
            "{name} has no router.",
            "A router belongs to layers with experts; {lack}",
            "Choose a mixture of experts, such as an OLMoE.",
            name=run.model.name,
            lack=run.model.lacks("choose_experts"),
        )
    layers, n = range(run.model.config.n_layers), run.side.n_real
    scores, weights = (
        np.stack([run.trace[f"layer.{layer}.ffn.{leaf}"][:n] for layer in layers])
        for leaf in ("router", "routed")
    )
    return Routing(scores, weights)
