"""Scores and sizes of contributions: the tensors of the run, and where they mean nothing, nothing."""

from __future__ import annotations

import numpy as np
import pytest

import core
from core.analysis.attention.lenses import log_denominators, scores_and_norms
from core.analysis.attention.measures import contributions


@pytest.fixture(scope="module")
def model():
    return core.open_model("translator-en-es")


def test_sizes_times_weights_are_the_contributions(model):
    run = model.run("She has a white car.", target="Ella tiene un coche blanco.")
    pattern, v = run.trace["decoder.layer.1.cross_attn.pattern"], run.trace["decoder.layer.1.cross_attn.v"]
    to_out = model.network.decoder[1].cross_attn.to_out.weight.detach().numpy()
    parts = to_out.reshape(to_out.shape[0], len(v), -1).transpose(1, 2, 0)
    scores, sizes = scores_and_norms(run, "cross", 1, 3)
    np.testing.assert_allclose(pattern[3] * sizes, contributions(pattern, v, parts)[3], rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(scores, run.trace["decoder.layer.1.cross_attn.scores"][3])


def test_words_of_several_pieces_have_neither(model):
    run = model.run("Unbelievable xylophones.", target="Hola.")
    assert scores_and_norms(run, "cross", 0, 0, "word", writing=True) == (None, None)
    scores, sizes = scores_and_norms(run, "cross", 0, 0, "token")
    assert scores is not None and sizes is not None


def test_what_was_not_recorded_is_none(model):
    run = model.run("She has a white car.", keep=["*.pattern"])
    assert scores_and_norms(run, "cross", 0, 0) == (None, None)


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("name", "kind"), [("translator-en-es", "cross"), ("translator-en-es", "causal"), ("gpt-mini", "causal")]
)
def test_a_score_is_the_logarithm_of_its_weight_and_that_of_the_sum(name, kind):
    run = core.open_model(name).run("She has a white car.")
    found = run.model.spec.kind(kind)
    scores, pattern = (run.trace[found.path(1, leaf)][3] for leaf in ("scores", "pattern"))
    with np.errstate(divide="ignore"):
        again = np.log(pattern) + log_denominators(run, kind, 1, 3)[:, None]
    np.testing.assert_allclose(again[pattern > 1e-6], scores[pattern > 1e-6], atol=1e-4)


def test_the_sums_need_queries_and_keys_and_no_scores(model):
    long = model.run(
        "She has a white car. " * 30,
        target="Ella tiene un coche blanco. " * 30,
        keep=["*.pattern", "*.q", "*.k"],
    )
    whole = model.run("She has a white car. " * 30, target="Ella tiene un coche blanco. " * 30)
    np.testing.assert_array_equal(
        log_denominators(long, "cross", 2, 1), log_denominators(whole, "cross", 2, 1)
    )
    assert len(log_denominators(long, "cross", 2, 1)) > 128


def test_weights_that_are_no_softmax_have_no_sums():
    model = core.open_model("gpt-mini")
    halved = model.run("She has a white car.", edits=[core.edits.Scale("layer.1.self_attn.pattern", 0.5)])
    assert (
        log_denominators(halved, "causal", 1, 0) is None
        and log_denominators(halved, "causal", 2, 0) is not None
    )
    assert log_denominators(model.run("She has a car.", keep=["*.pattern"]), "causal", 1, 0) is None
    assert log_denominators(core.open_model("copy-gru-attention").run("a b c"), "alignment", 0, 0) is None
