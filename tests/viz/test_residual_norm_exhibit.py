"""The exhibit on residual sums and layer norm: its numbers computed again on small random models."""

from __future__ import annotations

import math

import numpy as np
import pytest
from drawn_layers import drawn_rows
from exhibit_pages import StepPages, covers, figure, lanes, plain, said
from exhibit_visits import answered
from shown_values import states
from tiny_models import stand_ins

from core.serving.engine import default
from viz.course.transformer import depth, residuals
from viz.course.transformer.residual_norm import exhibit, maths, norms, sums
from viz.course.transformer.residual_norm.charts import Panel, by_depth
from viz.course.transformer.residual_norm.params import LONGEST, ORDERS, Params
from viz.labels import percent
from viz.number_text import two_digits

TEXT = "She was hungry, so she ate."
engine = stand_ins({"gpt-mini": ("gpt", {}), "bert-mini": ("bert", {})})
page = StepPages("residual_norm", {"text": TEXT})


@pytest.fixture
def data():
    return exhibit.compute(Params(text=TEXT, layer=1))


@pytest.mark.slow
def test_the_sum_is_covered_until_one_guessed_and_is_the_models_own(data):
    before = page(layer=1)
    assert len(lanes(before)) == 1 and covers(before) == 2
    test = answered(before)
    vectors = [each[2][: sums.FIRST] for each in (data.before, data.added, data.after)]
    np.testing.assert_allclose(lanes(test), vectors, atol=6e-4)
    ratio = np.linalg.norm(data.added[2]) / np.linalg.norm(data.before[2])
    assert data.gap == 0 and f"{percent(ratio)} of it" in said(test)


@pytest.mark.slow
def test_the_answer_follows_the_model_and_the_word():
    answers = set()
    for model, layer, word in (
        ("gpt-mini", 0, 0),
        ("bert-mini", 0, 3),
        ("bert-mini", 1, 5),
        ("gpt-mini", 1, 3),
    ):
        data = exhibit.compute(Params(text=TEXT, model=model, layer=layer))
        ratio = np.linalg.norm(data.added[word]) / np.linalg.norm(data.before[word])
        answer = page.answer(page(model=model, layer=layer, word=word), "long")
        assert answer == sums.LENGTHS[np.searchsorted([0.5, 1.5], ratio)]
        answers.add(answer)
    assert len(answers) > 1, "small models chosen so that the answers differ"


def test_a_long_text_is_told_in_words():
    assert states(said(page(text="a " * 80)), LONGEST)


@pytest.mark.slow
def test_the_switch_takes_the_sums_out_and_signal_and_gradient_are_drawn_by_depth():
    """C063."""
    kept, bare, grown = (
        depth.by_depth("none", residual=residual, size=size, n_layers=sums.LAYERS)
        for residual, size in ((True, 0.5), (False, 0.5), (True, 1.0))
    )
    for link, found in (
        ({"residual": "on"}, kept),
        ({"residual": "off"}, bare),
        ({"residual": "on", "size": 1}, grown),
    ):
        test = page(2, **link)
        assert states(said(test), f"{two_digits(found.signal[-1] / found.signal[0])} times")
        if found is not grown:
            lines = figure(test)["data"]
            wanted = (kept.signal, bare.signal, kept.gradient, bare.gradient)
            np.testing.assert_allclose([plain(line["y"]) for line in lines], wanted, rtol=1e-6)
            assert [line["opacity"] == 1 for line in lines] == [found is kept, found is bare] * 2


def test_a_trained_model_without_its_sums():
    model = default().open("gpt-mini")
    kept, bare = (residuals.run_stream(model, TEXT, residual=residual) for residual in (True, False))
    blind = math.log(model.config.n_vocab)
    fares = 0 if bare.surprise < kept.surprise + 0.1 else 1 if bare.surprise < blind else 2
    assert len(figure(page(3))["data"]) == 2
    test = answered(page(3))
    assert page.answer(test, "fares") == sums.FARES[fares]
    assert f"{bare.surprise:.2f} nats instead of {kept.surprise:.2f}" in said(test)
    np.testing.assert_allclose(plain(figure(test)["data"][1]["y"]), bare.depths.mean_cosine, atol=1e-6)


@pytest.mark.slow
def test_layer_norm_before_and_after_with_gain_bias_and_the_printed_sigma(data):
    """C064."""
    x = data.after[2].astype(float)
    test = page(4, layer=1, gain=2, bias=-1)
    np.testing.assert_allclose(lanes(test)[1], maths.layer_norm(x, 2, -1)[: sums.FIRST], atol=6e-4)
    assert states(said(test), "1.000", "−1.00", "2.000")
    assert states(said(page(4, numbers="drawn", printed=1)), "0.001953 = 1/512", "1")
    own, plain_page = page(4, layer=1, printed=1), page(4, layer=1)
    assert f"1/{len(x)}, not 1" in said(own)
    assert drawn_rows(own, mark="rule") == drawn_rows(plain_page, mark="rule"), "one scale for both"


def test_layer_norm_moves_one_word_and_batch_norm_all(data):
    found = norms.tables(data, 2, 4.0)
    n = len(found["table"])
    assert states(said(page(5, layer=1, push=4)), f"1 of {n} words", "0.00", f"{n} of {n}")
    np.testing.assert_allclose(found["batch now"].mean(0), 0, atol=1e-9)
    np.testing.assert_allclose(found["layer now"].mean(1), 0, atol=1e-9)
    page(5, text="a", axis="batch")


@pytest.mark.slow
def test_the_three_orders_with_their_drawing_and_their_effect_by_depth():
    """C065."""
    found = norms.by_order(0.5)
    for order, way in (("post", "f + LN"), ("pre", "LN f +"), ("worded", "f LN +")):
        test, name = page(6, order=order), norms.CALLED[order]
        notes = [note["text"] for note in figure(test)["layout"]["annotations"]]
        assert " ".join(note for note in notes if note in ("f", "+", "LN")) == way and ORDERS[order] in notes
        strong = [line["name"] for line in figure(test, 1)["data"] if line["opacity"] == 1]
        signal = two_digits(found[name].signal[-1])
        assert strong == [name] * 2
        assert states(said(test), ORDERS[order], name, f"{norms.LAYERS} layers", signal)
    run = default().open("bert-mini").run(TEXT, keep=residuals.KEEP)
    assert states(said(page(6, order="post")), f"{residuals.by_layer(run)[0]:.2f}")


def test_a_signal_that_vanishes_has_a_place_on_the_scale_of_powers():
    figure = by_depth([Panel("t", {"a": np.array([1.0, 0.0])})], {"a": 0})
    assert np.isfinite(figure.layout.yaxis.range).all()
