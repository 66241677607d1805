"""The exhibit on soft and hard attention without a browser: reads, draws, gradients, the questions, the link."""

from __future__ import annotations

import base64
import io

import numpy as np
import pandas as pd
import pytest
from drawn_layers import all_rows, drawn_rows, find_layers
from exhibit_pages import drawn, said
from PIL import Image
from shown_values import states
from streamlit.testing.v1 import AppTest

from viz.charts.patches import PICKED, VEIL, lit, reads
from viz.course.exhibit import fill_in
from viz.course.look_up.soft_and_hard import exhibit, maths, steps
from viz.course.look_up.soft_and_hard.charts import guesses
from viz.course.look_up.soft_and_hard.params import Params
from viz.labels import percent

SOFTLY = "The soft mix of all patches"


def page(*folded: str, state: dict[str, object] | None = None, **link: str) -> AppTest:
    return drawn(
        "soft_and_hard",
        {f"soft_and_hard.{name}": value for name, value in link.items()},
        {f"fold:{name}": True for name in folded} | (state or {}),
    )


def titles(test: AppTest) -> list[str]:
    """What is written above the small pictures."""
    return [row["title"] for row in drawn_rows(test, "title", place=1)]


def pixels(address: str) -> np.ndarray:
    """The picture in a chart, from 0 to 255."""
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2]))))


@pytest.mark.slow
def test_the_page_opens_with_a_question_and_covers_what_is_read():
    test = page()
    assert not test.exception and test.title[0].value == exhibit.EXHIBIT.text.info.title
    seen, covered = (drawn_rows(test, mark=mark, place=1) for mark in ("image", "rect"))
    assert not seen and len(covered) == 3 and not test.get("plotly_chart")
    told = page(state={"predict:soft_and_hard.first": SOFTLY})
    drawn = maths.draw(exhibit.compute(Params()).weights, 5000, 0)
    data = exhibit.compute(Params())
    far = np.linalg.norm(data.values[drawn].mean(0) - data.weights @ data.values)
    assert "Right." in said(told) and states(said(told), f"{far:.4f}")
    seen, covered = (drawn_rows(told, mark=mark, place=1) for mark in ("image", "rect"))
    assert not covered and titles(told) == ["soft", "one draw", "mean of 200"]
    shown = (
        (data.weights @ data.patches.reshape(24, -1)).reshape(30, 30, 3),
        data.patches[data.samples[0]],
        data.patches[data.samples].mean(0),
    )
    for row, image in zip(seen, shown, strict=True):
        np.testing.assert_allclose(pixels(row["image"]), 255 * image, atol=0.51)


@pytest.mark.slow
def test_weights_are_a_softmax_of_colours_and_the_picture_is_veiled_by_them():
    data = exhibit.compute(Params(asks=2, beta=4))
    far = ((data.values - data.values[2]) ** 2).sum(1)
    np.testing.assert_allclose(data.weights, np.exp(-4 * far) / np.exp(-4 * far).sum())
    shown = page(step="2", asks="2", beta="4")
    boxes = [each["data"]["values"] for each in find_layers(shown, mark="rect", without=["veil"])]
    np.testing.assert_allclose(
        [row["veil"] for row in drawn_rows(shown, "veil")], VEIL * (1 - data.weights / data.weights.max())
    )
    assert ["C1"] in [[row["patch"] for row in rows] for rows in boxes] and [] in boxes
    texts = [row["text"] for row in all_rows(shown, "text", mark="text")]
    assert {percent(weight) for weight in data.weights if weight >= 0.03} <= {*texts}
    assert [row["weight"] for row in max(boxes, key=len)] == [percent(weight, 2) for weight in data.weights]
    even = exhibit.compute(Params(beta=0))
    np.testing.assert_allclose(even.weights, 1 / 24)


@pytest.mark.slow
def test_the_mean_of_hard_draws_approaches_the_soft_read():
    """C020."""
    data = exhibit.compute(Params(draws=5000, draw=3))
    error = maths.spread(data.weights, data.values) / np.sqrt(5000)
    soft = data.weights @ data.values
    assert (np.abs(data.values[data.samples].mean(0) - soft) <= 4 * error).all()
    np.testing.assert_allclose(maths.soft_read(data.weights, data.patches).mean((0, 1)), soft)
    test = page(step="4", draws="5000", draw="3")
    assert states(said(test), "5,000", f"{data.near.distance[-1]:.4f}")
    lines = pd.DataFrame(drawn_rows(test, mark="line", place=2)).pivot(index="x", columns="line", values="y")
    np.testing.assert_allclose(lines.index, data.near.n)
    np.testing.assert_allclose(lines["these draws"], data.near.distance)
    np.testing.assert_allclose(lines["expected: 1/√n"], data.near.expect)
    assert data.near.distance[-1] == pytest.approx(np.linalg.norm(data.values[data.samples].mean(0) - soft))
    shown = page(step="3", draw="3")
    assert titles(shown) == ["soft", f"hard: {steps.NAMES[data.samples[0]]}"] and data.samples[0] in [
        rows[0]["place"]
        for each in find_layers(shown, mark="rect", without=["veil"])
        if len(rows := each["data"]["values"]) == 1
    ]
    assert states(said(shown), steps.thing(int(data.samples[0])), percent(data.weights[data.samples[0]], 2))


