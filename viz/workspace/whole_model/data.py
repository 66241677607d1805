"""The whole model on one screen: which models fit on it, and the heads that it opens with."""

from __future__ import annotations

from core.analysis.heads.habits import HeadHabits
from core.model import Model
from viz.languages import _

MOST_LAYERS = 8
"""More blocks would be too narrow to read beside each other."""
KEEP = ("*.pattern", "*.resid_in", "*.resid_out")


def fits(model: Model) -> bool:
    """Return whether the page can draw this model: Transformer layers that predict a next token, few enough for one screen."""
    kinds = model.spec.kinds_of(model.config)
    return (
        "logits" in model.outputs
        and bool(kinds)
        and all(kind.layered for kind in kinds)
        and any(kind.name == "causal" for kind in kinds)
        and model.spec.stream == ("resid_in", "resid_out")  # SNAIL's blocks have no feed-forward layer
        and all(kind.n_layers(model.config) <= MOST_LAYERS for kind in kinds)
    )


def lacks(model: Model) -> str:
    """Return why the page cannot draw this model, as the end of a sentence about it; "" where it can."""
    return (
        ""
        if fits(model)
        else _(
            "this page draws Transformers that predict a next token and have at most {n} layers.",
            n=MOST_LAYERS,
        )
    )


def telling_heads(measured: HeadHabits) -> list[int]:
    """Return of each layer the head with the clearest habit; one with near-uniform attention only where there is no other."""
    n_layers, n_heads = measured.shape

    def clarity(layer: int, head: int) -> tuple[bool, float]:
        return measured.habit(layer, head) not in ("spread", "mixed"), measured.score(layer, head)

    return [max(range(n_heads), key=lambda head: clarity(layer, head)) for layer in range(n_layers)]
