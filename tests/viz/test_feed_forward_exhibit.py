"""The exhibit on the feed-forward network: its numbers computed again on small random models."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from drawn_layers import drawn_rows
from exhibit_pages import StepPages, covers, figure, lanes, plain, said
from exhibit_visits import answered
from shown_values import states
from tiny_models import stand_ins

from core.serving.engine import default
from viz.course.errata._counts import encoder_layer
from viz.course.transformer.feed_forward import exhibit, maths, steps
from viz.course.transformer.feed_forward.params import END, Params
from viz.labels import percent

TEXT = "She was hungry, so she ate."
engine = stand_ins({"translator-en-es": ("transformer", {"d_ff": 40}), "gpt-mini": ("gpt", {})})
page = StepPages("feed_forward", {"text": TEXT})


@pytest.mark.slow
def test_the_hidden_layer_is_covered_until_one_guessed_and_is_the_runs_own():
    """C066."""
    data, before = exhibit.compute(Params(text=TEXT)), page()
    assert {cell["name"].split()[0] for cell in drawn_rows(before, "share")} == {"number"}
    test, on = answered(before), int((data.pre[2] > 0).sum())
    units = [float(cell["value"]) for cell in drawn_rows(test, "share") if cell["name"].startswith("unit")]
    np.testing.assert_allclose(units, data.act[2], atol=6e-4)
    assert page.answer(test, "on") == round(on / 40, 3)
    assert f"{on} units are on ({percent(on / 40, 2)})" in said(test)
    assert states(said(test), f"{data.act.shape[1] // 2:,}")


def test_relu_and_gelu_with_the_words_own_units():
    """C066: gelu(-1) = -0.158655, its tanh form -0.158808."""
    test, data = page(2), exhibit.compute(Params(text=TEXT))
    assert states(said(test), "−1.0", "0.000000", "−0.158655", "−0.158808")
    dots = next(
        trace
        for trace in figure(test)["data"]
        if trace.get("customdata") is not None and trace["type"] == "scatter"
    )
    inside = data.pre[2][np.abs(data.pre[2]) <= END]
    np.testing.assert_allclose(plain(dots["x"]), inside, rtol=1e-5)
    np.testing.assert_allclose(plain(dots["y"]), np.maximum(inside, 0), rtol=1e-5)
    other, two = page(2, at=2, model="gpt-mini"), torch.tensor(2.0, dtype=torch.float64)
    forms = (torch.nn.functional.gelu(two, approximate=form).item() for form in ("none", "tanh"))
    assert states(said(other), *(f"{form:.6f}" for form in forms))
    assert any("this model" in str(trace.get("name")) for trace in figure(other)["data"])


def test_units_by_word_and_words_by_unit():
    data, test = exhibit.compute(Params(text=TEXT, layer=1)), page(3, layer=1)
    np.testing.assert_allclose(lanes(test, 0)[0], 100 * (data.pre > 0).mean(1), atol=0.06)
    counts = np.bincount((data.pre > 0).sum(0), minlength=len(data.tokens) + 1)
    np.testing.assert_allclose(lanes(test, 1)[0], counts)
    assert states(said(test), f"{counts[0]} units ({percent(counts[0] / 40)})")


def test_a_word_turned_round_moves_only_its_own_output():
    """C066: position-wise."""
    assert covers(page(4, word=1)) == 1
    test = page(4, word=1, guess={"alone": steps.HOW_MANY[0]})
    network, attention = lanes(test)
    assert page.answer(test, "alone") == steps.HOW_MANY[0] and states(said(test), "0.0")
    assert np.flatnonzero(network).tolist() == [1] and attention.all()


def test_one_unit_its_words_and_what_it_writes():
    data, model = exhibit.compute(Params(text=TEXT)), default().open("translator-en-es")
    top, second = (-data.act[2]).argsort(kind="stable")[:2]
    found, test = maths.unit_output(model, 0, data, top), page(5)
    np.testing.assert_allclose(lanes(test)[0], data.act[:, top], atol=6e-4)
    assert states(said(test), top, f"{int((data.pre[:, top] > 0).sum())} of {len(data.tokens)} words")
    assert states(said(test), f"{found.nearest[0][1]:.2f}", f"{found.chance:.2f}")
    for unit, fires in ((second, second), ("nonsense", top)):
        assert f"Unit {fires} fires" in said(page(5, unit=unit))


def test_parameters_are_counted():
    """C066: 2 d d_ff + d + d_ff."""
    test = said(page(6))
    model = default().open("translator-en-es")
    assert states(test, f"{sum(w.numel() for w in model.network.encoder[0].ffn.parameters()):,}")
    assert f"has {encoder_layer(2048):,} with $d_{{ff}}$ = 2,048" in test
    assert f"{encoder_layer(512):,} with $d_{{ff}}$ = 512" in said(page(6, d_ff=512))