@pytest.mark.slow
def test_another_draw_is_another_lot():
    test = page(step="3")
    test.button(key="soft_and_hard.draw.again").click().run()
    data = exhibit.compute(Params(draw=1))
    assert f"Sampled: {steps.thing(int(data.samples[0]))}" in said(test)


def test_gradients_agree_and_are_shown_with_their_scatter():
    data = exhibit.compute(Params(draws=5000, wanted="redder"))
    assert data.argmax is None and data.automatic is not None
    np.testing.assert_allclose(data.learning.exact, data.automatic, atol=1e-12)
    for estimate, deviation in (
        (data.learning.plain, data.learning.plain_deviation),
        (data.learning.based, data.learning.based_deviation),
    ):
        assert (np.abs(estimate - data.learning.exact) <= 5 * deviation / np.sqrt(5000) + 1e-12).all()
    test = page(
        step="5", draws="5000", wanted="redder", state={"predict:soft_and_hard.path": "Zero for every score"}
    )
    best = int(data.learning.exact.argmax())
    assert states(said(test), steps.thing(best), f"{data.learning.exact[best]:.4f}")
    assert states(said(test), "“Nothing", "no path")
    dots = drawn_rows(test, "size", place=1)
    assert list(dict.fromkeys(row["kind"] for row in dots)) == ["REINFORCE", "with a baseline", "exact"]
    names, exact, rows = steps.gradients(data)
    assert [row["note0"] for row in dots if row["kind"] == "exact"] == names
    np.testing.assert_allclose([row["x"] for row in dots], np.concatenate([rows[0][1], rows[1][1], exact]))
    np.testing.assert_allclose(
        [row["high"] - row["low"] for row in dots],
        4 * np.concatenate([rows[0][2], rows[1][2], np.zeros(len(names))]),
        atol=1e-12,
    )


def test_a_touched_patch_asks(monkeypatch):
    written: dict[str, object] = {}
    monkeypatch.setattr(steps.state, "write", lambda **values: written.update(values))
    monkeypatch.setattr(steps.page_parts.st, "session_state", {"k": {"selection": {PICKED: [{"place": 5}]}}})
    steps._touch("k")
    assert written == {"soft_and_hard.asks": 5}
    written.clear()
    monkeypatch.setattr(steps.page_parts.st, "session_state", {"k": {"selection": {PICKED: []}}})
    steps._touch("k")
    assert not written


@pytest.mark.quick(2)
@pytest.mark.parametrize("beta", ["0", "100"])
@pytest.mark.parametrize("step", ["1", "2", "3", "4", "5"])
def test_every_step_at_both_ends_of_sharpness(step, beta):
    test = page(step=step, beta=beta)
    assert (
        not test.exception
        and len(test.get("vega_lite_chart")) >= 2
        and not test.get("plotly_chart")
        and "nan" not in said(test).lower().split()
    )


def test_the_gradient_stands_with_its_numbers_in_the_equation():
    test = page(
        "soft_and_hard.equation", step="5", state={"predict:soft_and_hard.path": "Zero for every score"}
    )
    data = exhibit.compute(Params())
    place = int(np.abs(data.learning.exact).argmax())
    assert f"exactly {data.learning.exact[place]:.5f}".replace("-", "−") in said(test)


def test_the_lines_to_take_away_make_the_same_numbers():
    params = Params(asks=9, beta=12, draws=50, draw=4)
    names: dict[str, object] = {}
    exec(fill_in(exhibit.EXHIBIT.text.steps[0].code, {}, params), names)
    data = exhibit.compute(params)
    np.testing.assert_allclose(names["weights"], data.weights)
    assert np.array_equal(names["drawn"], data.samples)


def test_figures_as_data():
    with pytest.raises(ValueError, match="3 weights for 2"):
        lit((), (2, 1), (1, 2), np.ones(3))
    drawn = lit((), (2, 1), (1, 2), np.array([0.25, 0.75]), framed=0, query_patch=1, labelled_from=0.5)
    boxes = [each["data"]["values"] for each in find_layers(drawn, mark="rect", without=["veil"])]
    assert sorted(rows[0]["place"] for rows in boxes if len(rows) == 1) == [0, 1]
    assert "75%" in [row["text"] for row in all_rows(drawn, "text", mark="text")]
    two = reads([("<b>", np.full((2, 2, 3), 2.0)), ("x", None)])
    seen, covered, above = drawn_rows(two, "image"), drawn_rows(two, mark="rect"), drawn_rows(two, "title")
    assert (
        [row["title"] for row in above] == ["<b>", "x"]
        and pixels(seen[0]["image"]).max() == 255
        and [row["title"] for row in covered] == ["x"]
    )
    bar = drawn_rows(guesses(["a"], np.array([1.0]), [("p", np.array([1.0]), np.array([0.1]))]), "high")[0]
    assert bar["high"] == 1.2
