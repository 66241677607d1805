"""The exhibit on soft and hard attention: reads, draws, gradients, the questions, the link."""

from __future__ import annotations

import base64
import io

import numpy as np
import pandas as pd
import pytest
from drawn_layers import all_rows, drawn_rows, find_layers
from exhibit_pages import StepPages, said
from exhibit_visits import answered
from PIL import Image
from shown_values import states

from viz.charts.patches import PICKED, VEIL
from viz.course.exhibit import fill_in
from viz.course.look_up.soft_and_hard import exhibit, maths, steps
from viz.course.look_up.soft_and_hard.params import Params
from viz.labels import percent

page = StepPages("soft_and_hard")


@pytest.fixture(scope="module")
def data():
    return exhibit.compute(Params())


def titles(test) -> list[str]:
    """Return what is written above the small pictures."""
    return [row["title"] for row in drawn_rows(test, "title", place=1)]


def pixels(address: str) -> np.ndarray:
    """Return the picture in a chart, from 0 to 255."""
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2]))))


def boxes(figure) -> list[list[dict]]:
    return [each["data"]["values"] for each in find_layers(figure, mark="rect", without=["veil"])]


@pytest.mark.slow
def test_the_page_opens_with_a_question_and_covers_what_is_read(data):
    before = page()
    assert page.answer(before, "first").startswith("The soft mix")
    assert not drawn_rows(before, mark="image", place=1)
    test = answered(before)
    far = data.values[maths.draw(data.weights, 5000, 0)].mean(0) - data.weights @ data.values
    assert states(said(test), f"{np.linalg.norm(far):.4f}")
    assert titles(test) == ["soft", "one draw", "mean of 200"]
    pictures = (
        (data.weights @ data.patches.reshape(24, -1)).reshape(30, 30, 3),
        data.patches[data.samples[0]],
        data.patches[data.samples].mean(0),
    )
    for row, picture in zip(drawn_rows(test, mark="image", place=1), pictures, strict=True):
        np.testing.assert_allclose(pixels(row["image"]), 255 * picture, atol=0.51)


@pytest.mark.slow
def test_weights_are_a_softmax_of_colours_and_the_picture_is_veiled_by_them():
    data, test = exhibit.compute(Params(asks=2, beta=4)), page(2, asks=2, beta=4)
    near = np.exp(-4 * ((data.values - data.values[2]) ** 2).sum(1))
    np.testing.assert_allclose(data.weights, near / near.sum())
    veils = [row["veil"] for row in drawn_rows(test, "veil")]
    np.testing.assert_allclose(veils, VEIL * (1 - data.weights / data.weights.max()))
    assert ["C1"] in [[row["patch"] for row in rows] for rows in boxes(test)]
    texts = {row["text"] for row in all_rows(test, "text", mark="text")}
    assert {percent(weight) for weight in data.weights if weight >= 0.03} <= texts
    shares = [row["weight"] for row in max(boxes(test), key=len)]
    assert shares == [percent(weight, 2) for weight in data.weights]
    np.testing.assert_allclose(exhibit.compute(Params(beta=0)).weights, 1 / 24)


@pytest.mark.slow
def test_the_mean_of_hard_draws_approaches_the_soft_read():
    """C020."""
    data = exhibit.compute(Params(draws=5000, draw=3))
    error = maths.spread(data.weights, data.values) / np.sqrt(5000)
    far = data.values[data.samples].mean(0) - data.weights @ data.values
    assert (np.abs(far) <= 4 * error).all()
    assert data.near.distance[-1] == pytest.approx(np.linalg.norm(far))
    test = page(4, draws=5000, draw=3)
    assert states(said(test), "5,000", f"{data.near.distance[-1]:.4f}")
    lines = pd.DataFrame(drawn_rows(test, mark="line", place=2)).pivot(index="x", columns="line", values="y")
    np.testing.assert_allclose(lines.index, data.near.n)
    np.testing.assert_allclose(lines["these draws"], data.near.distance)
    np.testing.assert_allclose(lines["expected: 1/√n"], data.near.expect)


@pytest.mark.slow
@pytest.mark.parametrize("draw", [1, 3])
def test_another_draw_is_another_sample(draw):
    sample, test = exhibit.compute(Params(draw=draw)), page(3, draw=draw)
    patch = int(sample.samples[0])
    assert titles(test) == ["soft", f"hard: {steps.NAMES[patch]}"]
    assert patch in [rows[0]["place"] for rows in boxes(test) if len(rows) == 1]
    assert f"Sampled: {steps.thing(patch)}" in said(test)
    assert states(said(test), percent(sample.weights[patch], 2))


def test_gradients_agree_and_are_shown_with_their_scatter():
    data = exhibit.compute(Params(draws=5000, wanted="redder"))
    learning = data.learning
    assert data.argmax is None and data.automatic is not None
    np.testing.assert_allclose(learning.exact, data.automatic, atol=1e-12)
    for estimate, deviation in (
        (learning.plain, learning.plain_deviation),
        (learning.based, learning.based_deviation),
    ):
        assert (np.abs(estimate - learning.exact) <= 5 * deviation / np.sqrt(5000) + 1e-12).all()
    test = answered(page(5, "equation", draws=5000, wanted="redder"))
    assert page.answer(test, "path").startswith("Nothing")
    best, place = int(learning.exact.argmax()), int(np.abs(learning.exact).argmax())
    assert states(said(test), steps.thing(best), f"{learning.exact[best]:.4f}")
    assert f"exactly {learning.exact[place]:.5f}".replace("-", "−") in said(test)
    dots = drawn_rows(test, "size", place=1)
    assert list(dict.fromkeys(row["kind"] for row in dots)) == ["REINFORCE", "with a baseline", "exact"]
    names, exact, rows = steps.gradients(data)
    assert [row["note0"] for row in dots if row["kind"] == "exact"] == names
    means, widths = (
        np.concatenate([rows[0][at], rows[1][at], last]) for at, last in ((1, exact), (2, 0 * exact))
    )
    np.testing.assert_allclose([row["x"] for row in dots], means)
    np.testing.assert_allclose([row["high"] - row["low"] for row in dots], 4 * widths, atol=1e-12)


@pytest.mark.parametrize(("places", "wanted"), [([{"place": 5}], {"soft_and_hard.asks": 5}), ([], {})])
def test_a_touched_patch_asks(monkeypatch, places, wanted):
    written: dict[str, object] = {}
    monkeypatch.setattr(steps.state, "write", lambda **values: written.update(values))
    monkeypatch.setattr(steps.page_parts.st, "session_state", {"k": {"selection": {PICKED: places}}})
    steps._touch("k")
    assert written == wanted


def test_the_lines_to_take_away_make_the_same_numbers():
    params, names = Params(asks=9, beta=12, draws=50, draw=4), {}
    exec(fill_in(exhibit.EXHIBIT.text.steps[0].code, {}, params), names)
    data = exhibit.compute(params)
    np.testing.assert_allclose(names["weights"], data.weights)
    assert np.array_equal(names["drawn"], data.samples)


@pytest.mark.quick(2)
@pytest.mark.parametrize("beta", [0, 100])
@pytest.mark.parametrize("step", range(1, 6))
def test_both_ends_of_sharpness_are_numbers(step, beta):
    assert "nan" not in said(page(step, beta=beta)).lower().split()
