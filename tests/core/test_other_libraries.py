"""Names of other libraries that core/README.md quotes exist in those that are installed."""

from __future__ import annotations

import inspect
from importlib import import_module

import pytest

from core import analysis

QUOTED = {
    "transformer_lens": (
        "model_bridge.TransformerBridge.run_with_cache",
        "model_bridge.TransformerBridge.run_with_hooks",
        "ActivationCache.accumulated_resid",
        "ActivationCache.logit_attrs",
        "ActivationCache.stack_head_results",
        "patching.get_act_patch_resid_pre",
    ),
    "bertviz": ("head_view",),
    "nnsight": ("LanguageModel.trace",),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("library", QUOTED)
def test_what_is_quoted_of_a_library_is_there(library: str) -> None:
    module = pytest.importorskip(library)
    for name in QUOTED[library]:
        value = module
        for part in name.split("."):
            value = getattr(value, part, None) or import_module(f"{library}.{part}")
        assert callable(value), name


def test_every_name_of_the_flat_face_is_a_documented_function_or_class() -> None:
    assert set(analysis.__all__) <= set(dir(analysis)) and 18 <= len(analysis.__all__) <= 24
    for name in analysis.__all__:
        assert inspect.getdoc(getattr(analysis, name)), name
