"""Analysis of runs: attention patterns, attribution, the residual stream, and the arithmetic of one weight.

The functions that a notebook needs most are names of this package, imported on first access; the modules have the others.

>>> import numpy as np
>>> from core import analysis
>>> analysis.entropy(np.array([0.5, 0.5])).round(3).item()
0.693
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from core.analysis.arithmetic.cell import cell_arithmetic
    from core.analysis.attention.aggregate import aggregate_heads, rollout
    from core.analysis.attention.measures import entropy
    from core.analysis.attribution.ablation_sweep import ModelInput, ablation_effects, gradient_estimates
    from core.analysis.attribution.composition import composition
    from core.analysis.attribution.erasing import deletion_curve
    from core.analysis.attribution.integrated_gradients import integrated_gradients, written_gradients
    from core.analysis.attribution.logit_attribution import attribute
    from core.analysis.attribution.patching import (
        head_patch,
        make_pair,
        patch_grid,
        position_patch,
        restored_share,
    )
    from core.analysis.attribution.path_patching import path_patching
    from core.analysis.attribution.score_parts import score_parts, scores_of_attending
    from core.analysis.attribution.target_token import output_target
    from core.analysis.attribution.token_importance import attention_shares, input_gradient
    from core.analysis.heads.corpus import head_corpus
    from core.analysis.heads.head_survey import survey_heads
    from core.analysis.heads.pattern_distance import compare_patterns, jensen_shannon
    from core.analysis.residual.delta import attention_change, prediction_change, stream_change
    from core.analysis.residual.logit_lens import logit_lens
    from core.analysis.residual.ripple import reach, ripple

__all__ = [
    "ModelInput",
    "ablation_effects",
    "aggregate_heads",
    "attention_change",
    "attention_shares",
    "attribute",
    "cell_arithmetic",
    "compare_patterns",
    "composition",
    "deletion_curve",
    "entropy",
    "gradient_estimates",
    "head_corpus",
    "head_patch",
    "input_gradient",
    "integrated_gradients",
    "jensen_shannon",
    "logit_lens",
    "make_pair",
    "output_target",
    "patch_grid",
    "path_patching",
    "position_patch",
    "prediction_change",
    "reach",
    "restored_share",
    "ripple",
    "rollout",
    "score_parts",
    "scores_of_attending",
    "stream_change",
    "survey_heads",
    "written_gradients",
]
_MODULES = {
    "arithmetic.cell": ("cell_arithmetic",),
    "attention.aggregate": ("aggregate_heads", "rollout"),
    "attention.measures": ("entropy",),
    "attribution.ablation_sweep": ("ModelInput", "ablation_effects", "gradient_estimates"),
    "attribution.composition": ("composition",),
    "attribution.erasing": ("deletion_curve",),
    "attribution.integrated_gradients": ("integrated_gradients", "written_gradients"),
    "attribution.logit_attribution": ("attribute",),
    "attribution.path_patching": ("path_patching",),
    "attribution.patching": ("head_patch", "make_pair", "patch_grid", "position_patch", "restored_share"),
    "attribution.score_parts": ("score_parts", "scores_of_attending"),
    "attribution.target_token": ("output_target",),
    "attribution.token_importance": ("attention_shares", "input_gradient"),
    "heads.corpus": ("head_corpus",),
    "heads.head_survey": ("survey_heads",),
    "heads.pattern_distance": ("compare_patterns", "jensen_shannon"),
    "residual.delta": ("attention_change", "prediction_change", "stream_change"),
    "residual.logit_lens": ("logit_lens",),
    "residual.ripple": ("reach", "ripple"),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'core.analysis' has no attribute '{name}'")
    value = globals()[name] = getattr(import_module(f"core.analysis.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
