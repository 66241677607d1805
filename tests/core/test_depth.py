"""The encoder's stack read by layer: cosines against plain numpy, the loop against the run, parameters against the closed form."""

from __future__ import annotations

import numpy as np
import pytest

import core
from viz.course.shared import sizes
from viz.course.transformer.encoder import maths

TEXT = "She has a white car."


@pytest.fixture(scope="module", params=["translator-en-es", "bert-mini"])
def run(request):
    return core.open_model(request.param).run(TEXT)


def test_the_stack_is_a_loop_over_its_layers(run):
    looped, difference = maths.as_loop(run)
    states = maths.hidden(run)
    assert (
        looped.shape
        == states.shape
        == (run.model.config.n_layers + 1, len(maths.read(run).tokens), run.model.config.d_model)
    )
    assert difference < 1e-4
    np.testing.assert_allclose(states, run.hidden("encoder") if run.source else run.hidden(), atol=1e-6)


def test_similarities_over_depth(run):
    states = maths.hidden(run)
    found, n = maths.over_depth(states), states.shape[1]
    for layer, word in np.ndindex(states.shape[:2]):
        x, first = states[layer, word].astype(float), states[0, word].astype(float)
        assert found.with_input[layer, word] == pytest.approx(
            x @ first / np.linalg.norm(x) / np.linalg.norm(first)
        )
        others = [
            x @ y / np.linalg.norm(x) / np.linalg.norm(y)
            for j, y in enumerate(states[layer].astype(float))
            if j != word
        ]
        assert found.others[layer, word] == pytest.approx(np.mean(others)) and n == len(others) + 1
    assert np.isnan(maths.over_depth(states[:, :1]).others).all()


def test_the_stages_of_a_word_add_up(run):
    home, _ = maths.blocks(run.model)
    found = {stage.name: stage.vector for stage in maths.stages(run, 1, 2)}
    np.testing.assert_allclose(found["x, the word"] + found["attention"], found["x + attention"], atol=1e-5)
    last = maths.stages(run, 1, 2)[-1]
    np.testing.assert_allclose(last.vector, run.trace[f"{home}.1.resid_out"][2], atol=1e-6)
    before = found["x + attention"] if run.source else found["layer norm 1"]
    np.testing.assert_allclose(before + found["feed-forward"], found["+ feed-forward"], atol=1e-4)


def test_parameters_are_those_of_the_closed_form(run):
    cfg = run.model.config
    assert sum(maths.count_parameters(run.model).values()) == sizes.encoder_layer(cfg.d_model, cfg.d_ff)


def test_a_model_without_an_encoder_is_refused():
    with pytest.raises(core.InputError, match="no encoder"):
        maths.blocks(core.open_model("gpt-mini"))
