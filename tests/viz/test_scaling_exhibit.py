"""The exhibit on the scale: its numbers computed again; a small random model stands in for the trained one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from drawn_layers import all_rows, drawn_rows
from exhibit_pages import StepPages, said
from exhibit_visits import answered
from shown_values import states
from tiny_models import stand_ins

from core.serving.engine import default
from viz.course.look_up.scaling import maths, overflow
from viz.course.shared import unscaled_scores
from viz.labels import percent

engine = stand_ins({"gpt-mini": ("gpt", {})})
page = StepPages("scaling")


def titles(test) -> list[str]:
    """Return what is written above each lane."""
    return [row["text"] for row in drawn_rows(test, "text")]


def test_before_the_guess_the_asked_histogram_is_not_in_the_page():
    """C031: with the slider at 64 only another width is drawn until one commits."""
    before, after, scores = page(), answered(page()), maths.sample_scores(64)
    assert "d = 4:" in titles(before)[0] and "64" not in str(titles(before))
    end = max(abs(row["right"]) for row in drawn_rows(before, mark="rect"))
    assert end == pytest.approx(np.abs(maths.sample_scores(4).raw).max())
    counted = [
        np.histogram(each, bins=48, range=(-np.abs(each).max(), np.abs(each).max()), density=True)[0]
        for each in (scores.raw, scores.scaled)
    ]
    densities = [float(row["density"]) for row in drawn_rows(after, mark="rect")]
    np.testing.assert_allclose(densities, np.concatenate(counted), atol=6e-5)
    for each, closed in ((scores.raw, 64), (scores.scaled, 1)):
        assert f"variance {each.var():.2f} (closed form {closed})" in " ".join(titles(after))
    assert states(said(after), f"{scores.raw.var():.2f}", "64")
    after.select_slider[0].set_value(256).run()
    assert "d = 256: variance" in " ".join(titles(after))
    assert page.answer(after, "spread") == "about 8", "another picture, not another question"


@pytest.mark.parametrize(("d_k", "answer"), [(4, "about 2"), (64, "about 8"), (1024, "about 32")])
def test_the_answer_is_computed_from_the_width(d_k, answer):
    test = page(guess={"spread": answer}, d_k=d_k)
    assert page.answer(test, "spread") == answer
    assert states(said(test), f"{maths.sample_scores(d_k).raw.std():.2f}")


def test_one_row_with_and_without():
    test, scores = page(2, d_k=256), maths.sample_scores(256)
    row = maths.typical(scores.raw)
    exps = np.exp([each[row] - each[row].max() for each in (scores.raw, scores.scaled)])
    weights = (exps / exps.sum(1, keepdims=True))[:, np.argsort(-scores.raw[row])]
    bars = [bar["value"] for bar in drawn_rows(test, mark="bar")]
    np.testing.assert_allclose(np.reshape(bars, (-1, 2)).T, weights, atol=6e-5)
    raw, scaled = (percent(float(each.max())) for each in weights)
    assert states(said(test), raw) and f"scaled {scaled}" in said(test)


def test_entropy_over_every_width_with_and_without_scaling():
    """C031: the lines of the picture are the measures; the visitor's width is marked."""
    test, found = page(3, d_k=16), maths.by_width()
    for place, leaf in enumerate(("entropy", "slope")):
        dots = drawn_rows(test, mark="line", place=place)
        assert [row["x"] for row in dots] == [*maths.WIDTHS] * 2
        wanted = [getattr(m, leaf) for name in ("raw", "scaled") for m in found[name]]
        np.testing.assert_allclose([row["y"] for row in dots], wanted)
        assert {"x": 16} in all_rows(test, mark="rule", place=place)
    entropy = maths.measured(maths.sample_scores(16).raw).entropy
    assert states(said(test), "16", f"{entropy:.2f} nats")


@pytest.mark.slow
def test_the_real_model_with_and_without_the_division():
    text, model = "I am a student.", default().open("gpt-mini")
    before = page(4, text=text)
    assert {row["line"] for row in all_rows(before, mark="circle")} == {"with 1/√d, as trained"}
    scaled, raw = (
        unscaled_scores.reading(model.run(text, edits=edits)).evenness
        for edits in ((), unscaled_scores.without_scale(model.config))
    )
    after = answered(before)
    dots, lines = (np.array([row["y"] for row in drawn_rows(after, mark=mark)]) for mark in ("point", "line"))
    np.testing.assert_allclose(dots, [*scaled.ravel(), *raw.ravel()], atol=1e-6)
    np.testing.assert_allclose(lines, [*scaled.mean(1), *raw.mean(1)], atol=1e-6)
    assert page.answer(after, "real") == round(float(raw.mean()), 2) != round(float(scaled.mean()), 2)


@pytest.mark.slow
def test_naive_softmax_overflows_and_the_page_shows_it():
    """C032."""
    guess = {"overflow": overflow.NOT_A_NUMBER}
    broken, safe = page(5, guess=guess, score=200), page(5, guess=guess, score=200, safe=1)
    assert page.answer(broken, "overflow") == overflow.NOT_A_NUMBER and states(said(broken), "0.00")
    assert titles(broken) == ["first: ∞", "second: ∞", "third: 1"]
    assert titles(safe) == ["first: 1", "second: 0.37", "third: 0"]
    e = math.exp(-1)
    assert f"The weights are {1 / (1 + e):.2f}, {e / (1 + e):.2f}, 0.00" in said(safe)
    assert page.answer(page(5, score=80), "overflow") == "0.73"
