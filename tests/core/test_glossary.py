"""The glossary names every leaf and axis that any family records."""

from __future__ import annotations

import inspect
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch
from opened_once import COMPILERS, IMPORTED_BY_CORE

from core import analysis, glossary
from core.analysis.attention.measures import entropy
from core.analysis.heads.pattern_distance import jensen_shannon
from core.checkpoints import find

GOLDEN = sorted((Path(__file__).parent.parent / "golden").glob("*.txt"))


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: file.stem)
def test_every_recorded_leaf_and_axis_has_an_entry(file):
    axes = {term.name for term in glossary.AXES}
    for line in file.read_text(encoding="utf-8").splitlines():
        path, words = line.split(": ")
        assert glossary.leaf(path) is not None, path
        assert set(words.split()) <= axes, line


def test_names_are_unique_and_sentences_end():
    for terms in (glossary.LEAVES, glossary.AXES, glossary.METHODS):
        assert len({term.name for term in terms}) == len(terms)
        assert all(term.sentence.endswith(".") and term.symbol and term.word for term in terms)
    assert {letter.letter for letter in glossary.LETTERS} == set("phnkSMVH")
    assert all(len(letter.meanings) >= 2 for letter in glossary.LETTERS)


def test_measures_and_methods_have_an_entry_and_are_found_where_a_text_speaks_of_them():
    words = {term.word for term in glossary.METHODS}
    assert {"surprisal", "logit lens", "KV cache", "ablation", "Jensen-Shannon divergence"} <= words
    assert not words & {term.word for term in (*glossary.LEAVES, *glossary.AXES)}
    for term in glossary.METHODS:
        assert term in glossary.mentioned_terms(f"{term.word.capitalize()} of 3.")
        assert glossary.term(term.name) is term
    assert [term.word for term in glossary.mentioned_terms("a cross-entropy of 2 bits")] == [
        "cross-entropy"
    ], "not the entropy besides"
    assert glossary.mentioned_terms("The cat sat.") == ()


def test_what_the_glossary_says_of_a_measure_is_so():
    """The formulas and the ends of the scales in its sentences, from the functions that pages use."""
    certain, even, apart = np.array([1.0, 0, 0, 0]), np.full(4, 0.25), np.array([0, 1.0, 0, 0])
    assert entropy(certain[None]).item() == 0 and np.isclose(
        entropy(even[None]).item() / np.log(2), np.log2(4)
    )
    mean = (certain + even) / 2
    bits = (entropy(mean[None]) - (entropy(certain[None]) + entropy(even[None])) / 2).item() / np.log(2)
    assert np.isclose(jensen_shannon(certain, even), bits)
    assert np.isclose(jensen_shannon(even, even), 0) and np.isclose(jensen_shannon(certain, apart), 1)


# ---------------- Names of other libraries that core/README.md quotes exist in those that are installed.


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
def test_what_is_quoted_of_a_library_is_there(library):
    module = pytest.importorskip(library)
    for name in QUOTED[library]:
        value = module
        for part in name.split("."):
            value = getattr(value, part, None) or import_module(f"{library}.{part}")
        assert callable(value), name


def test_every_name_of_the_flat_face_is_a_documented_function_or_class():
    assert set(analysis.__all__) <= set(dir(analysis)) and 18 <= len(analysis.__all__) <= 24
    for name in analysis.__all__:
        assert inspect.getdoc(getattr(analysis, name)), name


# ---------------- What a start of the app must not pay for.


def test_listing_the_shipped_models_does_not_import_a_compiler(monkeypatch):
    assert IMPORTED_BY_CORE == []
    for name in COMPILERS:
        monkeypatch.setitem(sys.modules, name, None)  # whoever imports it now fails
        monkeypatch.delitem(vars(torch), name.rpartition(".")[2], raising=False)
    monkeypatch.setattr(find, "_CHECKED", {})
    assert all(model.ok for model in find.listing())
