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
    from core.analysis.attribution.ablation_sweep import ModelInput, ablation_effects
    from core.analysis.attribution.composition import composition
    from core.analysis.attribution.integrated_gradients import integrated_gradients, written_gradients
    from core.analysis.attribution.logit_attribution import attribute
    from core.analysis.attribution.patching import (
        make_pair,
        patch_grid,
    )
    from core.analysis.attribution.path_patching import path_patching
    from core.analysis.attribution.score_parts import score_parts
    from core.analysis.attribution.target_token import output_target
    from core.analysis.attribution.token_importance import input_gradient
    from core.analysis.heads.corpus import head_corpus
    from core.analysis.heads.head_survey import survey_heads
    from core.analysis.heads.pattern_distance import compare_patterns
    from core.analysis.residual.delta import attention_change
    from core.analysis.residual.logit_lens import logit_lens
    from core.analysis.residual.ripple import ripple

__all__ = [
    "ModelInput",
    "ablation_effects",
    "aggregate_heads",
    "attention_change",
    "attribute",
    "cell_arithmetic",
    "compare_patterns",
    "composition",
    "entropy",
    "head_corpus",
    "input_gradient",
    "integrated_gradients",
    "logit_lens",
    "make_pair",
    "output_target",
    "patch_grid",
    "path_patching",
    "ripple",
    "rollout",
    "score_parts",
    "survey_heads",
    "written_gradients",
]
_MODULES = {
    "ModelInput": "attribution.ablation_sweep",
    "ablation_effects": "attribution.ablation_sweep",
    "aggregate_heads": "attention.aggregate",
    "attention_change": "residual.delta",
    "attribute": "attribution.logit_attribution",
    "cell_arithmetic": "arithmetic.cell",
    "compare_patterns": "heads.pattern_distance",
    "composition": "attribution.composition",
    "entropy": "attention.measures",
    "head_corpus": "heads.corpus",
    "input_gradient": "attribution.token_importance",
    "integrated_gradients": "attribution.integrated_gradients",
    "logit_lens": "residual.logit_lens",
    "make_pair": "attribution.patching",
    "output_target": "attribution.target_token",
    "patch_grid": "attribution.patching",
    "path_patching": "attribution.path_patching",
    "ripple": "residual.ripple",
    "rollout": "attention.aggregate",
    "score_parts": "attribution.score_parts",
    "survey_heads": "heads.head_survey",
    "written_gradients": "attribution.integrated_gradients",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'core.analysis' has no attribute '{name}'")
    value = globals()[name] = getattr(import_module(f"core.analysis.{_MODULES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
