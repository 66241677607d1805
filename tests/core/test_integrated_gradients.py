"""Integrated gradients: they add up to the change of the output, and equal single runs written out."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from test_run import build

import core
from core.analysis.attribution.ablation_sweep import ModelInput
from core.analysis.attribution.integrated_gradients import integrated_gradients, written_gradients
from core.analysis.attribution.target_token import OutputTarget
from core.edits import Function


@pytest.mark.parametrize(
    ("name", "text", "row", "against"),
    [("gpt-mini", "The cat sat on the mat", 5, None), ("bert-mini", "The cat [MASK] on the mat.", 3, 301)],
)
def test_the_values_add_up_to_the_change_of_the_output(name, text, row, against):
    model, logit = core.open_model(name), OutputTarget(row, 500, against, "none")
    found = integrated_gradients(model, ModelInput(text), logit)
    run = model.run(text)
    nothing = model.run(text, edits=[Function("embed.token", torch.zeros_like)])
    assert found.values.shape == (len(run.tokens),)
    assert found.output - found.baseline_output == pytest.approx(
        logit.value(run.logits) - logit.value(nothing.logits), abs=1e-5
    )
    assert abs(found.gap) < 1e-3


def test_of_a_linear_model_they_are_gradient_times_input():
    model = core.open_model("vectors-mini")
    text, logit = "the king", OutputTarget(1, 7, 9)
    with torch.inference_mode(False):
        run = model.run(text, grad=logit.goal)
    wanted = (run.trace["embed.token"] * run.trace.grad("embed.token")).sum(-1)
    found = integrated_gradients(model, ModelInput(text), logit, steps=3)
    np.testing.assert_allclose(found.values, wanted, atol=1e-5)
    assert abs(found.gap) < 1e-5 < abs(wanted).max()


def test_of_a_translator_they_are_of_the_source_and_equal_runs_one_by_one():
    model, item, logit = (
        build("transformer"),
        ModelInput("She has a car.", "Ella tiene."),
        OutputTarget(1, 40),
    )
    token = model.tokenizer.token(30)
    base = model.network.embed["token"](torch.tensor([30])).detach()
    found = integrated_gradients(model, item, logit, token, steps=2)
    x = model.run(item.text, target=item.target).trace["encoder.embed.token"]
    wanted = np.zeros(len(x))
    for share in (0.25, 0.75):
        between = Function("encoder.embed.token", lambda value, a=share: base + a * (value - base))
        with torch.inference_mode(False):
            run = item.run(model, edits=[between], grad=logit.goal)
        wanted += ((x - base.numpy()) * run.trace.grad("encoder.embed.token")).sum(-1) / 2
    np.testing.assert_allclose(found.values, wanted, atol=1e-4)


@pytest.mark.slow
def test_of_each_written_token_they_add_up_to_its_log_probability_and_later_tokens_have_none():
    model, text = core.open_model("gpt-mini"), "The cat sat on"
    found, run = written_gradients(model, ModelInput(text), steps=32), model.run(text)
    nothing = model.run(text, edits=[Function("embed.token", torch.zeros_like)])
    assert list(found) == [0, 1, 2]
    for row, each in found.items():
        target = OutputTarget(row, run.ids[row + 1])
        assert each.output == pytest.approx(target.value(run.logits), abs=1e-4)
        assert each.baseline_output == pytest.approx(target.value(nothing.logits), abs=1e-4)
        assert abs(each.gap) < 0.05 and not each.values[row + 1 :].any()
    small, item = build("transformer"), ModelInput("She has a car.", "Ella tiene.")
    rows = written_gradients(small, item, steps=2)
    assert len(rows) == len(item.run(small).tokens), "START writes the first, the last word the end"
    alone = integrated_gradients(small, item, OutputTarget(1, item.run(small).ids[2]), steps=2)
    np.testing.assert_array_equal(rows[1].values, alone.values)
    with pytest.raises(core.InputError, match="writes nothing"):
        written_gradients(core.open_model("bert-mini"), ModelInput("The cat [MASK]."))


def test_what_has_no_path_from_a_baseline_is_refused():
    gpt, cat = core.open_model("gpt-mini"), ModelInput("The cat")
    captioner, translator = core.open_model("captioner"), core.open_model("translator-en-es")
    for model, item, options, wrong in (
        (gpt, cat, {"steps": 0}, "0 steps are no path"),
        (gpt, cat, {"baseline": "two words"}, "is not one token"),
        (captioner, ModelInput("red cat 1,0"), {}, "reads no tokens"),
        (translator, cat, {}, "There is no target"),
    ):
        with pytest.raises(core.InputError, match=wrong):
            integrated_gradients(model, item, OutputTarget(0, 5), **options)
